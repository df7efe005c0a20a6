#include "worldmodel/memory/outcome.h"

#include <torch/optim/adamw.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numbers>
#include <utility>

#include "core/base/error.h"
#include "core/base/random.h"
#include "env/known_dynamics.h"

namespace reverie {
namespace {

constexpr uint64_t kWeightStream = 1, kEpisodeStream = 2;

/// Steps of the training split.
struct OutcomeRows {
  torch::Tensor targets;           ///< [n, graph targets], as known dynamics compute them
  torch::Tensor reward, rewarded;  ///< [n], and 1 where it counts
  torch::Tensor change, changed;   ///< [n, L], of the learned columns, and [n] 1 where it counts
  torch::Tensor start;             ///< [n, starts], 1 at the episode's
  torch::Tensor episode;           ///< [n] int64, number among those of the split
  int64_t episodes = 0;
};

/// The graph targets of each state, read once.
class StateTargets {
 public:
  explicit StateTargets(const EpisodeSource& data) : data_(data) {}
  const std::vector<float>& of(int state) {
    const auto [place, fresh] = known_.try_emplace(state);
    if (fresh) place->second = data_.state(state).graph.graph_targets;
    return place->second;
  }

 private:
  const EpisodeSource& data_;
  std::map<int, std::vector<float>> known_;
};

class RowsMaker {
 public:
  explicit RowsMaker(const EpisodeSource& data)
      : spec_(data.spec()), places_(learned_places(spec_)), targets_(data) {}

  void add(const Episode& episode) {
    for (size_t t = 0; t < episode.steps.size(); ++t) {
      const Transition& step = episode.steps[t];
      const bool last = t + 1 == episode.steps.size();
      add_step(targets_.of(step.state),
               targets_.of(last ? episode.final_state : episode.steps[t + 1].state));
      reward_.push_back(step.reward);
      rewarded_.push_back(last || !spec_.reward_at_end ? 1.0f : 0.0f);
      changed_.push_back(step.terminated ? 0.0f : 1.0f);
      start_.push_back(episode.start_graph);
      episode_.push_back(episodes_);
    }
    ++episodes_;
  }

  OutcomeRows rows() const {
    OutcomeRows rows;
    const auto count = std::ssize(reward_);
    rows.targets = torch::tensor(next_).view({count, -1});
    rows.reward = torch::tensor(reward_);
    rows.rewarded = torch::tensor(rewarded_);
    rows.change = torch::tensor(change_).view({count, std::ssize(places_)});
    rows.changed = torch::tensor(changed_);
    rows.start = torch::one_hot(torch::tensor(start_)).to(torch::kFloat);
    rows.episode = torch::tensor(episode_);
    rows.episodes = episodes_;
    return rows;
  }

 private:
  void add_step(const std::vector<float>& before, std::vector<float> after) {
    for (const size_t place : places_) {
      change_.push_back(after[place] - before[place]);
      after[place] = before[place];
    }
    next_.insert(next_.end(), after.begin(), after.end());
  }

  const EnvSpec& spec_;
  const std::vector<size_t> places_;
  StateTargets targets_;
  std::vector<float> next_, change_, reward_, rewarded_, changed_;
  std::vector<int64_t> start_, episode_;
  int64_t episodes_ = 0;
};

OutcomeRows rows_of(const EpisodeSource& data) {
  RowsMaker maker(data);
  for (const int episode : data.episodes_in(Split::kTrain))
    maker.add(data.episodes()[static_cast<size_t>(episode)]);
  return maker.rows();
}

/// How often each member drew the episode of each row, [members, n].
torch::Tensor drawn(const OutcomeRows& rows, int64_t members, Rng rng) {
  auto counts = torch::zeros({members, rows.episodes});
  for (int64_t member = 0; member < members; ++member)
    for (int64_t draw = 0; draw < rows.episodes; ++draw)
      counts[member][static_cast<int64_t>(rng.below(static_cast<uint64_t>(rows.episodes)))] += 1;
  return counts.index_select(1, rows.episode);
}

/// Each member's mean over rows with these weights, [members].
torch::Tensor weighted_mean(const torch::Tensor& x, const torch::Tensor& weight) {
  return (x * weight).sum(1) / weight.sum(1).clamp_min(1);
}

/// [members, n]: without each member's mean over the rows of a start.
torch::Tensor within_starts(const torch::Tensor& error, const torch::Tensor& weight,
                            const torch::Tensor& start) {
  const auto mean = (error * weight).matmul(start) / weight.matmul(start).clamp_min(1e-6);
  return error - mean.matmul(start.t());
}

torch::Tensor uniform_weights(int64_t members, int64_t in, int64_t out) {
  return torch::randn({members, in, out}) / std::sqrt(static_cast<double>(in));
}

/// Of which of these values count, what the normaliser knows.
void set(const torch::Tensor& x, const torch::Tensor& counted, Normalizer& normalizer) {
  ColumnStatistics statistics(x.size(1));
  statistics.add(x, counted.unsqueeze(1).expand_as(x));
  statistics.store(*normalizer);
}

torch::optim::AdamW optimizer_of(OutcomeEnsembleImpl& outcome, double weight_decay) {
  using torch::optim::AdamWOptions;
  std::vector<torch::optim::OptimizerParamGroup> groups;
  const auto add = [&](std::vector<torch::Tensor> parameters, double decay) {
    groups.emplace_back(std::move(parameters),
                        std::make_unique<AdamWOptions>(AdamWOptions().weight_decay(decay)));
  };
  add({outcome.first, outcome.second, outcome.third}, weight_decay);
  add({outcome.first_bias, outcome.second_bias, outcome.third_bias}, 0);
  return torch::optim::AdamW(groups, AdamWOptions());
}

/// One run of training.
class OutcomeFit {
 public:
  OutcomeFit(OutcomeEnsembleImpl& outcome, const OutcomeRows& rows, Rng rng)
      : outcome_(outcome), start_(rows.start) {
    torch::NoGradGuard guard;
    const auto within =
        within_starts(rows.reward.unsqueeze(0), rows.rewarded.unsqueeze(0), start_).squeeze(0);
    set(rows.targets, torch::ones_like(rows.reward), outcome.input);
    set(rows.change, rows.changed, outcome.change);
    set(within.unsqueeze(1), rows.rewarded, outcome.reward);
    outcome.reward->mean.add_((rows.reward * rows.rewarded).sum() / rows.rewarded.sum());
    x_ = outcome.input->forward(rows.targets);
    reward_ = within / outcome.reward->deviation;
    change_ = outcome.change->forward(rows.change);
    const auto often = drawn(rows, outcome.members(), rng);
    rewarded_ = often * rows.rewarded;
    changed_ = often * rows.changed;
  }

