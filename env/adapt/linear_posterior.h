#pragma once

#include <vector>

#include "core/base/random.h"

namespace reverie {

/// Bayesian linear regression (Bishop, "Pattern Recognition and Machine Learning", 2006, section
/// 3.3): a normal belief about the weights w of y = x w + noise, with `noise` as its deviation.
class LinearPosterior {
 public:
  /// Independent weights with these means and standard deviations.
  LinearPosterior(std::vector<double> means, const std::vector<double>& deviations, double noise);

  void observe(const std::vector<double>& x, double y);
  const std::vector<double>& mean() const { return mean_; }
  /// Weights drawn from the belief.
  std::vector<double> draw(Rng& rng) const;

 private:
  double noise_;
  std::vector<double> mean_;
  std::vector<std::vector<double>> covariance_;
};

}  // namespace reverie
