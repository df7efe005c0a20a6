#include "controller/modelfree/model_free_network.h"

#include "controller/modelfree/candidate_net.h"
#include "controller/modelfree/graph_net.h"

namespace reverie {
namespace {

std::vector<float> gains_of_all(const Environment& environment, const ActionMask& mask) {
  std::vector<float> all;
  for (int primary = 0; primary < mask.primary_actions(); ++primary) {
    const auto count = static_cast<size_t>(mask.total(primary));
    std::vector<double> gains;
    if (count > 0 && primary != environment.spec().no_op()) gains = environment.gains(primary);
    gains.resize(count);
    all.insert(all.end(), gains.begin(), gains.end());
  }
  return all;
}

}  // namespace

std::shared_ptr<ModelFreeNetwork> make_model_free_network(const EnvSpec& spec,
                                                          const ModelFreeConfig& config) {
  if (config.network == ModelFreeKind::kCandidates)
    return std::make_shared<CandidateNet>(spec, config);
  return std::make_shared<GraphNet>(spec, config);
}

ModelFreeObservation look(const Environment& environment, Observation observation,
                          const ModelFreeNetwork& net) {
  ModelFreeObservation input{std::move(observation), {}};
  if (net.looks_ahead()) input.gains = gains_of_all(environment, input.observation.mask);
  return input;
}

}  // namespace reverie
