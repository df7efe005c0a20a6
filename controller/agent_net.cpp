#include "controller/agent_net.h"

#include "controller/candidate_net.h"
#include "controller/graph_net.h"

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

std::shared_ptr<AgentNet> make_agent_net(const EnvSpec& spec, const AgentNetConfig& config) {
  if (config.network == AgentNetKind::kCandidates) return std::make_shared<CandidateNet>(spec, config);
  return std::make_shared<GraphNet>(spec, config);
}

Sight look(const Environment& environment, Observation observation, const AgentNet& net) {
  Sight sight{std::move(observation), {}};
  if (net.looks_ahead()) sight.gains = gains_of_all(environment, sight.observation.mask);
  return sight;
}

}  // namespace reverie
