#pragma once

#include <utility>
#include <vector>

#include "worldmodel/mdn_rnn.h"
#include "worldmodel/torch.h"

namespace reverie {

/// What the heads say of B states, without gradients; valid until the next call of the object.
struct FusedOutput {
  Mixture change;
  torch::Tensor reward;  ///< [B], in units of the training rewards' deviation
  torch::Tensor end;     ///< [B], logit
  torch::Tensor counts;  ///< [B, A] int64, the likeliest next mask; new
};

/// One step of an MdnRnn for acting: the same numbers (within rounding) as embed, input_gates, cell
/// and heads, from weights laid out for it, in memory that is kept, rows in blocks that stay in
/// cache. Blocks are of one size, so that results do not depend on the number of threads. Follows
/// the network when that is trained or moved.
class FusedMdn {
 public:
  explicit FusedMdn(MdnRnn network);

  /// Takes the recurrent state over B actions; the tensors in `state` are replaced, not written.
  void advance(LatentState& state, const torch::Tensor& counts, const LatentActions& actions);
  /// The same, and what the heads say.
  FusedOutput step(LatentState& state, const torch::Tensor& counts, const LatentActions& actions);

 private:
  struct Inputs;
  Inputs inputs(const LatentState& state, const torch::Tensor& counts,
                const LatentActions& actions);
  void refresh();
  void reserve(int64_t rows);
  void run(LatentState& state, const Inputs& inputs, torch::Tensor* next_counts);
  void fill_input(const Inputs& inputs, int64_t begin, int64_t rows);
  void recur(const LatentState& before, LatentState& after, int64_t begin, int64_t rows);
  void speak(const Inputs& inputs, torch::Tensor& next_counts, int64_t begin, int64_t rows);

  MdnRnn network_;
  std::vector<torch::Tensor> sources_;
  std::vector<std::pair<const void*, uint32_t>> seen_;  // of each source when it was laid out

  torch::Tensor mean_, deviation_;  // of latent and counts together
  torch::Tensor gates_;             // [2 hidden, 4 hidden]: from the input, from h
  torch::Tensor head_, head_bias_;  // counts by class first: [hidden, mixture + 2 + classes A]

  torch::Tensor input_;    // [B, columns of the network's input]
  torch::Tensor hidden_;   // [B, 3 hidden]: next h, embedded input, h
  torch::Tensor open_;     // [B, 4 hidden], gates
  torch::Tensor trunk_;    // [B, hidden]
  torch::Tensor columns_;  // [B, columns of the head]
};

}  // namespace reverie
