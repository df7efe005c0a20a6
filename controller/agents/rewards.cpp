#include "controller/agents/rewards.h"

#include <cmath>

namespace reverie {
namespace {

constexpr float kFailing = -10;

}  // namespace

std::vector<float> root_rewards(const JudgedGraph& graph,
                                const std::vector<std::vector<int>>& placements) {
  std::vector<float> rewards;
  for (const std::vector<int>& devices : placements) {
    if (graph.evaluator().spent()) break;
    const Outcome& outcome = graph.evaluate(devices);
    rewards.push_back(outcome.feasible() ? -static_cast<float>(std::sqrt(graph.ratio(outcome)))
                                         : kFailing);
  }
  return rewards;
}

torch::Tensor MeanReward::advantages(const std::vector<float>& rewards) {
  const auto all = torch::tensor(rewards);
  return all - mean_.advance(all.mean().unsqueeze(0), torch::ones({1}, torch::kBool));
}

torch::Tensor standardised(const std::vector<float>& rewards) {
  const auto all = torch::tensor(rewards);
  if (rewards.size() < 2 || all.std().item<float>() == 0) return {};
  return (all - all.mean()) / all.std();
}

}  // namespace reverie
