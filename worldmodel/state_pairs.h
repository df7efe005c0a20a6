#pragma once

#include <array>
#include <vector>

#include "worldmodel/episode_source.h"
#include "worldmodel/latent.h"
#include "worldmodel/torch.h"

namespace reverie {

/// Steps from one state of a minibatch to another. T steps; int64 [T] each.
struct StatePairs {
  torch::Tensor from, to;  ///< rows of the minibatch's states
  LatentActions actions;

  int64_t size() const { return from.defined() ? from.size(0) : 0; }
  std::array<torch::Tensor*, 4> tensors() {
    return {&from, &to, &actions.primary, &actions.secondary};
  }
};

/// A step between two states of a data set.
struct StateStep {
  int from = 0;
  int to = 0;
  Action action;
};

/// Steps of the split's episodes that lead to another state, in order.
std::vector<StateStep> steps_in(const EpisodeSource& data, Split split);

/// Distinct states, and steps between them; without steps, states alone.
struct StateMinibatch {
  std::vector<int> states;
  std::vector<StateStep> steps;

  /// `data`: that the states belong to. On the CPU; undefined tensors where there are no steps.
  StatePairs pairs(const EpisodeSource& data) const;
};

/// Splits steps into minibatches, in order, whose distinct states are at most `max_graphs` (at least
/// two) and have at most `max_nodes` nodes; a step with larger graphs stands alone.
std::vector<StateMinibatch> pack_steps(const EpisodeSource& data,
                                       const std::vector<StateStep>& steps, int max_nodes,
                                       int max_graphs);

}  // namespace reverie
