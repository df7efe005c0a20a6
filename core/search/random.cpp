#include "core/search/algorithms.h"

namespace reverie::search {

Walk walk_at_random(SearchRun& run, size_t steps, Rng rng) {
  Walk walk(run);
  for (size_t i = 0; i < steps && !run.out_of_time(); ++i) {
    run.count_expansion();
    const std::optional<Move> move = draw_move(walk.state(), rng);
    if (!move) break;
    run.count_candidate();
    walk.take(*move);
  }
  return walk;
}

size_t random_walk_length(const std::shared_ptr<const Problem>& start, SearchOptions options) {
  options.on_progress = nullptr;
  options.threads = 1;
  SearchRun greedy(start, options);
  begin_greedily(greedy);
  return walk_length(greedy);
}

void RandomWalks::operator()(SearchRun& run) const {
  const size_t steps = random_walk_length(run.shared_start(), run.options());
  const Rng rng(run.options().seed);
  run_walks(run, run.options().budget, [&](SearchRun& part, int64_t i) {
    walk_at_random(part, steps, rng.fork(static_cast<uint64_t>(i)));
  });
  if (!run.out_of_time()) run.out_of_budget();
}

}  // namespace reverie::search
