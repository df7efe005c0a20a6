#include "controller/train/dqn.h"

#include <cmath>

#include "controller/policy/segments.h"
#include "controller/train/descend.h"
#include "worldmodel/network/modules.h"

namespace reverie {
namespace {

constexpr double kMaxGradient = 10;  // as Wang et al. 2016

ActorCriticConfig without_no_op_logit(ActorCriticConfig config) {
  config.head.no_op_logit = 0;
  return config;
}

/// Of each of B states, the row of its best action.
torch::Tensor best_rows(const ActionScores& all, const torch::Tensor& mask_totals) {
  return best_within(all.score, all.state, mask_totals.size(0));
}

}  // namespace

DqnPolicy::DqnPolicy(ActorCritic net, double no_op_logit)
    : net_(std::move(net)), random_(std::exp(no_op_logit)) {}

PolicyDecision DqnPolicy::act(const LatentObservation& observation, bool greedy, Rng& rng) {
  torch::NoGradGuard no_grad;
  const ActionScores all = net_->action_values(observation);
  const auto best = best_rows(all, observation.mask.totals);
  PolicyDecision decision{select_rows(all.actions, best), torch::zeros_like(observation.to_go),
                          all.score.index_select(0, best) * value_scale_};
  if (greedy) return decision;
  const LatentActions random = random_.act(observation, false, rng).actions;
  const auto device = best.device();
  const auto explore = (uniform_numbers(best.size(0), rng) < epsilon_).to(device);
  decision.actions = choose_rows(explore, random, decision.actions);
  const auto chance = random_.probability(observation.mask, decision.actions.primary).to(device);
  const auto is_best = rows_of(all, decision.actions).eq(best);
  decision.log_probability =
      (epsilon_ * chance + (1 - epsilon_) * is_best).log().to(torch::kFloat32);
  return decision;
}

DqnTrainer::DqnTrainer(const LatentSpec& spec, ActorCriticConfig net, const DqnConfig& config,
                       uint64_t seed)
    : config_(config),
      net_(with_torch_seed(seed, [&] { return ActorCritic(spec, without_no_op_logit(net)); })),
      target_(spec, without_no_op_logit(net)),
      policy_(net_, net.head.no_op_logit),
      optimizer_(net_->parameters(), torch::optim::AdamOptions(config.learning_rate)),
      memory_(config.memory) {
  policy_.set_epsilon(config.final_epsilon);
  follow(1);
}

void DqnTrainer::to_device(torch::Device device) {
  device_ = device;
  net_->to(device);
  target_->to(device);
}

void DqnTrainer::follow(double rate) {
  torch::NoGradGuard no_grad;
  const auto from = net_->parameters(), to = target_->parameters();
  for (size_t i = 0; i < to.size(); ++i) to[i].lerp_(from[i], rate);
}

void DqnTrainer::set_scale(const torch::Tensor& returns) {
  scale_.observe(returns);
  policy_.set_value_scale(scale_.value());
}

Metrics DqnTrainer::imitate(const Demonstrations& demonstrations, const CloneConfig& config,
                            uint64_t seed) {
  Rng rng(seed);
  set_scale(demonstrations.to_come(config_.gamma));
  memory_.add(demonstrations);
  const int64_t pass = (memory_.size() + config_.minibatch - 1) / config_.minibatch;
  return {{"loss", learn(config.epochs * pass, rng)}};
}

Metrics DqnTrainer::update(LatentEnvironment& environment, double progress, uint64_t seed) {
  Rng rng(seed);
  const double epsilon = std::lerp(config_.first_epsilon, config_.final_epsilon, progress);
  policy_.set_epsilon(epsilon);
  const Rollout rollout = play(environment, policy_, false, rng.bits(), rng);
  policy_.set_epsilon(config_.final_epsilon);
  set_scale(rewards_to_go(rollout.reward, config_.gamma).masked_select(rollout.alive));
  memory_.add(rollout);
  Metrics metrics = episode_metrics(rollout);
  metrics.emplace_back("losses/total", learn(config_.gradient_steps, rng));
  metrics.emplace_back("charts/epsilon", epsilon);
  metrics.emplace_back("charts/remembered", static_cast<double>(memory_.size()));
  return metrics;
}

double DqnTrainer::learn(int64_t steps, Rng& rng) {
  double sum = 0;
  for (int64_t i = 0; i < steps; ++i)
    sum += gradient_step(memory_.sample(config_.minibatch, config_.steps, config_.gamma, rng));
  return sum / static_cast<double>(steps);
}

torch::Tensor DqnTrainer::worth_of_next(const ReplaySample& sample) {
  torch::NoGradGuard no_grad;
  if (!sample.discount.gt(0).any().item<bool>()) return sample.discount;
  const auto best = best_rows(net_->action_values(sample.next), sample.next.mask.totals);
  return sample.discount * target_->action_values(sample.next).score.index_select(0, best);
}

double DqnTrainer::gradient_step(const ReplaySample& sample) {
  const auto target = sample.reward / scale_.value() + worth_of_next(sample);
  const ActionScores all = net_->action_values(sample.observation);
  const auto value = all.score.index_select(0, rows_of(all, sample.actions));
  const auto loss = torch::nn::functional::smooth_l1_loss(value, target);
  require_finite_loss(loss.item<double>());
  descend_gradient(optimizer_, loss, kMaxGradient);
  follow(config_.target_rate);
  return loss.item<double>();
}

void DqnTrainer::store_policy(Checkpoint& checkpoint) const {
  store_module(checkpoint, "policy", *net_);
  checkpoint.tensors["return_scale"] = scale_.state();
}

void DqnTrainer::restore_policy(const Checkpoint& checkpoint) {
  restore_module(checkpoint, "policy", *net_);
  scale_.set_state(stored_tensor(checkpoint, "return_scale"));
  policy_.set_value_scale(scale_.value());
  follow(1);
}

void DqnTrainer::store(Checkpoint& checkpoint) const {
  store_policy(checkpoint);
  store_module(checkpoint, "target", *target_);
  store_optimizer(checkpoint, "policy", optimizer_);
  memory_.store(checkpoint);
}

void DqnTrainer::restore(const Checkpoint& checkpoint) {
  restore_policy(checkpoint);
  restore_module(checkpoint, "target", *target_);
  restore_optimizer(checkpoint, "policy", optimizer_);
  memory_.restore(checkpoint, device_);
}

}  // namespace reverie
