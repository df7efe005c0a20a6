#include "core/search/algorithms.h"
#include "core/search/best_first.h"

namespace reverie {

void run_exhaustive(SearchRun& run) {
  const SearchOptions& options = run.options();
  BestFirst how;
  how.budget = options.exhaustive.states;
  if (options.exhaustive.bound > 0) how.bound = options.exhaustive.bound;
  const BestFirstEnd end = search_best_first(run, how);
  if (end.exhausted && !end.dropped && !options.classes) run.saw_all();
}

}  // namespace reverie
