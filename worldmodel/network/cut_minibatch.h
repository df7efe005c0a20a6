#pragma once

#include <vector>

#include "core/base/part.h"
#include "worldmodel/network/processes.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// Into how many chunks minibatches are cut, and who computes them.
struct Shares {
  int chunks = 1;
  Processes processes = {};

  /// InputError where the processes cannot have equally many chunks.
  void require_even() const;
};

/// A minibatch whose chunks several processes compute. What they come to is added in the order of
/// chunks, so that the sum is the same bytes however many processes there are.
class CutMinibatch {
 public:
  /// With fewer examples than chunks it is one chunk, which every process computes.
  CutMinibatch(const Shares& shares, int64_t examples);

  bool is_cut() const { return chunks_ > 1; }
  /// The chunks that this process computes.
  const std::vector<Part>& own() const { return own_; }
  /// Of the examples.
  double share(Part chunk) const;
  /// [chunks, columns]: the rows of all chunks, of rows of its own.
  torch::Tensor gather(const torch::Tensor& rows) const;
  /// [columns]: their sum.
  torch::Tensor sum(const torch::Tensor& rows) const;

 private:
  Processes processes_;
  int64_t examples_;
  int chunks_;
  std::vector<Part> own_;
};

/// The gradients of weights, one behind the other; 0 where there is none.
torch::Tensor flat_gradient(const std::vector<torch::Tensor>& weights);
/// The other way; weights without a gradient stay without.
void set_gradient(const std::vector<torch::Tensor>& weights, const torch::Tensor& flat);

}  // namespace reverie
