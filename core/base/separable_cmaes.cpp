#include "core/base/separable_cmaes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace reverie {
namespace {

size_t default_population(double n) {
  return 4 + static_cast<size_t>(3 * std::log(std::max(n, 1.0)));
}

}  // namespace

SeparableCmaEs::SeparableCmaEs(std::vector<double> mean, double sigma, size_t population)
    : population_(population > 0 ? population
                                 : default_population(static_cast<double>(mean.size()))) {
  REVERIE_CHECK(!mean.empty() && population_ >= 2);
  const std::vector<double> zeros(mean.size(), 0.0), ones(mean.size(), 1.0);
  state_ = {std::move(mean), zeros, zeros, ones, sigma, 0};
  for (size_t i = 1; i <= population_ / 2; ++i)
    weights_.push_back(std::log((static_cast<double>(population_) + 1) / 2) -
                       std::log(static_cast<double>(i)));
  const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  double squares = 0;
  for (double& weight : weights_) {
    weight /= sum;
    squares += weight * weight;
  }
  const auto n = static_cast<double>(state_.mean.size());
  const double mu = parents_effective_ = 1 / squares;
  c_sigma_ = (mu + 2) / (n + mu + 5);
  d_sigma_ = 1 + c_sigma_ + 2 * std::max(0.0, std::sqrt((mu - 1) / (n + 1)) - 1);
  c_c_ = (4 + mu / n) / (n + 4 + 2 * mu / n);
  const double faster = (n + 2) / 3;
  c_1_ = std::min(1.0, faster * 2 / ((n + 1.3) * (n + 1.3) + mu));
  c_mu_ = std::min(1 - c_1_, faster * 2 * (mu - 2 + 1 / mu) / ((n + 2) * (n + 2) + mu));
  expected_length_ = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
}

void SeparableCmaEs::set_state(State state) {
  for (const auto* numbers : {&state.mean, &state.path_sigma, &state.path_c, &state.variance})
    REVERIE_CHECK_EQ(numbers->size(), state_.mean.size());
  state_ = std::move(state);
}

const std::vector<std::vector<double>>& SeparableCmaEs::ask(Rng& rng) {
  points_.assign(population_, state_.mean);
  for (std::vector<double>& point : points_)
    for (size_t i = 0; i < point.size(); ++i)
      point[i] += state_.sigma * std::sqrt(state_.variance[i]) * rng.normal();
  return points_;
}

void SeparableCmaEs::tell(const std::vector<double>& costs) {
  REVERIE_CHECK_EQ(costs.size(), points_.size());
  std::vector<size_t> order(costs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return costs[a] < costs[b]; });
  std::vector<double> step(state_.mean.size(), 0.0);
  for (size_t parent = 0; parent < weights_.size(); ++parent)
    for (size_t i = 0; i < step.size(); ++i)
      step[i] += weights_[parent] * (points_[order[parent]][i] - state_.mean[i]) / state_.sigma;
  adapt(step, order);
}

void SeparableCmaEs::adapt(const std::vector<double>& step, const std::vector<size_t>& order) {
  auto& [mean, path_sigma, path_c, variance, sigma, generation] = state_;
  ++generation;
  const auto n = static_cast<double>(mean.size());
  double squares = 0;
  for (size_t i = 0; i < step.size(); ++i) {
    path_sigma[i] =
        (1 - c_sigma_) * path_sigma[i] + std::sqrt(c_sigma_ * (2 - c_sigma_) * parents_effective_) *
                                             step[i] / std::sqrt(variance[i]);
    squares += path_sigma[i] * path_sigma[i];
  }
  const double length = std::sqrt(squares);
  const double decayed =
      std::sqrt(1 - std::pow(1 - c_sigma_, 2.0 * static_cast<double>(generation)));
  const bool long_path = length / decayed >= (1.4 + 2 / (n + 1)) * expected_length_;
  const double h_sigma = long_path ? 0 : 1;
  const double keep = 1 - c_1_ - c_mu_ + (1 - h_sigma) * c_1_ * c_c_ * (2 - c_c_);
  for (size_t i = 0; i < step.size(); ++i) {
    path_c[i] = (1 - c_c_) * path_c[i] +
                h_sigma * std::sqrt(c_c_ * (2 - c_c_) * parents_effective_) * step[i];
    double rank_mu = 0;
    for (size_t parent = 0; parent < weights_.size(); ++parent) {
      const double y = (points_[order[parent]][i] - mean[i]) / sigma;
      rank_mu += weights_[parent] * y * y;
    }
    variance[i] =
        std::max(keep * variance[i] + c_1_ * path_c[i] * path_c[i] + c_mu_ * rank_mu, 1e-30);
  }
  for (size_t i = 0; i < step.size(); ++i) mean[i] += sigma * step[i];
  sigma *= std::exp(std::min(1.0, c_sigma_ / d_sigma_ * (length / expected_length_ - 1)));
}

}  // namespace reverie
