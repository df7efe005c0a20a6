#pragma once

#include <cstdint>
#include <vector>

#include "core/base/random.h"

namespace reverie {

/// CMA-ES with a diagonal covariance (Ros and Hansen, A Simple Modification in CMA-ES Achieving
/// Linear Time and Space Complexity, PPSN 2008; constants of Hansen, The CMA Evolution Strategy: A
/// Tutorial, 2016, table 1, with the learning rates of the covariance times (n + 2) / 3).
/// Minimises; starts from a standard normal distribution times `sigma`.
class SeparableCmaEs {
 public:
  /// What changes from generation to generation; vectors have one number a dimension.
  struct State {
    std::vector<double> mean, path_sigma, path_c, variance;
    double sigma = 0;
    int64_t generation = 0;
  };

  /// `population`: at least 2; by default 4 + floor(3 ln n), at least 4.
  SeparableCmaEs(std::vector<double> mean, double sigma, size_t population = 0);

  size_t population() const { return population_; }
  /// As many points as the population has.
  const std::vector<std::vector<double>>& ask(Rng& rng);
  /// Costs of the points of the last `ask`, in their order; equal ones rank by place.
  void tell(const std::vector<double>& costs);

  const std::vector<double>& mean() const { return state_.mean; }
  double sigma() const { return state_.sigma; }
  const State& state() const { return state_; }
  /// Goes on from a state of as many dimensions.
  void set_state(State state);

 private:
  void adapt(const std::vector<double>& step, const std::vector<size_t>& order);

  size_t population_;
  std::vector<double> weights_;  ///< of the parents, best first; their sum is 1
  double parents_effective_ = 0;
  double c_sigma_ = 0, d_sigma_ = 0, c_c_ = 0, c_1_ = 0, c_mu_ = 0, expected_length_ = 0;
  State state_;
  std::vector<std::vector<double>> points_;
};

}  // namespace reverie
