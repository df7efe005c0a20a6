#include "worldmodel/memory/mdn.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/base/vector_clones.h"
#include "worldmodel/network/vector_math.h"

namespace reverie {
namespace {

constexpr double kMaxLogSigma = 3;

/// Which of K weights exp(logit / temperature) the share u of their sum falls in.
int64_t category_at(const float* logits, int64_t size, float temperature, float u,
                    std::vector<float>& sums) {
  const float largest = *std::max_element(logits, logits + size);
  float sum = 0;
  for (int64_t k = 0; k < size; ++k) {
    sum += exp_of((logits[k] - largest) / temperature);
    sums[static_cast<size_t>(k)] = sum;
  }
  const auto passed =
      std::count_if(sums.begin(), sums.end(), [&](float s) { return s <= u * sum; });
  return std::min<int64_t>(passed, size - 1);
}

/// mean + scale exp(log_sigma) noise; `noise` becomes it.
REVERIE_VECTOR_CLONES void spread_noise(const float* mean, const float* log_sigma,
                                        int64_t dimensions, float min_log_sigma, float scale,
                                        float* noise) {
  constexpr auto kMost = static_cast<float>(kMaxLogSigma);
  for (int64_t d = 0; d < dimensions; ++d) {
    const float sigma = exp_of(std::min(std::max(log_sigma[d], min_log_sigma), kMost));
    noise[d] = mean[d] + scale * sigma * noise[d];
  }
}

/// Draws one of K categories a row at temperature tau (logits [B, K] / tau), [B] int64. At tau = 0
/// the likeliest.
torch::Tensor draw_category(const torch::Tensor& logits, double temperature,
                            torch::Generator noise) {
  if (temperature <= 0) return logits.argmax(-1);
  const auto edges = torch::softmax(logits / temperature, -1).cumsum(-1);
  const auto uniform = torch::rand({logits.size(0), 1}, noise).to(logits.device());
  return (edges <= uniform).sum(-1).clamp_max(logits.size(-1) - 1);
}

}  // namespace

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

torch::Tensor Mixture::sample_columns(const torch::Tensor& columns, int mixtures, int dimensions,
                                      double min_log_sigma, double temperature,
                                      torch::Generator noise) {
  if (temperature <= 0 || !columns.is_cpu() || columns.stride(1) != 1)
    return from_columns(columns, mixtures, dimensions, min_log_sigma).sample(temperature, noise);
  const int64_t rows = columns.size(0), block = static_cast<int64_t>(mixtures) * dimensions;
  const auto uniform = torch::rand({rows, 1}, noise);
  auto sample = torch::randn({rows, dimensions}, noise);
  std::vector<float> sums(static_cast<size_t>(mixtures));
  for (int64_t i = 0; i < rows; ++i) {
    const float* logits = columns.data_ptr<float>() + i * columns.stride(0);
    const int64_t k = category_at(logits, mixtures, static_cast<float>(temperature),
                                  uniform.data_ptr<float>()[i], sums);
    const float* mean = logits + mixtures + k * dimensions;
    spread_noise(mean, mean + block, dimensions, static_cast<float>(min_log_sigma),
                 static_cast<float>(std::sqrt(temperature)),
                 sample.data_ptr<float>() + i * dimensions);
  }
  return sample;
}

}  // namespace reverie
