#include "controller/agents/initial_weights.h"

#include <algorithm>
#include <cmath>

namespace reverie {
namespace {

void draw_uniform(const torch::Tensor& weights, double bound, Rng& rng) {
  std::generate_n(weights.data_ptr<float>(), weights.numel(),
                  [&] { return static_cast<float>(rng.uniform(-bound, bound)); });
}

}  // namespace

void draw_weights(torch::nn::Module& module, Rng& rng) {
  const torch::NoGradGuard guard;
  for (auto& item : module.named_parameters()) {
    torch::Tensor& parameter = item.value();
    if (parameter.dim() > 1)
      draw_uniform(parameter, std::sqrt(3 / static_cast<double>(parameter[0].numel())), rng);
    else if (item.key().find("bias") != std::string::npos)
      parameter.zero_();
  }
}

torch::Tensor glorot(int64_t rows, int64_t columns, Rng& rng) {
  const auto weights = torch::empty({rows, columns});
  draw_uniform(weights, std::sqrt(6 / static_cast<double>(rows + columns)), rng);
  return weights.set_requires_grad(true);
}

}  // namespace reverie
