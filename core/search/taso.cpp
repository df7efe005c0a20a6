#include "core/base/error.h"
#include "core/search/best_first.h"

namespace reverie {
namespace {

void check_alpha(const SearchOptions& options) {
  if (options.alpha < 1) throw InputError("alpha must be at least 1, not {}", options.alpha);
}

}  // namespace

SearchResult taso_search(const RewriteState& start, const SearchOptions& options) {
  check_alpha(options);
  SearchRun run(start, options);
  BestFirst how;
  how.budget = options.budget;
  how.alpha = options.alpha;
  how.states = options.queue;
  const BestFirstEnd end = search_best_first(run, how);
  if (!end.exhausted) finish_greedily(run);
  return run.finish();
}

SearchResult taso_published_search(const RewriteState& start, const SearchOptions& options) {
  check_alpha(options);
  SearchRun run(start, options);
  BestFirst how;
  how.budget = options.budget;
  how.alpha = options.alpha;
  how.expand_once = false;
  search_best_first(run, how);
  return run.finish();
}

}  // namespace reverie
