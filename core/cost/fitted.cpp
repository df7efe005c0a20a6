#include "core/cost/fitted.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/SparseCore>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/base/statistics.h"
#include "core/base/words.h"
#include "core/cost/weighted_costs.h"

namespace reverie {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using SparseMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;

constexpr std::array kDeviations = {0.03, 0.1, 0.3, 0.6, 1.0};
constexpr std::array kMismatches = {0.001, 0.003, 0.01, 0.03, 0.1};
constexpr double kUsualDeviation = 0.3;
constexpr double kUsualMismatch = 0.01;
constexpr double kShareOfALaunch = 0.1;

/// Numbers the features in the order in which they come.
class FeatureIndex {
 public:
  int of(const std::string& name) {
    return index_.try_emplace(name, static_cast<int>(index_.size())).first->second;
  }
  /// -1 where it never came.
  int find(const std::string& name) const {
    const auto at = index_.find(name);
    return at == index_.end() ? -1 : at->second;
  }
  int size() const { return static_cast<int>(index_.size()); }
  const std::unordered_map<std::string, int>& all() const { return index_; }

 private:
  std::unordered_map<std::string, int> index_;
};

/// What K is for one choice of r and m, factorized.
struct Solved {
  double deviation = 0;
  double mismatch = 0;
  double log_posterior = 0;  ///< of r and m, up to a constant
  VectorXd noise;            ///< standard deviations
  Eigen::LLT<MatrixXd> covariance;
  VectorXd alpha;  ///< K^-1 (y - mean)
};

double log_prior(double deviation, double mismatch) {
  return -0.5 * (std::pow(std::log(deviation / kUsualDeviation), 2) +
                 std::pow(std::log(mismatch / kUsualMismatch), 2));
}

double draw(uint64_t seed, const std::string& name) {
  return Rng(hash_combine(seed, hash_string(name))).normal();
}

class FittedToGraphs : public FittedCost, public std::enable_shared_from_this<FittedToGraphs> {
 public:
  FittedToGraphs(std::shared_ptr<CostModel> prior, std::span<const TimedGraph> measured)
      : prior_(std::move(prior)), n_(static_cast<Eigen::Index>(measured.size())) {
    read_times(measured);
    read_features(measured);
    solve();
    mean_ = std::make_shared<WeightedCosts>(
        fmt::format("{} fitted to {}", prior_->name(), counted(n_, "measurement")), prior_, scale(),
        small_, mean_weights(), [](const std::string&) { return 0.0; });
  }

  double deviation() const override { return solved_.deviation; }
  double mismatch() const override { return solved_.mismatch; }
  double scale() const override { return scale_of(mean_scale_, solved_.alpha); }
  std::string name() const override { return mean_->name(); }
  bool deterministic() const override { return mean_->deterministic(); }
  Cost cost(const OpSignature& signature) override { return mean_->cost(signature); }
  Counters counters() const override { return mean_->counters(); }

  std::shared_ptr<CostModel> sample(uint64_t seed) const override {
    const double scale = mean_scale_ * (1 + draw(seed, "scale"));
    VectorXd prior_weights(index_.size());
    for (const auto& [name, i] : index_.all()) prior_weights[i] = draw_prior(seed, name);
    VectorXd noise(n_);
    Rng rng(seed);
    for (Eigen::Index i = 0; i < n_; ++i) noise[i] = rng.normal() * solved_.noise[i];
    const VectorXd drawn = scale * sums_ + features_ * prior_weights + noise;
    const VectorXd alpha = n_ > 0 ? VectorXd(solved_.covariance.solve(times_ - drawn)) : VectorXd();
    return std::make_shared<WeightedCosts>(
        fmt::format("sample of {}", name()), prior_, scale_of(scale, alpha), small_,
        weights(prior_weights, alpha), [self = shared_from_this(), seed](const std::string& name) {
          return self->draw_prior(seed, name);
        });
  }

  CostFit fit() const override {
    CostFit fit;
    fit.prior = prior_->name();
    fit.seconds.assign(times_.begin(), times_.end());
    fit.deviations.assign(deviations_.begin(), deviations_.end());
    fit.scale = scale();
    fit.small = small_;
    fit.deviation = deviation();
    fit.mismatch = mismatch();
    fit.signatures = seen_;
    for (const auto& [name, weight] : mean_weights()) fit.weights[name] = weight;
    return fit;
  }

  Prediction predict(std::span<const SignatureCount> counts) const override {
    std::unordered_map<std::string, double> row;
    double sum = 0;
    for (const auto& [signature, count] : counts) {
      const Cost cost = prior_->cost(signature);
      sum += static_cast<double>(count) * cost.runtime.seconds();
      for (const auto& [name, value] : features(signature, signature.text(), cost))
        row[name] += static_cast<double>(count) * value;
    }
    double square = 0;
    VectorXd known = VectorXd::Zero(index_.size());
    for (const auto& [name, value] : row) {
      square += value * value;
      if (const int i = index_.find(name); i >= 0) known[i] = value;
    }
    const double v_scale = mean_scale_ * mean_scale_;
    double variance = v_scale * sum * sum + feature_variance() * square;
    if (n_ == 0) return {mean_scale_ * sum, std::sqrt(variance)};
    const VectorXd k = v_scale * sum * sums_ + feature_variance() * (features_ * known);
    variance -= k.dot(solved_.covariance.solve(k));
    return {mean_scale_ * sum + k.dot(solved_.alpha), std::sqrt(std::max(variance, 0.0))};
  }

