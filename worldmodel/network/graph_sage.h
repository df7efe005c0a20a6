#pragma once

#include "worldmodel/network/torch.h"

namespace reverie {

/// Of each row, the rows next to it in one direction.
struct NeighbourRows {
  torch::Tensor rows;        ///< int64 [edges], those of the first row first
  torch::Tensor count;       ///< int64 [nodes]
  torch::Tensor edges = {};  ///< [edges, n]: what is added to what they say; may be undefined
};

/// The largest values, 0 at least, or the sum of those next to each row: [nodes, n] -> [nodes, n].
torch::Tensor largest(const NeighbourRows& neighbours, const torch::Tensor& rows);
torch::Tensor sum(const NeighbourRows& neighbours, const torch::Tensor& rows);

/// GraphSAGE (Hamilton, Ying and Leskovec 2017, section 3.3) with max pooling, inputs and outputs
/// apart: h' = relu(W [h, max over inputs of relu(P h + edge), max over outputs of
/// relu(Q h + edge)]).
class GraphSageImpl : public torch::nn::Module {
 public:
  GraphSageImpl(int64_t width, int64_t layers);

  size_t layers() const { return mixes_->size(); }
  /// Layer i: [nodes, width] -> [nodes, width].
  torch::Tensor layer(size_t i, const torch::Tensor& states, const NeighbourRows& inputs,
                      const NeighbourRows& outputs);

 private:
  torch::nn::ModuleList pools_, mixes_;
};
TORCH_MODULE(GraphSage);

}  // namespace reverie
