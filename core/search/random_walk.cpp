#include "core/search/random_walk.h"

namespace reverie {

Walk walk_at_random(SearchRun& run, size_t steps, Rng rng) {
  Walk walk(run);
  for (size_t i = 0; i < steps && !run.out_of_time(); ++i) {
    run.count_expansion();
    const std::optional<RewriteStep> step = draw_step(walk.state(), rng);
    if (!step) break;
    run.count_candidate();
    walk.take(*step);
  }
  return walk;
}

size_t random_walk_length(const RewriteState& start, SearchOptions options) {
  options.on_progress = nullptr;
  options.on_state = nullptr;
  options.threads = 1;
  SearchRun greedy(start, options);
  begin_greedily(greedy);
  return walk_length(greedy);
}

SearchResult random_search(const RewriteState& start, const SearchOptions& options) {
  SearchRun run(start, options);
  const size_t steps = random_walk_length(start, options);
  const Rng rng(options.seed);
  run_walks(run, options.budget, [&](SearchRun& part, int64_t i) {
    walk_at_random(part, steps, rng.fork(static_cast<uint64_t>(i)));
  });
  if (!run.out_of_time()) run.out_of_budget();
  return run.finish();
}

}  // namespace reverie
