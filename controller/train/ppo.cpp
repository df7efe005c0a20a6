#include "controller/train/ppo.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "controller/train/descend.h"
#include "core/base/shuffle.h"
#include "worldmodel/network/modules.h"

namespace reverie {
namespace {

double between_ends(double first, double last, double progress) {
  return first + (last - first) * std::clamp(progress, 0.0, 1.0);
}

}  // namespace

torch::Tensor shuffled_indices(int64_t n, Rng& rng) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  shuffle(std::span(order), rng);
  return torch::tensor(order, torch::kInt64);
}

torch::Tensor clipped_gain(const torch::Tensor& ratio, const torch::Tensor& advantage,
                           double clip) {
  return torch::minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage);
}

struct PpoLearner::Sums {
  double loss = 0, value_loss = 0, entropy = 0, kl = 0, clipped = 0, gradient = 0;
  double first_ratio_error = 0;
  int64_t steps = 0;
};

PpoLearner::PpoLearner(std::vector<torch::Tensor> parameters, const PpoConfig& config)
    : config_(config),
      optimizer_(std::move(parameters), torch::optim::AdamOptions(config.learning_rate).eps(1e-5)) {
}

bool PpoLearner::minibatch_step(const PpoBatch& batch, const torch::Tensor& index, double entropy,
                                Sums& sums) {
  const Evaluation now = batch.evaluate(index);
  const auto advantage = batch.advantage.index_select(0, index);
  const auto log_ratio = now.log_probability - batch.log_probability.index_select(0, index);
  const auto ratio = log_ratio.exp();
  const double kl = (ratio - 1 - log_ratio).mean().item<double>();
  if (sums.steps == 0) sums.first_ratio_error = (ratio - 1).abs().max().item<double>();
  if (sums.steps > 0 && kl > config_.target_kl) return false;

  const auto gain = clipped_gain(ratio, advantage, config_.clip).mean();
  const auto value_loss = (now.value - batch.target.index_select(0, index)).square().mean();
  const auto spread = now.entropy.mean();
  const auto loss = -gain + config_.value_weight * value_loss - entropy * spread;
  require_finite_loss(loss.item<double>());
  sums.gradient += descend_gradient(optimizer_, loss, config_.max_gradient);

  sums.loss += loss.item<double>();
  sums.value_loss += value_loss.item<double>();
  sums.entropy += spread.item<double>();
  sums.kl += kl;
  sums.clipped += ((ratio - 1).abs() > config_.clip).to(torch::kFloat32).mean().item<double>();
  ++sums.steps;
  return true;
}

Metrics PpoLearner::update(const PpoBatch& batch, double progress, Rng& rng) {
  static_cast<torch::optim::AdamOptions&>(optimizer_.param_groups()[0].options())
      .lr(between_ends(config_.learning_rate, config_.final_learning_rate, progress));
  const double entropy = between_ends(config_.entropy, config_.final_entropy, progress);
  PpoBatch normal = batch;
  const auto spread = batch.advantage.std(false) + 1e-8;
  normal.advantage = (batch.advantage - batch.advantage.mean()) / spread;

  Sums sums;
  const int64_t size = batch.advantage.size(0);
  const int64_t parts = std::max<int64_t>(1, (size + config_.minibatch / 2) / config_.minibatch);
  for (int64_t epoch = 0, going = 1; epoch < config_.epochs && going; ++epoch) {
    const auto order = shuffled_indices(size, rng).to(batch.advantage.device());
    for (int64_t part = 0; part < parts && going; ++part) {
      const int64_t begin = size * part / parts, end = size * (part + 1) / parts;
      going = minibatch_step(normal, order.slice(0, begin, end), entropy, sums);
    }
  }
  const auto mean = [&](double sum) { return sum / static_cast<double>(sums.steps); };
  return {{"losses/total", mean(sums.loss)},
          {"losses/value", mean(sums.value_loss)},
          {"losses/entropy", mean(sums.entropy)},
          {"losses/kl", mean(sums.kl)},
          {"losses/clipped", mean(sums.clipped)},
          {"losses/gradient", mean(sums.gradient)},
          {"losses/first_ratio_error", sums.first_ratio_error}};
}

