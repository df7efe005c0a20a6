#pragma once

#include "core/base/config.h"
#include "core/base/random.h"
#include "worldmodel/checkpoint.h"
#include "worldmodel/torch.h"

namespace reverie {

enum class Covariance { kAuto, kFull, kSeparable };
inline EnumNames<Covariance> enum_names(Covariance) {
  return {{Covariance::kAuto, "auto"}, {Covariance::kFull, "full"},
          {Covariance::kSeparable, "separable"}};
}

/// Covariance matrix adaptation evolution strategy (Hansen, The CMA Evolution Strategy: A Tutorial,
/// 2016, fig. 6 and table 1), maximising. The separable form keeps the diagonal alone, with learning
/// rates multiplied by (n + 2) / 3 (Ros and Hansen 2008); kAuto takes it above 200 dimensions.
class CmaEs {
 public:
  CmaEs(torch::Tensor mean, double sigma, int64_t population, Covariance covariance);

  /// [population, n] float64.
  torch::Tensor ask(Rng& rng);
  /// Fitness of each row of the last `ask`, [population]; larger is better.
  void tell(const torch::Tensor& fitness);

  const torch::Tensor& mean() const { return mean_; }
  double sigma() const { return sigma_; }
  /// Goes on from there, with all else as it is.
  void set_mean(const torch::Tensor& mean) { mean_ = mean.to(torch::kFloat64).clone(); }

  /// Tensors under `prefix` + ".".
  void store(Checkpoint& checkpoint, const std::string& prefix) const;
  void restore(const Checkpoint& checkpoint, const std::string& prefix);

 private:
  torch::Tensor whitened(const torch::Tensor& y) const;
  std::vector<std::pair<std::string, torch::Tensor CmaEs::*>> state() const;
  void adapt_covariance(const torch::Tensor& steps, double h_sigma);

  int64_t n_, population_;
  bool separable_;
  torch::Tensor weights_;
  double mu_effective_, c_sigma_, d_sigma_, c_c_, c_1_, c_mu_, chi_;
  double sigma_;
  int64_t generation_ = 0;
  torch::Tensor mean_, path_sigma_, path_c_;
  torch::Tensor covariance_;         ///< [n, n], or [n] when separable
  torch::Tensor basis_, axes_;       ///< of the covariance: eigenvectors [n, n], root eigenvalues [n]
  torch::Tensor candidates_;
};

}  // namespace reverie
