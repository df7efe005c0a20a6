#include "core/base/error.h"
#include "core/search/algorithms.h"
#include "core/search/best_first.h"

namespace reverie {
namespace {

BestFirst with_alpha(const SearchOptions& options) {
  if (options.alpha < 1) throw InputError("alpha must be at least 1, not {}", options.alpha);
  return {.budget = options.budget, .alpha = options.alpha};
}

}  // namespace

void run_taso(SearchRun& run) {
  BestFirst how = with_alpha(run.options());
  how.states = run.options().queue;
  if (!search_best_first(run, how).exhausted) finish_greedily(run);
}

void run_taso_published(SearchRun& run) {
  BestFirst how = with_alpha(run.options());
  how.expand_once = false;
  search_best_first(run, how);
}

}  // namespace reverie
