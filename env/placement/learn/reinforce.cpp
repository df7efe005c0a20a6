#include "env/placement/learn/reinforce.h"

#include <cmath>

namespace reverie {
namespace {

constexpr float kFailing = -10, kKeptBaseline = 0.9f;

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

torch::Tensor MovingBaseline::advantages(const std::vector<float>& rewards) {
  const auto all = torch::tensor(rewards);
  const auto mean = all.mean().item<float>();
  const auto advantages = all - mean_.value_or(mean);
  mean_ = mean_ ? kKeptBaseline * *mean_ + (1 - kKeptBaseline) * mean : mean;
  return advantages;
}

void clipped_step(torch::optim::Optimizer& optimizer, double clip) {
  torch::nn::utils::clip_grad_norm_(optimizer.param_groups().front().params(), clip);
  optimizer.step();
}

void descend(torch::optim::Optimizer& optimizer, const torch::Tensor& loss, double clip) {
  optimizer.zero_grad();
  loss.backward();
  clipped_step(optimizer, clip);
}

}  // namespace reverie
