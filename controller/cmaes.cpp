#include "controller/cmaes.h"

#include <algorithm>
#include <cmath>

namespace reverie {
namespace {

constexpr int64_t kLargestFull = 200;

torch::Tensor normal_numbers(int64_t rows, int64_t columns, Rng& rng) {
  auto numbers = torch::empty({rows, columns}, torch::kFloat64);
  auto* data = numbers.data_ptr<double>();
  for (int64_t i = 0; i < rows * columns; ++i) data[i] = rng.normal();
  return numbers;
}

}  // namespace

CmaEs::CmaEs(torch::Tensor mean, double sigma, int64_t population, Covariance covariance)
    : n_(mean.size(0)),
      population_(population),
      separable_(covariance == Covariance::kSeparable ||
                 (covariance == Covariance::kAuto && n_ > kLargestFull)),
      sigma_(sigma),
      mean_(mean.to(torch::kFloat64).clone()) {
  REVERIE_CHECK(population >= 2);
  const auto options = torch::kFloat64;
  const int64_t parents = population / 2;
  weights_ = std::log((static_cast<double>(population) + 1) / 2) -
             torch::arange(1, parents + 1, options).log();
  weights_ = weights_ / weights_.sum();
  mu_effective_ = 1 / weights_.square().sum().item<double>();
  const auto n = static_cast<double>(n_);
  const double boost = separable_ ? (n + 2) / 3 : 1;
  c_sigma_ = (mu_effective_ + 2) / (n + mu_effective_ + 5);
  d_sigma_ = 1 + c_sigma_ + 2 * std::max(0.0, std::sqrt((mu_effective_ - 1) / (n + 1)) - 1);
  c_c_ = (4 + mu_effective_ / n) / (n + 4 + 2 * mu_effective_ / n);
  c_1_ = std::min(1.0, boost * 2 / ((n + 1.3) * (n + 1.3) + mu_effective_));
  c_mu_ = std::min(1 - c_1_, boost * 2 * (mu_effective_ - 2 + 1 / mu_effective_) /
                                 ((n + 2) * (n + 2) + mu_effective_));
  chi_ = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
  path_sigma_ = torch::zeros({n_}, options);
  path_c_ = torch::zeros({n_}, options);
  axes_ = torch::ones({n_}, options);
  basis_ = separable_ ? torch::Tensor() : torch::eye(n_, options);
  covariance_ = separable_ ? torch::ones({n_}, options) : torch::eye(n_, options);
}

torch::Tensor CmaEs::ask(Rng& rng) {
  const auto normal = normal_numbers(population_, n_, rng) * axes_;
  candidates_ = mean_ + sigma_ * (separable_ ? normal : normal.matmul(basis_.t()));
  return candidates_;
}

/// C^(-1/2) y.
torch::Tensor CmaEs::whitened(const torch::Tensor& y) const {
  if (separable_) return y / axes_;
  return basis_.matmul(basis_.t().matmul(y) / axes_);
}

void CmaEs::tell(const torch::Tensor& fitness) {
  REVERIE_CHECK_EQ(fitness.size(0), population_);
  const auto order = std::get<1>(fitness.to(torch::kFloat64).to(torch::kCPU).sort(true, 0, true));
  const auto parents = candidates_.index_select(0, order.narrow(0, 0, weights_.size(0)));
  const auto steps = (parents - mean_) / sigma_;  // y_i:lambda, eq. 39
  const auto step = weights_.matmul(steps);       // eq. 41
  mean_ = mean_ + sigma_ * step;
  ++generation_;

  path_sigma_ = (1 - c_sigma_) * path_sigma_ +
                std::sqrt(c_sigma_ * (2 - c_sigma_) * mu_effective_) * whitened(step);  // eq. 43
  const double length = path_sigma_.norm().item<double>();
  const double decayed =
      std::sqrt(1 - std::pow(1 - c_sigma_, 2.0 * static_cast<double>(generation_)));
  const double bound = (1.4 + 2 / (static_cast<double>(n_) + 1)) * chi_;
  const double h_sigma = length / decayed < bound ? 1 : 0;
  path_c_ = (1 - c_c_) * path_c_ +
            h_sigma * std::sqrt(c_c_ * (2 - c_c_) * mu_effective_) * step;  // eq. 45
  sigma_ *= std::exp(std::min(1.0, c_sigma_ / d_sigma_ * (length / chi_ - 1)));  // eq. 44
  adapt_covariance(steps, h_sigma);
}

void CmaEs::adapt_covariance(const torch::Tensor& steps, double h_sigma) {  // eq. 47
  const double keep =
      1 - c_1_ - c_mu_ + (1 - h_sigma) * c_1_ * c_c_ * (2 - c_c_);
  if (separable_) {
    covariance_ = keep * covariance_ + c_1_ * path_c_.square() +
                  c_mu_ * weights_.matmul(steps.square());
    axes_ = covariance_.clamp_min(1e-30).sqrt();
    return;
  }
  const auto rank_mu = steps.t().matmul(weights_.unsqueeze(1) * steps);
  covariance_ = keep * covariance_ + c_1_ * torch::outer(path_c_, path_c_) + c_mu_ * rank_mu;
  covariance_ = (covariance_ + covariance_.t()) / 2;
  const auto [values, vectors] = torch::linalg_eigh(covariance_, "L");
  axes_ = values.clamp_min(1e-30).sqrt();
  basis_ = vectors.contiguous();  // as it is after a restore: products round alike
}

std::vector<std::pair<std::string, torch::Tensor CmaEs::*>> CmaEs::state() const {
  std::vector<std::pair<std::string, torch::Tensor CmaEs::*>> tensors = {
      {"mean", &CmaEs::mean_},
      {"path_sigma", &CmaEs::path_sigma_},
      {"path_c", &CmaEs::path_c_},
      {"covariance", &CmaEs::covariance_},
      {"axes", &CmaEs::axes_}};
  if (!separable_) tensors.emplace_back("basis", &CmaEs::basis_);
  return tensors;
}

void CmaEs::store(Checkpoint& checkpoint, const std::string& prefix) const {
  for (const auto& [name, tensor] : state())
    checkpoint.tensors[prefix + "." + name] = this->*tensor;
  checkpoint.tensors[prefix + ".scalars"] =
      torch::tensor({sigma_, static_cast<double>(generation_)}, torch::kFloat64);
}

void CmaEs::restore(const Checkpoint& checkpoint, const std::string& prefix) {
  const auto stored = [&](const std::string& name) { return stored_tensor(checkpoint, prefix + "." + name); };
  for (const auto& [name, tensor] : state()) {
    if (stored(name).sizes() != (this->*tensor).sizes())
      throw InputError("'{}.{}' has another size than these settings ask for", prefix, name);
    this->*tensor = stored(name).clone();
  }
  sigma_ = stored("scalars")[0].item<double>();
  generation_ = static_cast<int64_t>(stored("scalars")[1].item<double>());
}

}  // namespace reverie
