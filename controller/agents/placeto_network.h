#pragma once

#include <cstdint>

#include "core/base/random.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// Who is before whom in a graph of n groups: float [n, n], 1 where the column's group is, for the
/// row's, ...
struct PlacetoRelations {
  torch::Tensor parents, children;       ///< one that it reads of, one that reads of it
  torch::Tensor ancestors, descendants;  ///< directly or by others
  torch::Tensor apart;                   ///< neither, nor itself
};

/// Placeto's network (Addanki et al. 2019, as its authors' code has it): messages pass eight times
/// from parents and eight times from children, each time x <- g(sum of f(x) of the neighbours) +
/// t(features), with one f, g and t a direction. Logits of the current group follow from its x and
/// from the sums of x over its ancestors, its descendants and the groups apart from it. f and g are
/// two layers of 16 with ReLU (16 is chosen: their code takes the width of the embedding); both
/// directions together are x of 32, and the classifier's layers are of 64, 32 and one a device.
/// Sums over groups are divided by the number of groups (chosen: else logits grow with the graph).
class PlacetoNetwork : public torch::nn::Module {
 public:
  PlacetoNetwork(int64_t columns, int devices, Rng rng);

  /// [states, devices], of features [groups, states, columns] and the current group, int64
  /// [states], of each state.
  torch::Tensor logits(const PlacetoRelations& relations, const torch::Tensor& features,
                       const torch::Tensor& current) const;

 private:
  struct Layer {
    torch::Tensor weights, bias;
    torch::Tensor operator()(const torch::Tensor& rows) const;
  };
  struct Direction {
    Layer transform, message[2], update[2];
  };
  Layer layer(const std::string& name, int64_t inputs, int64_t outputs, Rng& rng);
  torch::Tensor pass(const Direction& direction, const torch::Tensor& neighbours,
                     const torch::Tensor& features) const;

  Direction down_, up_;
  Layer classifier_[3];
};

}  // namespace reverie
