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

/// Of some steps.
struct PpoLearner::Losses {
  /// What is told of them; all but the last are means.
  enum Column : int64_t { kLoss, kValueLoss, kEntropy, kKl, kClipped, kRatioError };

  torch::Tensor loss;
  torch::Tensor told;  ///< [columns] float64
};

PpoLearner::Losses PpoLearner::losses(const PpoBatch& batch, const torch::Tensor& index,
                                      double entropy) const {
  const Evaluation now = batch.evaluate(index);
  const auto advantage = batch.advantage.index_select(0, index);
  const auto log_ratio = now.log_probability - batch.log_probability.index_select(0, index);
  const auto ratio = log_ratio.exp();
  const auto gain = clipped_gain(ratio, advantage, config_.clip).mean();
  const auto value_loss = (now.value - batch.target.index_select(0, index)).square().mean();
  const auto spread = now.entropy.mean();
  const auto loss = -gain + config_.value_weight * value_loss - entropy * spread;
  const auto off = (ratio - 1).abs();
  const std::vector<double> told = {loss.item<double>(),
                                    value_loss.item<double>(),
                                    spread.item<double>(),
                                    (ratio - 1 - log_ratio).mean().item<double>(),
                                    (off > config_.clip).to(torch::kFloat32).mean().item<double>(),
                                    off.max().item<double>()};
  return {loss, torch::tensor(told, torch::kFloat64)};
}

bool PpoLearner::minibatch_step(const PpoBatch& batch, const torch::Tensor& index, double entropy,
                                Sums& sums) {
  const CutMinibatch minibatch(shares_, index.size(0));
  std::vector<torch::Tensor> own, rows, shares;
  for (const Part& part : minibatch.own()) {
    const auto [first, end] = part.range(static_cast<int>(index.size(0)));
    const Losses part_losses = losses(batch, index.slice(0, first, end), entropy);
    own.push_back(part_losses.loss * minibatch.share(part));
    rows.push_back(part_losses.told);
    shares.push_back(torch::full({1}, minibatch.share(part), torch::kFloat64));
  }
  const torch::Tensor all = minibatch.gather(torch::stack(rows));
  const torch::Tensor means = (all * minibatch.gather(torch::stack(shares))).sum(0);
  const auto mean = [&](Losses::Column column) { return means[column].item<double>(); };
  if (sums.steps == 0)
    sums.first_ratio_error = all.select(1, Losses::kRatioError).max().item<double>();
  if (sums.steps > 0 && mean(Losses::kKl) > config_.target_kl) return false;
  require_finite_loss(mean(Losses::kLoss));

  std::vector<torch::Tensor> gradients;
  const auto& weights = optimizer_.param_groups().front().params();
  for (const torch::Tensor& loss : own) {
    optimizer_.zero_grad();
    loss.backward();
    gradients.push_back(flat_gradient(weights));
  }
  set_gradient(weights, minibatch.sum(torch::stack(gradients)));
  sums.gradient += clipped_step(optimizer_, config_.max_gradient);

  sums.loss += mean(Losses::kLoss);
  sums.value_loss += mean(Losses::kValueLoss);
  sums.entropy += mean(Losses::kEntropy);
  sums.kl += mean(Losses::kKl);
  sums.clipped += mean(Losses::kClipped);
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

namespace {

/// Several processes share what they learn from, which each of them has played.
void require_same(const Rollout& rollout, const Processes& processes) {
  if (processes.count() == 1) return;
  const auto seen = torch::stack({rollout.reward.to(torch::kFloat64).sum(),
                                  rollout.log_probability.to(torch::kFloat64).sum()})
                        .unsqueeze(0);
  const torch::Tensor all = processes.gather(seen);
  if (!all.eq(all[0]).all().item<bool>())
    throw InputError(
        "the processes dream differently: give them processors of one kind, and equal "
        "--threads");
}

}  // namespace

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
  return clone_actions(net_, demonstrations, to_come / scale_.value(), config, seed, shares_);
}

void PpoTrainer::share(const Shares& shares) {
  shares_ = shares;
  learner_.share(shares);
}

Metrics PpoTrainer::update(LatentEnvironment& environment, double progress, uint64_t seed) {
  Rng rng(seed);
  const Rollout rollout = play(environment, policy_, false, rng.bits(), rng);
  require_same(rollout, shares_.processes);
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
