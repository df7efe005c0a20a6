#pragma once

#include <memory>

#include "core/base/config.h"
#include "worldmodel/torch.h"

namespace reverie {

enum class ChangeHeadKind { kMixture, kResidual, kCategorical };
enum class RewardHeadKind { kRegression, kTwoHot };

inline EnumNames<ChangeHeadKind> enum_names(ChangeHeadKind) {
  return {{ChangeHeadKind::kMixture, "mixture"},
          {ChangeHeadKind::kResidual, "residual"},
          {ChangeHeadKind::kCategorical, "categorical"}};
}

inline EnumNames<RewardHeadKind> enum_names(RewardHeadKind) {
  return {{RewardHeadKind::kRegression, "regression"}, {RewardHeadKind::kTwoHot, "two_hot"}};
}

/// How columns of a network's output speak of the change of a latent, D dimensions, normalised.
class ChangeHead {
 public:
  virtual ~ChangeHead() = default;
  virtual int64_t columns() const = 0;
  /// What a change [*, D] costs under columns [*, columns], per dimension: [*].
  virtual torch::Tensor loss(const torch::Tensor& columns, const torch::Tensor& change) const = 0;
  /// Expectation, [*, D].
  virtual torch::Tensor mean(const torch::Tensor& columns) const = 0;
  /// A sample at a temperature, [B, D] of [B, columns]; at 0 the likeliest.
  virtual torch::Tensor sample(const torch::Tensor& columns, double temperature,
                               torch::Generator noise) const = 0;
};

/// mixture: `mixtures` Gaussians, by their likelihood; their log sigma stays at least `min_log_sigma`,
/// as the gradients of sharp ones on changes that are certain drown those of other heads. residual: one prediction by the Huber loss,
/// without noise at any temperature. categorical: each dimension on its own over 31 bins (as Janner
/// et al. 2021 discretise states, section 3, but two-hot, and all at once rather than one after the
/// other, so that dimensions are independent of each other given h).
std::unique_ptr<ChangeHead> make_change_head(ChangeHeadKind kind, int mixtures, int dimensions,
                                             double min_log_sigma);

/// How columns of a network's output speak of the reward, in units of the rewards' deviation.
class RewardHead {
 public:
  virtual ~RewardHead() = default;
  virtual int64_t columns() const = 0;
  /// What a reward [*] costs under columns [*, columns]: [*].
  virtual torch::Tensor loss(const torch::Tensor& columns, const torch::Tensor& reward) const = 0;
  /// Expectation, [*].
  virtual torch::Tensor mean(const torch::Tensor& columns) const = 0;
};

/// regression: one number by its square error. two_hot: 63 bins up to 100 deviations.
std::unique_ptr<RewardHead> make_reward_head(RewardHeadKind kind);

}  // namespace reverie
