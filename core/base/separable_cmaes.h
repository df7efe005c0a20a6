#pragma once

#include <cstdint>
#include <vector>

#include "core/base/random.h"

namespace reverie {

/// CMA-ES with a diagonal covariance (Ros and Hansen, A Simple Modification in CMA-ES Achieving
/// Linear Time and Space Complexity, PPSN 2008; constants of Hansen, The CMA Evolution Strategy: A
/// Tutorial, 2016, table 1, with the learning rates of the covariance times (n + 2) / 3). Minimises;
/// starts from a standard normal distribution times `sigma`.
class SeparableCmaEs {
 public:
  SeparableCmaEs(std::vector<double> mean, double sigma);

  /// 4 + floor(3 ln n), at least 4.
  size_t population() const { return population_; }
  /// As many points as the population has.
  const std::vector<std::vector<double>>& ask(Rng& rng);
  /// Costs of the points of the last `ask`, in their order; equal ones rank by place.
  void tell(const std::vector<double>& costs);

  const std::vector<double>& mean() const { return mean_; }
  double sigma() const { return sigma_; }

 private:
  void adapt(const std::vector<double>& step, const std::vector<size_t>& order);

  size_t population_;
  std::vector<double> weights_;  ///< of the parents, best first; their sum is 1
  double parents_effective_ = 0;
  double c_sigma_ = 0, d_sigma_ = 0, c_c_ = 0, c_1_ = 0, c_mu_ = 0, expected_length_ = 0;
  double sigma_;
  int64_t generation_ = 0;
  std::vector<double> mean_, path_sigma_, path_c_, variance_;
  std::vector<std::vector<double>> points_;
};

}  // namespace reverie
