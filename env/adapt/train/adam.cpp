#include "env/adapt/train/adam.h"

#include <cmath>

namespace reverie {
namespace {

constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;

}  // namespace

Adam::Adam(const std::vector<torch::Tensor>& parameters, double rate) : rate(rate) {
  const torch::NoGradGuard guard;
  for (const torch::Tensor& parameter : parameters) {
    means.emplace_back(torch::zeros_like(parameter));
    squares.emplace_back(torch::zeros_like(parameter));
  }
}

void Adam::step(const std::vector<torch::Tensor>& parameters,
                const std::vector<torch::Tensor>& gradients) {
  const torch::NoGradGuard guard;
  ++steps;
  const auto count = static_cast<double>(steps);
  const double of_mean = 1 - std::pow(kBeta1, count), of_square = 1 - std::pow(kBeta2, count);
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!gradients[i].defined()) continue;
    torch::Tensor parameter = parameters[i], mean = means[i].value, square = squares[i].value;
    mean.lerp_(gradients[i], 1 - kBeta1);
    square.mul_(kBeta2).addcmul_(gradients[i], gradients[i], 1 - kBeta2);
    parameter.addcdiv_(mean, (square / of_square).sqrt_().add_(kEpsilon), -rate / of_mean);
  }
}

}  // namespace reverie
