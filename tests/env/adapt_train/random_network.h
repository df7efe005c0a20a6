#pragma once

#include <string>
#include <utility>
#include <vector>

#include "env/adapt/train/module.h"

namespace reverie::testing {

/// A convolutional network with pools, residual additions over one or two blocks, with and without
/// batch normalisation, and one to three linear blocks behind a global pool or flattened.
class RandomNetwork {
 public:
  explicit RandomNetwork(Rng& rng) : rng_(rng) {
    network_.image = {1 + pick(3), 9, 8};
    conv(2 + pick(4));
    for (int stage = 0; stage < 3; ++stage) grow();
    if (pick(2) == 0)
      add({.name = "mean",
           .kind = BlockKind::kGlobalPool,
           .width = width(),
           .kernel = 1,
           .batch_norm = false,
           .relu = false});
    for (int i = pick(3); i > 0; --i) linear(3 + pick(5), true);
    linear(4, pick(3) == 0);
  }
  Network take() { return std::move(network_); }

 private:
  int pick(int n) { return static_cast<int>(rng_.below(static_cast<uint64_t>(n))); }
  int last() const { return static_cast<int>(network_.blocks.size()) - 1; }
  int width() const { return network_.blocks.back().width; }
  void add(Block block) {
    block.from = last();
    block.origin = last() + 1;
    block.name += std::to_string(block.origin);
    network_.blocks.push_back(std::move(block));
  }
  void conv(int width, int added = -1) {
    const int kernel = 1 + 2 * pick(2);
    add({.name = "conv",
         .width = width,
         .kernel = kernel,
         .padding = kernel / 2,
         .batch_norm = pick(4) > 0,
         .relu = pick(5) > 0,
         .add = added});
  }
  void linear(int width, bool relu) {
    add({.name = "linear",
         .kind = BlockKind::kLinear,
         .width = width,
         .kernel = 1,
         .batch_norm = false,
         .relu = relu});
  }
  void grow() {
    const int before = last();
    switch (pick(4)) {
      case 0:
        conv(2 + pick(4));
        break;
      case 1:
        conv(width(), before);
        break;
      case 2:
        conv(2 + pick(4));
        conv(network_.blocks[static_cast<size_t>(before)].width, before);
        break;
      default:
        add({.name = "pool",
             .kind = pick(2) == 0 ? BlockKind::kMaxPool : BlockKind::kAveragePool,
             .width = width(),
             .kernel = 2,
             .stride = 2,
             .batch_norm = false,
             .relu = false});
        if (network_.shapes().back().height < 2) network_.blocks.pop_back();
    }
  }

  Rng& rng_;
  Network network_;
};

inline torch::Tensor images_for(const Network& network, int count) {
  return torch::randn({count, network.image.channels, network.image.height, network.image.width});
}

/// With statistics, scales and shifts that are not those of the beginning.
inline WeightedNetwork worn(const Network& network, Rng& rng) {
  WeightedNetwork weights(network, rng);
  const torch::NoGradGuard guard;
  weights.each([](const std::string& name, torch::Tensor& tensor) {
    if (name.ends_with(".scale") || name.ends_with(".shift"))
      tensor.add_(torch::randn_like(tensor), 0.5);
  });
  for (int i = 0; i < 5; ++i) weights.forward(images_for(network, 16) * 2 + 0.5, Pass::kTrain);
  return weights;
}

inline std::vector<adapt::Change> allowed_changes(const Network& network) {
  std::vector<adapt::Change> all;
  for (int block = 0; block < std::ssize(network.blocks); ++block)
    for (const ChangeKind kind : {ChangeKind::kDeepen, ChangeKind::kWiden})
      if (adapt::allows(network, {kind, block})) all.push_back({kind, block});
  return all;
}

}  // namespace reverie::testing
