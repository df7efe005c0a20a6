#include "controller/train/reinforce.h"

#include "controller/train/descend.h"
#include "worldmodel/network/modules.h"

namespace reverie {

ReinforceTrainer::ReinforceTrainer(const LatentSpec& spec, const ActorCriticConfig& net,
                                   const ReinforceConfig& config, uint64_t seed)
    : config_(config),
      net_(with_torch_seed(seed, [&] { return ActorCritic(spec, net); })),
      policy_(net_),
      optimizer_(net_->parameters(), torch::optim::AdamOptions(config.learning_rate)),
      baseline_(spec.env.horizon, config.baseline_decay) {}

void ReinforceTrainer::to_device(torch::Device device) {
  net_->to(device);
  baseline_.to(device);
}

torch::Tensor ReinforceTrainer::advantages(const Rollout& rollout) {
  const auto alive = rollout.alive.to(torch::kFloat32);
  const auto to_go = rewards_to_go(rollout.reward, config_.gamma);
  const auto episodes = alive.sum(1);
  const auto mean = (to_go * alive).sum(1) / episodes.clamp_min(1);
  return to_go - baseline_.advance(mean, episodes > 0).unsqueeze(1);
}

Metrics ReinforceTrainer::update(LatentEnvironment& environment, double, uint64_t seed) {
  Rng rng(seed);
  Rollout rollout = play(environment, policy_, false, rng.bits(), rng);
  const auto alive = rollout.alive.flatten().nonzero().squeeze(1);
  const auto advantage = advantages(rollout).flatten().index_select(0, alive);
  const Evaluation now = net_->evaluate(select_rows(flatten(rollout.observation), alive),
                                        select_rows(flatten(rollout.actions), alive));
  const auto normal = advantage / (advantage.std(false) + 1e-8);
  const auto loss = -(now.log_probability * normal).mean() - config_.entropy * now.entropy.mean();
  require_finite_loss(loss.item<double>());
  descend_gradient(optimizer_, loss, config_.max_gradient);
  Metrics metrics = episode_metrics(rollout);
  metrics.emplace_back("losses/total", loss.item<double>());
  metrics.emplace_back("losses/entropy", now.entropy.mean().item<double>());
  return metrics;
}

void ReinforceTrainer::store_policy(Checkpoint& checkpoint) const {
  store_module(checkpoint, "policy", *net_);
}

void ReinforceTrainer::restore_policy(const Checkpoint& checkpoint) {
  restore_module(checkpoint, "policy", *net_);
}

void ReinforceTrainer::store(Checkpoint& checkpoint) const {
  store_policy(checkpoint);
  store_optimizer(checkpoint, "policy", optimizer_);
  baseline_.store(checkpoint, "baseline");
}

void ReinforceTrainer::restore(const Checkpoint& checkpoint) {
  restore_policy(checkpoint);
  restore_optimizer(checkpoint, "policy", optimizer_);
  baseline_.restore(checkpoint, "baseline");
}

}  // namespace reverie
