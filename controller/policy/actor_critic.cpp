#include "controller/policy/actor_critic.h"

#include <torch/nn/modules/container/functional.h>

#include "worldmodel/network/activations.h"

namespace reverie {

namespace {

torch::Tensor mean_of_offered(const LatentObservation& observation) {
  const auto& choices = observation.mask.by_entity;
  const auto offered =
      choices.narrow(1, 0, choices.size(1) - 1).gt(0).any(1, /*keepdim=*/true).to(torch::kFloat);
  return (offered.matmul(observation.entities) / offered.sum(-1, true).clamp_min(1)).squeeze(1);
}

}  // namespace

torch::Tensor policy_features(const LatentObservation& observation) {
  return torch::cat(
      {observation.z, observation.h, mean_of_offered(observation), observation.to_go.unsqueeze(-1)},
      -1);
}

int64_t policy_feature_count(const LatentSpec& spec) { return 2 * spec.latent + spec.hidden + 1; }

torch::nn::Sequential two_layers(int64_t inputs, int64_t width, int64_t outputs) {
  torch::nn::Sequential layers(torch::nn::Linear(inputs, width), torch::nn::Functional(tanh_all),
                               torch::nn::Linear(width, width), torch::nn::Functional(tanh_all));
  if (outputs > 0) layers->push_back(torch::nn::Linear(width, outputs));
  return layers;
}

ActorCriticImpl::ActorCriticImpl(const LatentSpec& spec, const ActorCriticConfig& config)
    : see_z_(config.see_z), see_h_(config.see_h) {
  const int64_t inputs = policy_feature_count(spec);
  actor_ = register_module("actor", two_layers(inputs, config.width, 0));
  critic_ = register_module("critic", two_layers(inputs, config.width, 1));
  head_ = register_module(
      "head", ActionHead(config.width, spec.env, config.head, spec.latent + spec.hidden));
}

LatentObservation ActorCriticImpl::seen(LatentObservation observation) const {
  const auto hide = [](torch::Tensor& x) { x = torch::zeros_like(x); };
  if (!see_z_) hide(observation.z), hide(observation.entities);
  if (!see_h_) hide(observation.h), hide(observation.entity_h);
  return observation;
}

ActionInputs ActorCriticImpl::action_inputs(const LatentObservation& seen) {
  return {actor_->forward(policy_features(seen)), seen.mask, seen.entities, seen.entity_h};
}

torch::Tensor ActorCriticImpl::value_of(const LatentObservation& seen) {
  return critic_->forward(policy_features(seen)).squeeze(-1);
}

Evaluation ActorCriticImpl::evaluate(const LatentObservation& observation,
                                     const LatentActions& actions) {
  const LatentObservation visible = seen(observation);
  Evaluation result = head_->evaluate(action_inputs(visible), actions);
  result.value = value_of(visible);
  return result;
}

Choice ActorCriticImpl::choose(const LatentObservation& observation, bool greedy, Rng& rng) {
  return head_->choose(action_inputs(seen(observation)), greedy, rng);
}

torch::Tensor ActorCriticImpl::value(const LatentObservation& observation) {
  return value_of(seen(observation));
}

ActionPriors ActorCriticImpl::priors(const LatentObservation& observation) {
  const LatentObservation visible = seen(observation);
  ActionPriors priors = head_->priors(action_inputs(visible));
  priors.value = value_of(visible);
  return priors;
}

ActionScores ActorCriticImpl::action_values(const LatentObservation& observation) {
  const LatentObservation visible = seen(observation);
  ActionScores all = head_->scores(action_inputs(visible));
  const auto value = value_of(visible);
  const auto sum = torch::zeros_like(value).index_add(0, all.state, all.score);
  const auto base = value - sum / all.state.bincount({}, value.size(0));
  all.score = all.score + base.index_select(0, all.state);
  return all;
}

PolicyDecision ActorCriticPolicy::act(const LatentObservation& observation, bool greedy, Rng& rng) {
  torch::NoGradGuard no_grad;
  Choice choice = net_->choose(observation, greedy, rng);
  return {choice.actions, choice.log_probability, net_->value(observation)};
}

ActionPriors ActorCriticPolicy::priors(const LatentObservation& observation) {
  torch::NoGradGuard no_grad;
  ActionPriors priors = net_->priors(observation);
  priors.value = priors.value * value_scale_;
  return priors;
}

torch::Tensor RandomPolicy::weights(const LatentMask& mask) const {
  auto weights = (mask.totals.to(torch::kCPU) > 0).to(torch::kFloat64);
  const int64_t no_op = weights.size(1) - 1;
  const auto others = weights.narrow(1, 0, no_op).sum(1);
  weights.select(1, no_op).mul_(torch::where(others == 0, 1.0, no_op_weight_));
  return weights;
}

torch::Tensor RandomPolicy::probability(const LatentMask& mask,
                                        const torch::Tensor& primary) const {
  const auto all = weights(mask), at = primary.to(torch::kCPU).unsqueeze(1);
  const auto count = mask.totals.to(torch::kCPU).gather(1, at).squeeze(1);
  return all.gather(1, at).squeeze(1) / (all.sum(1) * count);
}

PolicyDecision RandomPolicy::act(const LatentObservation& observation, bool, Rng& rng) {
  const LatentMask mask = to_device(observation.mask, torch::kCPU);
  const int64_t size = mask.totals.size(0);
  const auto primary = draw_index(weights(mask), uniform_numbers(size, rng));
  const auto count = mask.totals.gather(1, primary.unsqueeze(1)).squeeze(1);
  const auto number = (uniform_numbers(size, rng) * count).floor().to(torch::kInt64);
  const auto device = observation.mask.totals.device();
  const LatentActions chosen = choice_at(mask, primary, number);
  const auto log_probability = probability(mask, primary).log().to(torch::kFloat32);
  return {to_device(chosen, device), log_probability.to(device), {}};
}

}  // namespace reverie
