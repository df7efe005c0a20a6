#include "tests/recipes/first_gain.h"

#include "core/search/search_run.h"

namespace reverie {
namespace {

/// Whether a rewrite was taken.
bool take_first_gain(Walk& walk, SearchRun& run) {
  run.count_expansion();
  for (int rule = 0; rule < walk.state().rules().size(); ++rule)
    for (int location = 0; location < walk.state().location_count(rule); ++location) {
      if (run.out_of_time()) return false;
      const RewriteStep step{rule, location};
      if (walk.change(step) < Picoseconds{0} && walk.take(step)) return true;
    }
  return false;
}

}  // namespace

SearchResult first_gain_search(const RewriteState& start, const SearchOptions& options) {
  SearchRun run(start, options);
  Walk walk(run);
  int64_t taken = 0;
  while (taken < options.budget && take_first_gain(walk, run)) ++taken;
  if (taken == options.budget) run.out_of_budget();
  return run.finish();
}

}  // namespace reverie
