#include "controller/agent_net.h"

#include "controller/candidate_net.h"
#include "controller/graph_net.h"

namespace reverie {
namespace {

std::vector<float> gains_of_all(const Environment& environment, const ActionMask& mask) {
  std::vector<float> all;
  for (size_t primary = 0; primary < mask.counts.size(); ++primary) {
    const size_t count = mask.counts[primary];
    std::vector<double> gains;
    if (count > 0 && static_cast<int>(primary) != environment.spec().no_op())
      gains = environment.gains(static_cast<int>(primary));
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
