#pragma once

#include <vector>

#include "controller/agents/placed_groups.h"
#include "controller/train/moving_baseline.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// Evaluates placements, devices by group, until all are or the evaluator is spent. The reward of
/// each that was evaluated: -sqrt(JudgedGraph::ratio) (Mirhoseini et al. 2017, section 3.1: the
/// root of the run time), or -10 where memory is exceeded: the root of a run time of 100, HDP's
/// failing signal in seconds in its authors' code.
std::vector<float> root_rewards(const JudgedGraph& graph,
                                const std::vector<std::vector<int>>& placements);

/// What these rewards of a graph are above the mean of those before, which they move: the first
/// mean, and from then on 0.9 of it and 0.1 of the next mean (the decay of HDP's code).
class MeanReward {
 public:
  torch::Tensor advantages(const std::vector<float>& rewards);

 private:
  MovingBaseline mean_{1, 0.9f};
};

/// Rewards less their mean, over their standard deviation: [rewards]; undefined where they are all
/// equal.
torch::Tensor standardised(const std::vector<float>& rewards);

}  // namespace reverie
