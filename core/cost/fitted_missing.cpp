#include "core/base/error.h"
#include "core/cost/fitted.h"

namespace reverie {
namespace {

[[noreturn]] void refuse() {
  throw InputError(
      "costs fitted to measurements need Eigen, which this program was built without; "
      "take another method or source of costs");
}

}  // namespace

class FittedCost::Fit {};

FittedCost::FittedCost(std::shared_ptr<CostModel>, std::span<const TimedGraph>) { refuse(); }
FittedCost::~FittedCost() = default;

FittedCost::Prediction FittedCost::predict(std::span<const SignatureCount>) const { refuse(); }
std::shared_ptr<CostModel> FittedCost::sample(uint64_t) const { refuse(); }
CostFit FittedCost::fit() const { refuse(); }
double FittedCost::scale() const { refuse(); }
double FittedCost::deviation() const { refuse(); }
double FittedCost::mismatch() const { refuse(); }
std::string FittedCost::name() const { refuse(); }
bool FittedCost::deterministic() const { refuse(); }
Cost FittedCost::cost(const OpSignature&) { refuse(); }
CostModel::Counters FittedCost::counters() const { refuse(); }

}  // namespace reverie
