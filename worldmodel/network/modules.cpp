#include "worldmodel/network/modules.h"

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>

#include "core/base/error.h"

namespace reverie {

namespace {
constexpr double kConstant = 1e-6;  // deviation below which a column counts as constant
}  // namespace

torch::Generator make_generator(uint64_t seed) {
  return at::make_generator<at::CPUGeneratorImpl>(seed);
}

SeededWeights::SeededWeights(uint64_t seed) {
  auto generator = at::detail::getDefaultCPUGenerator();
  const std::scoped_lock lock(generator.mutex());
  before_ = generator.get_state();
  generator.set_current_seed(seed);
}

SeededWeights::~SeededWeights() {
  auto generator = at::detail::getDefaultCPUGenerator();
  const std::scoped_lock lock(generator.mutex());
  generator.set_state(before_);
}

MlpImpl::MlpImpl(int in, int width, int out)
    : first(register_module("first", torch::nn::Linear(in, width))),
      second(register_module("second", torch::nn::Linear(width, out))) {}

torch::Tensor MlpImpl::forward(const torch::Tensor& x) { return second(torch::silu(first(x))); }

NormalizerImpl::NormalizerImpl(int64_t columns)
    : mean(register_buffer("mean", torch::zeros({columns}))),
      deviation(register_buffer("deviation", torch::ones({columns}))) {}

torch::Tensor NormalizerImpl::forward(const torch::Tensor& x) const {
  return ((x - mean) / deviation).clamp(-kClamp, kClamp);
}

torch::Tensor NormalizerImpl::inverse(const torch::Tensor& x) const { return x * deviation + mean; }

ColumnStatistics::ColumnStatistics(int64_t columns)
    : count_(torch::zeros({columns}, torch::kDouble)),
      sum_(torch::zeros({columns}, torch::kDouble)),
      squares_(torch::zeros({columns}, torch::kDouble)) {}

void ColumnStatistics::add(const torch::Tensor& x, const torch::Tensor& weight) {
  const auto values = x.detach().to(torch::kCPU, torch::kDouble);
  REVERIE_CHECK_EQ(values.size(1), sum_.size(0));
  const auto weights =
      weight.defined() ? weight.to(torch::kCPU, torch::kDouble) : torch::ones_like(values);
  count_ += weights.sum(0);
  sum_ += (values * weights).sum(0);
  squares_ += (values.square() * weights).sum(0);
}

torch::Tensor ColumnStatistics::mean() const {
  return (sum_ / count_.clamp_min(1)).to(torch::kFloat);
}

torch::Tensor ColumnStatistics::deviation() const {
  const auto count = count_.clamp_min(1);
  const auto variance = squares_ / count - (sum_ / count).square();
  const auto deviation = variance.clamp_min(0).sqrt();
  return torch::where(deviation > kConstant, deviation, torch::ones_like(deviation))
      .to(torch::kFloat);
}

void ColumnStatistics::store(NormalizerImpl& normalizer) const {
  torch::NoGradGuard guard;
  normalizer.mean.copy_(mean());
  normalizer.deviation.copy_(deviation());
}

torch::Tensor LossTerms::total() const {
  REVERIE_CHECK(!terms.empty());
  torch::Tensor sum = terms.front().second;
  for (size_t i = 1; i < terms.size(); ++i) sum = sum + terms[i].second;
  return sum;
}

torch::Tensor masked_mean(const torch::Tensor& x, const torch::Tensor& mask) {
  const auto weights = mask.to(x.scalar_type()).expand_as(x);
  return (x * weights).sum() / weights.sum().clamp_min(1);
}

}  // namespace reverie
