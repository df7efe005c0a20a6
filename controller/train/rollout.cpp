#include "controller/train/rollout.h"

#include <vector>

namespace reverie {

namespace {

struct Columns {
  std::vector<LatentObservation> observation;
  std::vector<LatentActions> actions;
  std::vector<torch::Tensor> log_probability, value, reward, terminated, truncated, alive;

  void add(const LatentObservation& seen, const PolicyDecision& decision, const LatentStep& step,
           const torch::Tensor& was_alive) {
    observation.push_back(without_memory(seen));
    actions.push_back(decision.actions);
    log_probability.push_back(decision.log_probability);
    if (decision.value.defined()) value.push_back(decision.value);
    reward.push_back(step.reward * was_alive);
    terminated.push_back(step.terminated & was_alive);
    truncated.push_back(step.truncated & ~step.terminated & was_alive);
    alive.push_back(was_alive);
  }

  Rollout stacked() const {
    Rollout result;
    result.observation = stack(observation);
    result.actions = stack(actions);
    result.log_probability = torch::stack(log_probability);
    if (!value.empty()) result.value = torch::stack(value);
    result.reward = torch::stack(reward);
    result.terminated = torch::stack(terminated);
    result.truncated = torch::stack(truncated);
    result.alive = torch::stack(alive);
    return result;
  }
};

}  // namespace

Rollout play(LatentEnvironment& environment, Policy& policy, bool greedy, uint64_t seed, Rng& rng) {
  return play_from(environment, environment.reset(seed), policy, greedy, rng);
}

Rollout play_from(LatentEnvironment& environment, LatentObservation observation, Policy& policy,
                  bool greedy, Rng& rng) {
  torch::NoGradGuard no_grad;
  Columns columns;
  auto alive = torch::ones({environment.batch()}, observation.z.options().dtype(torch::kBool));
  while (alive.any().item<bool>()) {
    const PolicyDecision decision = policy.act(observation, greedy, rng);
    const LatentStep step = environment.step(decision.actions);
    columns.add(observation, decision, step, alive);
    alive = alive & ~(step.terminated | step.truncated);
    observation = environment.observe();
    REVERIE_CHECK(static_cast<int>(columns.reward.size()) <= environment.spec().env.horizon,
                  "an episode went beyond its horizon");
  }
  Rollout rollout = columns.stacked();
  rollout.last = without_memory(observation);
  return rollout;
}

torch::Tensor generalized_advantage(const Rollout& rollout, const torch::Tensor& value,
                                    const torch::Tensor& last_value, double gamma, double lambda) {
  auto advantage = torch::zeros_like(rollout.reward);
  const auto beyond = last_value * rollout.last.to_go.gt(0);
  auto running = torch::zeros_like(beyond);
  auto next = beyond;
  for (int64_t t = rollout.steps() - 1; t >= 0; --t) {
    const auto truncated = rollout.truncated[t], terminated = rollout.terminated[t];
    const auto following = torch::where(truncated, beyond, next) * ~terminated;
    const auto delta = rollout.reward[t] + gamma * following - value[t];
    running = (delta + gamma * lambda * running * ~(terminated | truncated)) * rollout.alive[t];
    advantage[t] = running;
    next = value[t];
  }
  return advantage;
}

torch::Tensor rewards_to_go(const torch::Tensor& reward, double gamma) {
  auto result = reward.clone();
  for (int64_t t = reward.size(0) - 2; t >= 0; --t) result[t] += gamma * result[t + 1];
  return result;
}

}  // namespace reverie
