#include "controller/agents/placeto_network.h"

#include <string>

#include "controller/agents/initial_weights.h"

namespace reverie {
namespace {

constexpr int64_t kPlacetoWidth = 16;  // of a direction
constexpr int kPasses = 8;

/// [rows, groups] relations of the current groups and x [groups, states, width] -> [states, width].
torch::Tensor mean_of(const torch::Tensor& relation, const torch::Tensor& current,
                      const torch::Tensor& x) {
  const auto is_one = relation.index_select(0, current).t().unsqueeze(2);
  return (x * is_one).sum(0) / static_cast<double>(x.size(0));
}

}  // namespace

torch::Tensor PlacetoNetwork::Layer::operator()(const torch::Tensor& rows) const {
  return torch::addmm(bias, rows, weights.t());
}

PlacetoNetwork::Layer PlacetoNetwork::layer(const std::string& name, int64_t inputs,
                                            int64_t outputs, Rng& rng) {
  return {register_parameter(name, glorot(outputs, inputs, rng)),
          register_parameter(name + "_bias", torch::zeros({outputs}))};
}

PlacetoNetwork::PlacetoNetwork(int64_t columns, int devices, Rng rng) {
  const auto direction = [&](const std::string& name) {
    return Direction{layer(name + "_transform", columns, kPlacetoWidth, rng),
                     {layer(name + "_message0", kPlacetoWidth, kPlacetoWidth, rng),
                      layer(name + "_message1", kPlacetoWidth, kPlacetoWidth, rng)},
                     {layer(name + "_update0", kPlacetoWidth, kPlacetoWidth, rng),
                      layer(name + "_update1", kPlacetoWidth, kPlacetoWidth, rng)}};
  };
  down_ = direction("down");
  up_ = direction("up");
  constexpr int64_t width = 2 * kPlacetoWidth;
  classifier_[0] = layer("classifier0", 4 * width, 2 * width, rng);
  classifier_[1] = layer("classifier1", 2 * width, width, rng);
  classifier_[2] = layer("classifier2", width, devices, rng);
}

torch::Tensor PlacetoNetwork::pass(const Direction& direction, const torch::Tensor& neighbours,
                                   const torch::Tensor& features) const {
  const auto own = direction.transform(features);
  const int64_t groups = neighbours.size(0);
  auto x = own;
  for (int i = 0; i < kPasses; ++i) {
    const auto messages = direction.message[1](direction.message[0](x).relu()).relu();
    const auto sums = neighbours.mm(messages.view({groups, -1})).view({-1, kPlacetoWidth});
    x = direction.update[1](direction.update[0](sums).relu()).relu() + own;
  }
  return x;
}

torch::Tensor PlacetoNetwork::logits(const PlacetoRelations& relations,
                                     const torch::Tensor& features,
                                     const torch::Tensor& current) const {
  const int64_t groups = features.size(0), states = features.size(1);
  const auto rows = features.reshape({groups * states, -1});
  const auto x =
      torch::cat({pass(down_, relations.parents, rows), pass(up_, relations.children, rows)}, 1)
          .view({groups, states, -1});
  const auto own = x.index({current, torch::arange(states)});
  auto y =
      torch::cat({own, mean_of(relations.ancestors, current, x),
                  mean_of(relations.descendants, current, x), mean_of(relations.apart, current, x)},
                 1);
  for (const Layer& each : classifier_) {
    y = each(y);
    if (&each != classifier_ + 2) y = y.relu();
  }
  return y;
}

}  // namespace reverie
