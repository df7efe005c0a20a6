#pragma once

#include "worldmodel/network/torch.h"

namespace reverie {

/// Attention over a sequence in segments: each position reads its own segment and the one before,
/// whose states get no gradient (Dai et al., "Transformer-XL", 2019, section 3.2). There is no
/// positional encoding, and nothing hides later positions of the segment. A vector of the whole
/// graph first gates the states element by element (GO: Zhou et al. 2020, feature modulation).
///
///   y = norm(x * sigmoid(W graph)),  x' = x + attention(y; y and y of the segment before),
///   x'' = x' + W2 relu(W1 norm(x'))
class SegmentAttentionImpl : public torch::nn::Module {
 public:
  SegmentAttentionImpl(int64_t width, int64_t heads);

  /// [batch, positions, width] of a sequence, cut into segments of this many positions; the last
  /// may be shorter. `graph`: [width]. All segments are processed at once.
  torch::Tensor forward(const torch::Tensor& states, const torch::Tensor& graph, int64_t segment);

  /// Of sequences [batch, positions, width] without an order: each position reads those that
  /// `reads` [batch, positions, positions] says, as `before` [batch, positions, width] has them.
  /// The row of `before` gates each in place of a vector of the whole graph.
  torch::Tensor among(const torch::Tensor& states, const torch::Tensor& before,
                      const torch::Tensor& reads);

 private:
  torch::Tensor gated(const torch::Tensor& states, const torch::Tensor& graph);
  torch::Tensor by_head(const torch::Tensor& states) const;
  /// `reads` [batch, own, read]: which are read; undefined: all.
  torch::Tensor attend(const torch::Tensor& own, const torch::Tensor& read,
                       const torch::Tensor& reads = {});
  torch::Tensor finish(const torch::Tensor& states, const torch::Tensor& attended);

  int64_t heads_;
  torch::nn::Linear gate_, query_, keys_values_, output_, up_, down_;
  torch::nn::LayerNorm norm_, second_norm_;
};
TORCH_MODULE(SegmentAttention);

}  // namespace reverie
