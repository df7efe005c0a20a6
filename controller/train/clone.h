#pragma once

#include "controller/policy/actor_critic.h"
#include "core/base/config.h"
#include "core/base/metrics.h"
#include "worldmodel/memory/starts.h"
#include "worldmodel/network/cut_minibatch.h"

namespace reverie {

struct CloneConfig {
  double share = 0.1;
  int64_t epochs = 8;
  int64_t minibatch = 256;
  double learning_rate = 1e-3;

  template <class V>
  void fields(V& v) {
    v.field("share", share,
            "Share of the training episodes, the best of each start graph, that a "
            "policy imitates before it dreams; 0: it starts at random",
            between(0, 1));
    v.field("epochs", epochs, "Passes over their steps", at_least(1));
    v.field("minibatch", minibatch, "Steps in a minibatch", at_least(1));
    v.field("learning_rate", learning_rate, "Step size of Adam", above(0));
  }
};

/// Steps of real episodes, N of them.
struct Demonstrations {
  LatentObservation observation;  ///< [N, ...]
  LatentActions actions;          ///< [N]
  torch::Tensor reward;           ///< [N], of that step
  torch::Tensor episode;          ///< [N] int64; an episode's steps lie together and in order
  torch::Tensor good;             ///< [N] bool: to imitate
  int64_t size() const { return actions.primary.size(0); }
  /// [N], sums of the rewards from each step to the end of its episode, discounted by `gamma`.
  torch::Tensor to_come(double gamma) const;
};

/// The steps of the training split. Good ones are those of the best episodes up to where the sum of
/// the rewards is highest, by which they are ranked; of each start graph the best `share`, one at
/// least. None are good where no episode gained.
Demonstrations demonstrations(const LatentEpisodes& data, WorldModel& world, double share);

/// Behaviour cloning of the good steps (filtered as in Chen et al. 2021, section 5.1), and
/// regression of the critic to `worth` [N] on all of them. Returns the mean log-likelihood of the
/// good actions (0 where there are none) and the critic's squared error, over the last pass.
/// InputError where the loss is not finite.
Metrics clone_actions(ActorCritic& net, const Demonstrations& demonstrations,
                      const torch::Tensor& worth, const CloneConfig& config, uint64_t seed,
                      const Shares& shares = {});

}  // namespace reverie
