#pragma once

#include "worldmodel/network/torch.h"

namespace reverie {

/// How M speaks of the next action mask: per primary action one class, either "none" or a change of
/// the count from a fixed list, dense around 0. Copying the last mask is one class; a large change
/// is rounded to the nearest entry, and the next step can correct it.
class CountChange {
 public:
  /// Of the class that means "no valid choice".
  static constexpr int64_t kNone = 0;
  static int classes();

  /// Classes for going from `current` to `next`; int64 [*] each.
  static torch::Tensor encode(const torch::Tensor& current, const torch::Tensor& next);
  /// Classes for counts that stay as they are.
  static torch::Tensor same(const torch::Tensor& current);
  /// The next counts that classes mean: 0, or in 1 .. max_choices.
  static torch::Tensor decode(const torch::Tensor& current, const torch::Tensor& classes,
                              int max_choices);
  /// The next counts [B, A] that the likeliest classes mean, written to `next`. `logits` [B,
  /// classes A], classes outside, are used up; `preference` [A] is added to the logits of `same`.
  static void decode_likeliest(const torch::Tensor& current, torch::Tensor& logits,
                               const torch::Tensor& preference, int max_choices,
                               torch::Tensor& next);
};

}  // namespace reverie
