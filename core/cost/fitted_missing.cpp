#include "core/base/error.h"
#include "core/cost/fitted.h"

namespace reverie {

std::shared_ptr<FittedCost> fitted_cost(std::shared_ptr<CostModel>, std::span<const TimedGraph>) {
  throw InputError(
      "costs fitted to measurements need Eigen, which this program was built without; "
      "take another method or source of costs");
}

}  // namespace reverie
