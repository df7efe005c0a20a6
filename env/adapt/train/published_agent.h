#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/base/config.h"
#include "core/base/random.h"
#include "env/adapt/adapt_environment.h"
#include "env/adapt/train/published_policy.h"

namespace reverie {

inline EnumNames<PublishedKind> enum_names(PublishedKind) {
  return {{PublishedKind::kPublished, "published"}, {PublishedKind::kMended, "mended"}};
}

struct PublishedAgentConfig {
  PublishedKind kind = PublishedKind::kPublished;
  bool baseline = false;
  int episodes = 5000;
  double temperature = 1;
  uint64_t seed = 1;

  template <class V>
  void fields(V& v) {
    v.field("kind", kind, "The agent as published, or mended");
    v.field("baseline", baseline,
            "Rewards count above their moving average (0.99); published without");
    v.field("episodes", episodes, "Jobs that it learns from", at_least(1));
    v.field("temperature", temperature,
            "To explore anew with a policy from another scenario; 1: none", at_least(1));
    v.field("seed", seed, "Seed of all randomness");
  }
};

/// The agent of Lamelas (2023; published_policy.h), a baseline. At each decision it deepens a block
/// that the network began with, or goes on; the rate after a change is the highest that a source
/// has. It learns by REINFORCE: the loss of an episode is the mean over its decisions of -log p
/// times the reward 100 tan(a pi / 2), a the accuracy at the end. Adam with rate 1e-4, times 0.99
/// every 500 episodes.
///
/// It has no baseline: rewards are positive, so that every action drawn becomes more likely. A
/// temperature falls by a tenth every episode, as the code has it; mended every 500, as the text
/// says.
class PublishedAgent {
 public:
  using AfterEpisode = std::function<void(int episode, const JobState& end)>;

  /// For jobs that begin with one of these networks. InputError where a network is no chain, has no
  /// block that can be deepened, or another number of them than the first.
  PublishedAgent(const std::vector<Network>& networks, const PublishedAgentConfig& config);

  /// Learns from jobs with seeds of its own; a second call goes on with the policy of the first,
  /// and begins with optimizer, rate and temperature anew. Errors of the source's.
  void learn(const AdaptStart& start, const AfterEpisode& after = {});
  /// A job at its end, by the likeliest action at each decision.
  std::unique_ptr<TrainingJob> play(const AdaptStart& start, uint64_t seed) const;

  const PublishedPolicy& policy() const { return policy_; }

 private:
  int draw(const torch::Tensor& probabilities);

  PublishedAgentConfig config_;
  Rng rng_;
  PublishedPolicy policy_;
};

}  // namespace reverie
