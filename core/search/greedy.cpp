#include <algorithm>
#include <utility>

#include "core/search/search_run.h"

namespace reverie {
namespace {

/// Every step that gains, the one that gains most first.
std::vector<RewriteStep> gaining_steps(Walk& walk, SearchRun& run) {
  std::vector<std::pair<Picoseconds, RewriteStep>> found;
  const bool all = for_each_location(
      walk.state(), run, [&](const RewriteStep& step, const Match& match) {
        run.count_candidate();
        const Picoseconds change = walk.state().cost_delta(match).runtime;
        if (change < Picoseconds{0}) found.emplace_back(change, step);
      });
  if (!all) return {};
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<RewriteStep> steps;
  for (const auto& [change, step] : found) steps.push_back(step);
  return steps;
}

}  // namespace

void descend(Walk& walk, SearchRun& run) {
  for (bool moved = true; moved && !run.out_of_time();) {
    run.count_expansion();
    const std::vector<RewriteStep> steps = gaining_steps(walk, run);
    moved = std::any_of(steps.begin(), steps.end(),
                        [&](const RewriteStep& step) { return walk.take(step); });
  }
}

SearchResult greedy_search(const RewriteState& start, const SearchOptions& options) {
  SearchRun run(start, options);
  begin_greedily(run);
  return run.finish();
}

}  // namespace reverie
