#pragma once

#include <torch/torch.h>

#include <optional>
#include <vector>

#include "env/placement/learn/placed_groups.h"

namespace reverie {

/// Evaluates placements, devices by group, until all are or the evaluator is spent. The reward of
/// each that was evaluated: -sqrt(JudgedGraph::ratio) (Mirhoseini et al. 2017, section 3.1: the
/// root of the run time), or -10 where memory is exceeded: the root of a run time of 100, HDP's
/// failing signal in seconds in its authors' code.
std::vector<float> root_rewards(const JudgedGraph& graph,
                                const std::vector<std::vector<int>>& placements);

/// The moving average of rewards: the first mean, and from then on 0.9 of it and 0.1 of the next
/// mean (the decay of HDP's code).
class MovingBaseline {
 public:
  /// Rewards above the average of those before; of the first, above their own mean.
  torch::Tensor advantages(const std::vector<float>& rewards);

 private:
  std::optional<float> mean_;
};

/// One step by the gradients that there are, the norm of all together clipped.
void clipped_step(torch::optim::Optimizer& optimizer, double clip);
/// One such step down a loss.
void descend(torch::optim::Optimizer& optimizer, const torch::Tensor& loss, double clip);

}  // namespace reverie
