#include "core/base/error.h"
#include "env/adapt/training_source.h"

namespace reverie {

std::unique_ptr<TrainingSource> make_training_source(const Network&, const std::string&,
                                                     const TrainingConfig&) {
  throw InputError(
      "training a network needs LibTorch, which this program was built without; take a table of "
      "recorded trainings");
}

}  // namespace reverie
