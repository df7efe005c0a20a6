#pragma once

#include <utility>

#include "worldmodel/encoder/encoder.h"
#include "worldmodel/encoder/entity_pool.h"

namespace reverie::testing {

/// A V for the toy with entities that needs no training: a block's latent says which nodes it has,
/// which of its branches is wide and in which order its tail stands; z is a random pool.
class BlockEncoder : public Encoder {
 public:
  BlockEncoder(EnvSpec spec, int blocks) : spec_(std::move(spec)) {
    torch::NoGradGuard guard;
    torch::manual_seed(11);
    pool_ = EntityPool(kLatent, 16);
    pool_->usual.fill_(blocks);
  }

  const EnvSpec& spec() const override { return spec_; }
  int latent() const override { return kLatent; }
  torch::Tensor pool(const torch::Tensor& entities) override { return pool_(entities); }
  void to_device(torch::Device device) override { pool_->to(device); }
  torch::Device device() const override { return pool_->usual.device(); }
  void store(Checkpoint& checkpoint) const override {
    checkpoint.configs["encoder"] = "blocks";
    store_module(checkpoint, "encoder.pool", *pool_);
  }

  using Encoder::encode;
  Latents encode(const ObservationBatch& batch) override {
    torch::NoGradGuard guard;
    const GraphBatch& graph = batch.graph;
    auto blocks = torch::zeros({graph.entity_sizes.size(0), kLatent});
    auto at = blocks.accessor<float, 2>();
    int64_t previous = kInput, last_block = -1;
    for (int64_t i = 0; i < graph.node_total(); ++i) {
      const auto type = graph.node_types[i].item<int64_t>();
      const auto block = graph.node_entity[i].item<int64_t>();
      if (type == kInput || type == kOutput) continue;
      at[block][type - 1] += 0.4f;
      if (block != last_block && type == kWide) at[block][7] = 0.5f;
      if (type == kActivation && previous == kScale) at[block][8] = 0.5f;
      last_block = block;
      previous = type;
    }
    const auto entities = blocks.view({graph.graphs(), -1, kLatent});
    return {pool_(entities), entities, graph.neighbours};
  }

 private:
  static constexpr int kLatent = 9;
  static constexpr int kInput = 0, kWide = 2, kScale = 6, kActivation = 7,
                       kOutput = 8;  // node types

  EnvSpec spec_;
  EntityPool pool_{nullptr};
};

}  // namespace reverie::testing
