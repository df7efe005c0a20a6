#include "core/search/best_first.h"

namespace reverie {

SearchResult exhaustive_search(const RewriteState& start, const SearchOptions& options) {
  SearchRun run(start, options);
  BestFirst how;
  how.budget = options.exhaustive.states;
  if (options.exhaustive.bound > 0) how.bound = options.exhaustive.bound;
  const BestFirstEnd end = search_best_first(run, how);
  SearchResult result = run.finish();
  result.optimal = end.exhausted && !end.dropped && !options.classes;
  return result;
}

}  // namespace reverie