 private:
  /// A priori, of a feature's weight.
  double draw_prior(uint64_t seed, const std::string& name) const {
    return solved_.deviation * mean_scale_ * draw(seed, name);
  }

  /// Of the features by name; those that no graph had are not among them.
  FeatureWeights mean_weights() const {
    return weights(VectorXd::Zero(index_.size()), solved_.alpha);
  }

  double feature_variance() const {
    const double deviation = solved_.deviation * mean_scale_;
    return deviation * deviation;
  }

  double scale_of(double before, const VectorXd& alpha) const {
    return n_ > 0 ? before + mean_scale_ * mean_scale_ * sums_.dot(alpha) : before;
  }

  std::vector<CostFeature> features(const OpSignature& signature, const std::string& text,
                                    const Cost& cost) const {
    return features_of(signature.op->name, text, cost, small_);
  }

  FeatureWeights weights(const VectorXd& before, const VectorXd& alpha) const {
    VectorXd after = before;
    if (n_ > 0) after += feature_variance() * (features_.transpose() * alpha);
    FeatureWeights result;
    for (const auto& [name, i] : index_.all()) result[name] = after[i];
    return result;
  }

  /// Times, noise, sums of the prior, and the scales that follow from them.
  void read_times(std::span<const TimedGraph> measured) {
    times_.resize(n_), deviations_.resize(n_), sums_.resize(n_);
    std::vector<double> ratios;
    double total = 0, launches = 0;
    for (Eigen::Index i = 0; i < n_; ++i) {
      const TimedGraph& graph = measured[static_cast<size_t>(i)];
      double sum = 0;
      for (const auto& [signature, count] : graph.counts) {
        const Cost cost = prior_->cost(signature);
        sum += static_cast<double>(count) * cost.runtime.seconds();
        launches += static_cast<double>(count * cost.launches);
      }
      if (!(graph.seconds > 0) || !(sum > 0))
        throw InputError(
            "measurement {}: {} s for a graph that {} estimates at {} s; both must be "
            "above 0",
            i, graph.seconds, prior_->name(), sum);
      times_[i] = graph.seconds, deviations_[i] = graph.deviation, sums_[i] = sum;
      ratios.push_back(graph.seconds / sum);
      total += sum;
    }
    if (launches > 0) small_ = kShareOfALaunch * total / launches;
    if (ratios.empty()) return;
    mean_scale_ = median(ratios);
  }

  void read_features(std::span<const TimedGraph> measured) {
    std::vector<Eigen::Triplet<double>> entries;
    for (size_t i = 0; i < measured.size(); ++i)
      for (const auto& [signature, count] : measured[i].counts) {
        const std::string text = signature.text();
        const Cost& cost = seen_.try_emplace(text, prior_->cost(signature)).first->second;
        for (const auto& [name, value] : features(signature, text, cost))
          entries.emplace_back(static_cast<int>(i), index_.of(name),
                               static_cast<double>(count) * value);
      }
    features_.resize(n_, index_.size());
    features_.setFromTriplets(entries.begin(), entries.end());  // sums what is given twice
  }

  void solve() {
    solved_.deviation = kUsualDeviation;
    if (n_ == 0) return;
    const MatrixXd products = MatrixXd(features_ * features_.transpose());
    const MatrixXd scales = mean_scale_ * mean_scale_ * sums_ * sums_.transpose();
    bool first = true;
    for (const double deviation : kDeviations)
      for (const double mismatch : kMismatches) {
        Solved solved = solve(products, scales, deviation, mismatch);
        if (first || solved.log_posterior > solved_.log_posterior) solved_ = std::move(solved);
        first = false;
      }
  }

  Solved solve(const MatrixXd& products, const MatrixXd& scales, double deviation,
               double mismatch) const {
    Solved solved;
    solved.deviation = deviation;
    solved.mismatch = mismatch;
    solved.noise = (deviations_.array().square() + (mismatch * times_.array()).square()).sqrt();
    MatrixXd covariance = scales + std::pow(deviation * mean_scale_, 2) * products;
    covariance.diagonal() += solved.noise.cwiseAbs2();
    solved.covariance.compute(covariance);
    REVERIE_CHECK(solved.covariance.info() == Eigen::Success);
    const VectorXd rest = times_ - mean_scale_ * sums_;
    solved.alpha = solved.covariance.solve(rest);
    const double log_root = solved.covariance.matrixLLT().diagonal().array().log().sum();
    solved.log_posterior = log_prior(deviation, mismatch) - 0.5 * rest.dot(solved.alpha) - log_root;
    return solved;
  }

  std::shared_ptr<CostModel> prior_;
  Eigen::Index n_;
  double mean_scale_ = 1;  // a0
  double small_ = 0;       // f
  VectorXd times_, deviations_, sums_;
  std::map<std::string, Cost> seen_;  // what the prior says of the signatures, by their texts
  FeatureIndex index_;
  SparseMatrix features_;  // by graph and feature
  Solved solved_;
  std::shared_ptr<CostModel> mean_;
};

}  // namespace

std::shared_ptr<FittedCost> fitted_cost(std::shared_ptr<CostModel> prior,
                                        std::span<const TimedGraph> measured) {
  return std::make_shared<FittedToGraphs>(std::move(prior), measured);
}

}  // namespace reverie
