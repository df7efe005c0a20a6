#include "env/adapt/linear_posterior.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/error.h"

namespace reverie {
namespace {

double product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

LinearPosterior::LinearPosterior(std::vector<double> means, const std::vector<double>& deviations,
                                 double noise)
    : noise_(noise), mean_(std::move(means)) {
  REVERIE_CHECK(mean_.size() == deviations.size() && noise > 0);
  covariance_.assign(mean_.size(), std::vector<double>(mean_.size()));
  for (size_t i = 0; i < deviations.size(); ++i) covariance_[i][i] = deviations[i] * deviations[i];
}

void LinearPosterior::observe(const std::vector<double>& x, double y) {
  REVERIE_CHECK(x.size() == mean_.size());
  std::vector<double> towards;
  for (const auto& row : covariance_) towards.push_back(product(row, x));
  const double spread = noise_ * noise_ + product(x, towards);
  const double surprise = y - product(x, mean_);
  for (size_t i = 0; i < mean_.size(); ++i) {
    mean_[i] += towards[i] * surprise / spread;
    for (size_t j = 0; j < mean_.size(); ++j) covariance_[i][j] -= towards[i] * towards[j] / spread;
  }
}

std::vector<double> LinearPosterior::draw(Rng& rng) const {
  std::vector<double> weights = mean_;
  std::vector<double> normals;
  std::vector<std::vector<double>> factor(mean_.size());  // Cholesky: lower rows
  for (size_t i = 0; i < mean_.size(); ++i) {
    auto& row = factor[i];
    for (size_t j = 0; j < i; ++j) {
      const double rest =
          covariance_[i][j] - std::inner_product(row.begin(), row.end(), factor[j].begin(), 0.0);
      row.push_back(factor[j][j] > 0 ? rest / factor[j][j] : 0);
    }
    row.push_back(std::sqrt(std::max(0.0, covariance_[i][i] - product(row, row))));
    normals.push_back(rng.normal());
    weights[i] += product(row, normals);
  }
  return weights;
}

}  // namespace reverie