  torch::Tensor loss() {
    const auto said = outcome_.forward(x_);
    const auto error = within_starts(said.select(-1, 0) - reward_, rewarded_, start_);
    const auto of_rewards = weighted_mean(error.square(), rewarded_).sum();
    if (outcome_.places.empty()) return of_rewards;
    const auto of_changes = (said.slice(-1, 1) - change_).square().mean(-1);
    return of_rewards + weighted_mean(of_changes, changed_).sum();
  }

  /// Within starts any level is as good: takes that of all episodes.
  void set_level() {
    torch::NoGradGuard guard;
    const auto off = weighted_mean(outcome_.forward(x_).select(-1, 0) - reward_, rewarded_);
    outcome_.third_bias.select(-1, 0).sub_(off.unsqueeze(1));
  }

 private:
  OutcomeEnsembleImpl& outcome_;
  torch::Tensor start_, x_, reward_, change_;
  torch::Tensor rewarded_, changed_;  // [members, n]: how often a row counts
};

}  // namespace

OutcomeEnsembleImpl::OutcomeEnsembleImpl(const OutcomeConfig& config, const EnvSpec& spec)
    : config(config) {
  for (const size_t place : learned_places(spec)) places.push_back(static_cast<int64_t>(place));
  const int64_t in = spec.target_count(TargetLevel::kGraph), width = config.hidden;
  const int64_t out = 1 + std::ssize(places), members = config.members;
  input = register_module("input", Normalizer(in));
  change = register_module("change", Normalizer(std::ssize(places)));
  reward = register_module("reward", Normalizer(1));
  first = register_parameter("first", uniform_weights(members, in, width));
  second = register_parameter("second", uniform_weights(members, width, width));
  third = register_parameter("third", uniform_weights(members, width, out) * 0.1);
  first_bias = register_parameter("first_bias", torch::zeros({members, 1, width}));
  second_bias = register_parameter("second_bias", torch::zeros({members, 1, width}));
  third_bias = register_parameter("third_bias", torch::zeros({members, 1, out}));
}

torch::Tensor OutcomeEnsembleImpl::forward(const torch::Tensor& x) {
  const auto all = x.unsqueeze(0).expand({members(), -1, -1});
  auto h = torch::tanh(torch::baddbmm(first_bias, all, first));
  h = torch::tanh(torch::baddbmm(second_bias, h, second));
  return torch::baddbmm(third_bias, h, third);
}

OutcomePrediction OutcomeEnsembleImpl::predict(const torch::Tensor& targets) {
  torch::NoGradGuard guard;
  const auto said = forward(input->forward(targets));
  OutcomePrediction prediction;
  prediction.reward = reward->inverse(said.select(-1, 0).unsqueeze(-1)).squeeze(-1);
  prediction.learned = torch::empty({targets.size(0), std::ssize(places)}, targets.options());
  if (places.empty()) return prediction;
  const auto before = targets.index_select(
      1, torch::tensor(places, torch::TensorOptions(torch::kInt64).device(targets.device())));
  prediction.learned = before + change->inverse(said.slice(-1, 1).mean(0));
  return prediction;
}

OutcomeEnsemble train_outcome(const EpisodeSource& data, const OutcomeConfig& config,
                              uint64_t seed) {
  const Rng rng(seed);
  OutcomeEnsemble outcome = with_torch_seed(rng.fork(kWeightStream).bits(),
                                            [&] { return OutcomeEnsemble(config, data.spec()); });
  OutcomeFit fit(*outcome, rows_of(data), rng.fork(kEpisodeStream));
  torch::optim::AdamW optimizer = optimizer_of(*outcome, config.weight_decay);
  for (int step = 0; step < config.steps; ++step) {
    const double share = 0.5 + 0.5 * std::cos(std::numbers::pi * step / config.steps);
    for (auto& group : optimizer.param_groups())
      group.options().set_lr(config.learning_rate * share);
    optimizer.zero_grad();
    fit.loss().backward();
    optimizer.step();
  }
  fit.set_level();
  return outcome;
}

}  // namespace reverie
