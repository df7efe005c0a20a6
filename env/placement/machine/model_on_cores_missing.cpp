#include "core/base/error.h"
#include "env/placement/machine/model_on_cores.h"

namespace reverie {

std::unique_ptr<ModelOnDevices> model_on_cores(const Graph&, const std::string&,
                                               std::span<const Tensor>, CoreThreads&,
                                               const WeightSource&) {
  throw InputError(
      "running a model on this machine's cores needs oneDNN, which this program was built without");
}

}  // namespace reverie
