#include <algorithm>

#include "core/base/random.h"
#include "core/search/search_run.h"

namespace reverie {
namespace {

constexpr size_t kLeastSteps = 10;

void walk_at_random(SearchRun& run, size_t steps, Rng rng) {
  Walk walk(run);
  for (size_t i = 0; i < steps && !run.out_of_time(); ++i) {
    run.count_expansion();
    const std::optional<RewriteStep> step = draw_step(walk.state(), rng);
    if (!step) return;
    run.count_candidate();
    walk.take(*step);
  }
}

/// 1.5 times as many steps as greedy takes.
size_t walk_length(const RewriteState& start, SearchOptions options) {
  options.on_progress = nullptr;
  SearchRun greedy(start, options);
  Walk walk(greedy);
  descend(walk, greedy);
  return std::max(kLeastSteps, walk.path().size() * 3 / 2);
}

}  // namespace

SearchResult random_search(const RewriteState& start, const SearchOptions& options) {
  SearchRun run(start, options);
  const size_t steps = walk_length(start, options);
  const Rng rng(options.seed);
  run_walks(run, options.budget, [&](SearchRun& part, int64_t i) {
    walk_at_random(part, steps, rng.fork(static_cast<uint64_t>(i)));
  });
  if (!run.out_of_time()) run.out_of_budget();
  return run.finish();
}

}  // namespace reverie
