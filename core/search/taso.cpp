#include "core/base/error.h"
#include "core/search/algorithms.h"
#include "core/search/best_first.h"

namespace reverie::search {

void Taso::operator()(SearchRun& run) const {
  if (alpha < 1) throw InputError("alpha must be at least 1, not {}", alpha);
  BestFirst how{.budget = run.options().budget, .alpha = alpha, .expand_once = !published};
  if (!published) how.states = queue;
  const bool exhausted = search_best_first(run, how).exhausted;
  if (!exhausted && finish && !published) finish_greedily(run);
}

}  // namespace reverie::search
