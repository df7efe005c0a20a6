#include "controller/policy/actor_critic.h"

#include <torch/nn/modules/container/functional.h>

#include "worldmodel/network/activations.h"

namespace reverie {

torch::Tensor policy_features(const LatentObservation& observation) {
  return torch::cat({observation.z, observation.h, observation.to_go.unsqueeze(-1)}, -1);
}

int64_t policy_feature_count(const LatentSpec& spec) { return spec.latent + spec.hidden + 1; }

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
  head_ = register_module("head", ActionHead(config.width, spec.env, config.head,
                                             spec.latent + spec.hidden));
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

PolicyDecision RandomPolicy::act(const LatentObservation& observation, bool, Rng& rng) {
  const int64_t size = observation.mask.totals.size(0), actions = observation.mask.totals.size(1);
  const auto counts = observation.mask.totals.to(torch::kCPU);
  auto weights = (counts > 0).to(torch::kFloat64);
  const auto others = weights.narrow(1, 0, actions - 1).sum(1);
  weights.select(1, actions - 1).mul_((others == 0).to(torch::kFloat64));
  const auto primary = draw_index(weights, uniform_numbers(size, rng));
  const auto count = counts.gather(1, primary.unsqueeze(1)).squeeze(1);
  const auto number = (uniform_numbers(size, rng) * count).floor().to(torch::kInt64);
  const auto device = observation.mask.totals.device();
  const auto probability = 1.0 / (weights.sum(1) * count);
  const LatentActions chosen = choice_at(to_device(observation.mask, torch::kCPU), primary, number);
  return {to_device(chosen, device), probability.log().to(torch::kFloat32).to(device), {}};
}

}  // namespace reverie
