#pragma once

#include "worldmodel/network/torch.h"

namespace reverie {

/// A mixture of K Gaussians with diagonal covariance over D dimensions (Bishop 1994, equations 22
/// to 26), for any leading dimensions.
struct Mixture {
  torch::Tensor logits;     ///< [*, K]
  torch::Tensor means;      ///< [*, K, D]
  torch::Tensor log_sigma;  ///< [*, K, D]

  static int64_t columns(int mixtures, int dimensions) { return mixtures * (1 + 2L * dimensions); }
  /// From as many columns. log_sigma is kept within `min_log_sigma` and 3.
  static Mixture from_columns(const torch::Tensor& columns, int mixtures, int dimensions,
                              double min_log_sigma);

  /// -log density of x [*, D], one value a row.
  torch::Tensor negative_log_likelihood(const torch::Tensor& x) const;
  /// Expectation, [*, D].
  torch::Tensor mean() const;
  /// A sample at temperature tau: logits / tau, sigma * sqrt(tau) (Ha and Schmidhuber 2018). At
  /// tau = 0 the mean of the likeliest component. Leading dimensions must be one, B.
  torch::Tensor sample(double temperature, torch::Generator noise) const;
  /// The same of from_columns, within rounding, without gradients and without making what isn't
  /// drawn.
  static torch::Tensor sample_columns(const torch::Tensor& columns, int mixtures, int dimensions,
                                      double min_log_sigma, double temperature,
                                      torch::Generator noise);
};

}  // namespace reverie
