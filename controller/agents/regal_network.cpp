#include "controller/agents/regal_network.h"

#include <algorithm>
#include <cmath>

namespace reverie {
namespace {

using torch::nn::LayerNorm;
using torch::nn::Linear;

constexpr int64_t kPair = BetaClasses::kMeans + BetaClasses::kVariances;
constexpr double kFirstHead = 0.1;  // of what was drawn: chosen
constexpr float kFirstBias = 0.3f;  // of the middle classes: chosen

torch::Tensor evened_sum(const NeighbourRows& neighbours, const torch::Tensor& rows) {
  return sum(neighbours, rows) / neighbours.count.clamp_min(1).sqrt().unsqueeze(1);
}

}  // namespace

Beta changed(const Beta& usual, const BetaClasses& classes) {
  const double odds =
      usual.alpha / usual.beta * std::exp(0.5 * (classes.mean - BetaClasses::kMiddleMean));
  const double both =
      (usual.alpha + usual.beta) * std::exp(BetaClasses::kMiddleVariance - classes.variance);
  const double mean = std::clamp(odds / (1 + odds), 0.01, 0.99);
  return {mean * both, (1 - mean) * both};
}

RegalNetworkImpl::RegalNetworkImpl(int devices, const RegalSizes& sizes)
    : devices_(devices),
      operators_(register_module("operators", torch::nn::Embedding(kOperatorNumbers, sizes.width))),
      input_(register_module("input", Linear(node_columns(devices), sizes.width))),
      head_(register_module("change", Linear(sizes.width, devices * kPair))),
      first_(register_module("first", torch::nn::ModuleList())),
      second_(register_module("second", torch::nn::ModuleList())),
      norms_(register_module("norms", torch::nn::ModuleList())) {
  for (int64_t round = 0; round < sizes.rounds; ++round) {
    first_->push_back(Linear(4 * sizes.width, sizes.width));
    second_->push_back(Linear(sizes.width, sizes.width));
    norms_->push_back(LayerNorm(torch::nn::LayerNormOptions({sizes.width})));
  }
}

void RegalNetworkImpl::begin_in_the_middle() {
  const torch::NoGradGuard guard;
  head_->weight.mul_(kFirstHead);
  auto bias = head_->bias.view({devices_, kPair});
  bias.select(1, BetaClasses::kMiddleMean).fill_(kFirstBias);
  bias.select(1, BetaClasses::kMeans + BetaClasses::kMiddleVariance).fill_(kFirstBias);
}

torch::Tensor RegalNetworkImpl::states(const NodeFeatures& features) {
  auto states = (input_(features.values) + operators_(features.operators)).relu();
  for (size_t round = 0; round < norms_->size(); ++round) {
    const auto read =
        torch::cat({states, evened_sum(features.inputs, states),
                    evened_sum(features.outputs, states), states.mean(0, true).expand_as(states)},
                   1);
    const auto hidden = first_[round]->as<Linear>()->forward(read).relu();
    states = states + second_[round]->as<Linear>()->forward(hidden);
    states = norms_[round]->as<LayerNorm>()->forward(states);
  }
  return states;
}

RegalNetworkImpl::Logits RegalNetworkImpl::forward(const NodeFeatures& features) {
  const auto pairs =
      head_(states(features).index_select(0, features.first_of_entity)).reshape({-1, kPair});
  return {pairs.slice(1, 0, BetaClasses::kMeans), pairs.slice(1, BetaClasses::kMeans)};
}

}  // namespace reverie
