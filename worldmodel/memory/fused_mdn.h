#pragma once

#include <utility>
#include <vector>

#include "worldmodel/memory/mdn_rnn.h"
#include "worldmodel/memory/recurrence.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// What the heads say of n rows, without gradients; valid until the next call of the object.
struct FusedOutput {
  torch::Tensor change;  ///< [n, columns of the mixture]
  torch::Tensor reward;  ///< [n]
  torch::Tensor end;     ///< [n], logit
  torch::Tensor counts;  ///< [n, K] int64, the likeliest next counts of the actions seen; new
};

/// One step of an MdnRnn for acting: the same numbers (within rounding) as embed, input_gates, cell
/// and heads, from weights laid out for it, in memory that is kept, rows in blocks that stay in
/// cache. Blocks are of one size, so that results do not depend on the number of threads. Follows
/// the network when that is trained or moved.
class FusedMdn {
 public:
  explicit FusedMdn(MdnRnn network);

  /// Takes the recurrent states of n rows further, which are at these places [n] int64, each once,
  /// and are written there.
  void advance(const MdnInput& in, const torch::Tensor& place, RecurrentStates states) {
    refresh();
    run(in, place, states, nullptr);
  }
  /// The same, and what the heads say.
  FusedOutput step(const MdnInput& in, const torch::Tensor& place, RecurrentStates states);

 private:
  struct NextCounts;
  void refresh();
  void reserve(int64_t rows);
  void run(const MdnInput& in, const torch::Tensor& place, RecurrentStates& states,
           NextCounts* counts);
  void fill_input_on_cpu(const MdnInput& in, int64_t begin, int64_t rows);
  void fill_input(const MdnInput& in, int64_t begin, int64_t rows);
  void recur(const torch::Tensor& place, RecurrentStates& states, int64_t begin);
  void speak(NextCounts& counts, int64_t begin, int64_t rows);

  MdnRnn network_;
  std::vector<torch::Tensor> sources_;
  std::vector<std::pair<const void*, uint32_t>> seen_;  // of each source when it was laid out

  torch::Tensor mean_, deviation_;  // of latent and counts together
  torch::Tensor logs_;              // log1p of 0 .. max_choices
  torch::Tensor gates_;             // [2 hidden, 4 hidden]: from the input, from h
  torch::Tensor actions_,
      preference_;  // [K]: those seen, and how much M prefers their counts as they are
  torch::Tensor head_, head_bias_;  // counts by class first: [hidden, columns for these actions]

  // Room for n rows at least.
  torch::Tensor input_;    // [n, columns of the network's input]
  torch::Tensor hidden_;   // [n, 3 hidden]: next h, embedded input, h
  torch::Tensor open_;     // [n, 4 hidden], gates
  torch::Tensor cell_;     // [n, hidden]
  torch::Tensor trunk_;    // [n, hidden]
  torch::Tensor columns_;  // [n, columns of the head]
};

}  // namespace reverie
