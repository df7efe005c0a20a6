#include "core/search/algorithms.h"
#include "core/search/best_first.h"

namespace reverie::search {

void Exhaustive::operator()(SearchRun& run) const {
  BestFirst how;
  how.budget = states;
  if (bound > 0) how.bound = bound;
  const BestFirstEnd end = search_best_first(run, how);
  if (end.exhausted && !end.dropped && !run.start().leaves_out()) run.saw_all();
}

}  // namespace reverie::search