void ReturnScale::observe(const torch::Tensor& returns) {
  squares_ += returns.to(torch::kFloat64).square().sum().item<double>();
  count_ += static_cast<double>(returns.numel());
}

void ReturnScale::observe(const Rollout& rollout, const torch::Tensor& last_value, double gamma) {
  const auto returns =
      generalized_advantage(rollout, torch::zeros_like(rollout.reward), last_value, gamma, 1);
  observe(returns.masked_select(rollout.alive));
}

void ReturnScale::set_state(const torch::Tensor& state) {
  squares_ = state[0].item<double>();
  count_ = state[1].item<double>();
}

void require_finite_loss(double loss) {
  if (!std::isfinite(loss))
    throw InputError("the policy's loss is no longer finite; lower its learning rate");
}

Metrics episode_metrics(const Rollout& rollout) {
  return {{"charts/return", rollout.returns().mean().item<double>()},
          {"charts/length", rollout.lengths().to(torch::kFloat32).mean().item<double>()}};
}

PpoTrainer::PpoTrainer(const LatentSpec& spec, const ActorCriticConfig& net,
                       const PpoConfig& config, uint64_t seed)
    : config_(config),
      net_(with_torch_seed(seed, [&] { return ActorCritic(spec, net); })),
      policy_("ppo", net_),
      learner_(net_->parameters(), config) {}

Metrics PpoTrainer::imitate(const Demonstrations& demonstrations, const CloneConfig& config,
                            uint64_t seed) {
  const auto to_come = demonstrations.to_come(config_.gamma);
  scale_.observe(to_come);
  policy_.set_value_scale(scale_.value());
  return clone_actions(net_, demonstrations, to_come / scale_.value(), config, seed);
}

Metrics PpoTrainer::update(LatentEnvironment& environment, double progress, uint64_t seed) {
  Rng rng(seed);
  const Rollout rollout = play(environment, policy_, false, rng.bits(), rng);
  torch::Tensor last_value;
  {
    torch::NoGradGuard no_grad;
    last_value = net_->value(rollout.last);
  }
  scale_.observe(rollout, last_value * scale_.value(), config_.gamma);
  const double scale = scale_.value();
  policy_.set_value_scale(scale);
  last_value = last_value * scale;
  const auto value = rollout.value * scale;
  const auto advantage =
      generalized_advantage(rollout, value, last_value, config_.gamma, config_.lambda);

  const auto alive = rollout.alive.flatten().nonzero().squeeze(1);
  const LatentObservation observation = select_rows(flatten(rollout.observation), alive);
  const LatentActions actions = select_rows(flatten(rollout.actions), alive);
  PpoBatch batch;
  batch.log_probability = rollout.log_probability.flatten().index_select(0, alive);
  batch.advantage = advantage.flatten().index_select(0, alive);
  batch.target = ((advantage + value) / scale).flatten().index_select(0, alive);
  batch.evaluate = [&](const torch::Tensor& index) {
    return net_->evaluate(select_rows(observation, index), select_rows(actions, index));
  };
  Metrics metrics = episode_metrics(rollout);
  for (auto& metric : learner_.update(batch, progress, rng)) metrics.push_back(std::move(metric));
  return metrics;
}

void PpoTrainer::store_policy(Checkpoint& checkpoint) const {
  store_module(checkpoint, "policy", *net_);
  checkpoint.tensors["return_scale"] = scale_.state();
}

void PpoTrainer::restore_policy(const Checkpoint& checkpoint) {
  restore_module(checkpoint, "policy", *net_);
  const auto scale = checkpoint.tensors.find("return_scale");
  if (scale == checkpoint.tensors.end()) return;  // an older file: its critic's unit is not known
  scale_.set_state(scale->second);
  policy_.set_value_scale(scale_.value());
}

void PpoTrainer::store(Checkpoint& checkpoint) const {
  store_policy(checkpoint);
  store_optimizer(checkpoint, "policy", learner_.optimizer());
}

void PpoTrainer::restore(const Checkpoint& checkpoint) {
  restore_policy(checkpoint);
  restore_optimizer(checkpoint, "policy", learner_.optimizer());
}

}  // namespace reverie
