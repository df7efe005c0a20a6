#include "env/adapt/train/published_agent.h"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "env/adapt/features.h"
#include "env/adapt/train/adam.h"

namespace reverie {
namespace {

constexpr double kRate = 1e-4, kDecay = 0.99;
constexpr int kDecayEvery = 500;
constexpr double kCooling = 0.9;
constexpr double kKept = 0.99;  // of the moving average
constexpr double kSmallest =
    std::numeric_limits<float>::epsilon();  // probability that has a logarithm

/// Of the blocks that can be deepened.
std::vector<int> origins_of(const Network& network) {
  std::vector<int> origins;
  for (int origin = 0; origin < network.origins(); ++origin)
    if (adapt::allows(network, {ChangeKind::kDeepen, network.block_of(origin)}))
      origins.push_back(origin);
  return origins;
}

/// Action k deepens the k-th block that can be, the last goes on.
std::optional<ChangeAtRate> decision_of(const JobState& state, int action,
                                        const JobSource& source) {
  const std::vector<int> origins = origins_of(state.network);
  if (action == static_cast<int>(origins.size())) return std::nullopt;
  return ChangeAtRate{ChangeKind::kDeepen, origins[static_cast<size_t>(action)],
                      source.rates().back()};
}

int actions_of(const std::vector<Network>& networks) {
  REVERIE_CHECK(!networks.empty());
  const size_t blocks = origins_of(networks.front()).size();
  for (const Network& network : networks) {
    if (origins_of(network).empty())
      throw InputError(
          "the network has no block that can be deepened; the published agent does nothing else");
    if (origins_of(network).size() != blocks)
      throw InputError(
          "the networks have {} and {} blocks that can be deepened; the published agent takes "
          "networks "
          "with the same number",
          blocks, origins_of(network).size());
  }
  return static_cast<int>(blocks) + 1;
}

/// Mean over the decisions of -log p times the advantage.
torch::Tensor loss_of(const std::vector<torch::Tensor>& taken, double advantage) {
  return torch::stack(taken).clamp(kSmallest, 1 - kSmallest).log().mean() * -advantage;
}

int likeliest(const PublishedPolicy& policy, const JobState& state) {
  const torch::NoGradGuard guard;
  return static_cast<int>(
      policy.probabilities(state.network, 1 - state.spent, 1).argmax().item<int64_t>());
}

/// What a reward counts.
class Advantage {
 public:
  explicit Advantage(bool baseline) : baseline_(baseline) {}

  double of(double reward) {
    if (!baseline_) return reward;
    if (std::isnan(mean_)) mean_ = reward;
    const double advantage = reward - mean_;
    mean_ = kKept * mean_ + (1 - kKept) * reward;
    return advantage;
  }

 private:
  bool baseline_;
  double mean_ = std::nan("");
};

}  // namespace

PublishedAgent::PublishedAgent(const std::vector<Network>& networks,
                               const PublishedAgentConfig& config)
    : config_(config),
      rng_(Rng(config.seed).fork(1)),
      policy_(config.kind, LayerVocabulary(config.kind, networks), actions_of(networks),
              Rng(config.seed).fork(0)) {}

int PublishedAgent::draw(const torch::Tensor& probabilities) {
  const float* const p = probabilities.data_ptr<float>();
  const auto last = static_cast<int>(probabilities.numel()) - 1;
  double left = rng_.uniform();
  for (int action = 0; action < last; ++action)
    if ((left -= p[action]) < 0) return action;
  return last;
}

void PublishedAgent::learn(const AdaptStart& start, const AfterEpisode& after) {
  const std::vector<torch::Tensor>& parameters = policy_.parameters();
  const int cool_every = config_.kind == PublishedKind::kMended ? kDecayEvery : 1;
  Adam adam(parameters, kRate);
  Advantage advantage(config_.baseline);
  double temperature = config_.temperature;
  for (int episode = 1; episode <= config_.episodes; ++episode) {
    const auto job = start.source->start(rng_.bits());
    std::vector<torch::Tensor> taken;
    while (!job->state().over) {
      const JobState& state = job->state();
      const auto probabilities = policy_.probabilities(state.network, 1 - state.spent, temperature);
      const int action = draw(probabilities);
      taken.push_back(probabilities[action]);
      job->decide(decision_of(state, action, *start.source));
    }
    const double reward = published_reward(mean_accuracy(job->state().curve, start.final_epochs));
    adam.step(parameters,
              torch::autograd::grad({loss_of(taken, advantage.of(reward))}, parameters));
    if (episode % kDecayEvery == 0) adam.rate *= kDecay;
    if (episode % cool_every == 0) temperature = std::max(1.0, temperature * kCooling);
    if (after) after(episode, job->state());
  }
}

std::unique_ptr<TrainingJob> PublishedAgent::play(const AdaptStart& start, uint64_t seed) const {
  auto job = start.source->start(seed);
  while (!job->state().over)
    job->decide(decision_of(job->state(), likeliest(policy_, job->state()), *start.source));
  return job;
}

}  // namespace reverie
