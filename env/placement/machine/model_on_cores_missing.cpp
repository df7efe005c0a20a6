#include "core/base/error.h"
#include "env/placement/machine/model_on_cores.h"

namespace reverie {

struct ModelOnCores::Impl {};

ModelOnCores::ModelOnCores(const Graph&, const std::string&, std::span<const Tensor>, CoreThreads&,
                           const WeightSource&) {
  throw InputError(
      "running a model on this machine's cores needs oneDNN, which this program was built without");
}
ModelOnCores::~ModelOnCores() = default;

// Nobody has one.
const CostGraph& ModelOnCores::graph() const { throw InternalError("no model on cores"); }
std::vector<Picoseconds> ModelOnCores::node_times(int, Others) { return {}; }
placement::RunTime ModelOnCores::run(const OrderByDevice&) { return {}; }
std::vector<Tensor> ModelOnCores::outputs() const { return {}; }

}  // namespace reverie
