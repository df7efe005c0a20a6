#include "env/adapt/training_source.h"

#include "core/base/error.h"

namespace reverie {
namespace {

MakeTrainingSource*& registered() {
  static MakeTrainingSource* make = nullptr;
  return make;
}

}  // namespace

bool register_training(MakeTrainingSource* make) {
  REVERIE_CHECK(registered() == nullptr);
  registered() = make;
  return true;
}

std::unique_ptr<TrainingSource> make_training_source(const Network& network,
                                                     const std::string& scenario,
                                                     const TrainingConfig& config) {
  if (registered() == nullptr)
    throw InputError(
        "training a network needs LibTorch, which this program was built without; take a table of "
        "recorded trainings");
  return registered()(network, scenario, config);
}

}  // namespace reverie
