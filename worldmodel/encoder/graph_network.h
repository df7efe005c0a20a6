#pragma once

#include <vector>

#include "worldmodel/batch/graph_batch.h"
#include "worldmodel/network/modules.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// Attributes of a graph inside a network, all `width` columns.
struct GraphHidden {
  torch::Tensor nodes;  ///< [N, width]
  torch::Tensor edges;  ///< [E, width]
};

/// A graph network block (Battaglia et al. 2018, algorithm 1) without a global part, so that what a
/// node learns comes from nodes that edges join to it: edge and node update, each an MLP with a
/// residual connection and layer normalisation. Nodes receive the mean of their incoming and, apart
/// from it, of their outgoing edges. The first layer of an update on a concatenation is computed as
/// a sum of one product per part, so that node parts are multiplied before they are gathered.
struct GnBlockImpl : torch::nn::Module {
  explicit GnBlockImpl(int width);
  GraphHidden forward(const GraphHidden& in, const GraphBatch& graph);

 private:
  torch::Tensor update_edges(const GraphHidden& in, const GraphBatch& graph);
  torch::Tensor update_nodes(const GraphHidden& in, const torch::Tensor& edges,
                             const GraphBatch& graph);

  torch::nn::Linear edge_self{nullptr}, edge_sender{nullptr}, edge_receiver{nullptr},
      edge_out{nullptr};
  torch::nn::Linear node_self{nullptr}, node_in{nullptr}, node_back{nullptr}, node_out{nullptr};
  torch::nn::LayerNorm edge_norm{nullptr}, node_norm{nullptr};
};
TORCH_MODULE(GnBlock);

/// Mean of rows of `values` by `index` into `count` rows; 0 for a row that gets none.
torch::Tensor segment_mean(const torch::Tensor& values, const torch::Tensor& index, int64_t count);
/// Sum of rows of `values` by `index` into `count` rows.
torch::Tensor segment_sum(const torch::Tensor& values, const torch::Tensor& index, int64_t count);

}  // namespace reverie
