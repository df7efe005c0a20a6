#pragma once

#include "worldmodel/torch.h"

namespace reverie {

/// A distribution of a number over bins whose centres lie exponentially: symexp of equal steps, 0 the
/// middle one. A number is told as the weights of the two bins around it, so that the expectation can
/// be any number between the bins, and the size of the gradient doesn't depend on that of the number
/// (Hafner et al. 2023, the symexp two-hot loss).
class TwoHot {
 public:
  /// `bins` is odd; the outermost centres are -limit and limit.
  TwoHot(int bins, double limit);

  int64_t bins() const { return centres_.size(0); }
  /// Cross-entropy of x [*], clamped to the limits, under logits [*, bins]; [*].
  torch::Tensor loss(const torch::Tensor& logits, const torch::Tensor& x) const;
  /// Expectation, [*].
  torch::Tensor mean(const torch::Tensor& logits) const;
  /// The centre of a bin drawn at temperature tau (logits / tau), [*]. At tau = 0 the expectation over
  /// the likeliest bin and its two neighbours.
  torch::Tensor sample(const torch::Tensor& logits, double temperature,
                       torch::Generator noise) const;

 private:
  torch::Tensor centres_;  // [bins], ascending
};

}  // namespace reverie
