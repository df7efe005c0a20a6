#include "worldmodel/mdn.h"

#include <cmath>
#include <numbers>
#include <vector>

namespace reverie {
namespace {
constexpr double kMaxLogSigma = 3;
}  // namespace

torch::Tensor draw_category(const torch::Tensor& logits, double temperature,
                            torch::Generator noise) {
  if (temperature <= 0) return logits.argmax(-1);
  const auto edges = torch::softmax(logits / temperature, -1).cumsum(-1);
  const auto uniform = torch::rand({logits.size(0), 1}, noise).to(logits.device());
  return (edges <= uniform).sum(-1).clamp_max(logits.size(-1) - 1);
}

Mixture Mixture::from_columns(const torch::Tensor& columns, int mixtures, int dimensions,
                              double min_log_sigma) {
  const int64_t block = static_cast<int64_t>(mixtures) * dimensions;
  const auto parts = columns.split_with_sizes({mixtures, block, block}, -1);
  return {parts[0], parts[1].unflatten(-1, {mixtures, dimensions}),
          parts[2].unflatten(-1, {mixtures, dimensions}).clamp(min_log_sigma, kMaxLogSigma)};
}

torch::Tensor Mixture::negative_log_likelihood(const torch::Tensor& x) const {
  const auto scaled = (x.unsqueeze(-2) - means) * torch::exp(-log_sigma);
  const double constant = 0.5 * std::log(2 * std::numbers::pi) * static_cast<double>(x.size(-1));
  const auto density = -0.5 * scaled.square().sum(-1) - log_sigma.sum(-1) - constant;
  return -torch::logsumexp(torch::log_softmax(logits, -1) + density, -1);
}

torch::Tensor Mixture::mean() const {
  return (torch::softmax(logits, -1).unsqueeze(-1) * means).sum(-2);
}

torch::Tensor Mixture::sample(double temperature, torch::Generator noise) const {
  const auto component = draw_category(logits, temperature, noise);
  const auto row = torch::arange(component.size(0), component.options());
  const auto chosen = means.index({row, component});
  if (temperature <= 0) return chosen;
  const auto epsilon = torch::randn(chosen.sizes(), noise).to(chosen.device());
  const auto sigma = log_sigma.index({row, component}).exp() * std::sqrt(temperature);
  return torch::addcmul(chosen, sigma, epsilon);
}

}  // namespace reverie
