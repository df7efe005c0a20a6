#include "env/placement/learn/draws.h"

#include <algorithm>
#include <cmath>

namespace reverie {

void draw_weights(torch::nn::Module& module, Rng& rng) {
  const torch::NoGradGuard guard;
  for (auto& item : module.named_parameters()) {
    torch::Tensor& parameter = item.value();
    if (parameter.dim() == 1) {
      if (item.key().find("bias") != std::string::npos) parameter.zero_();
      continue;
    }
    const double bound = std::sqrt(3 / static_cast<double>(parameter[0].numel()));
    std::generate_n(parameter.data_ptr<float>(), parameter.numel(),
                    [&] { return static_cast<float>(rng.uniform(-bound, bound)); });
  }
}

torch::Tensor draw_actions(const torch::Tensor& logits, Rng& rng) {
  const torch::NoGradGuard guard;
  const torch::Tensor sums = logits.softmax(-1).cumsum(-1);
  torch::Tensor drawn =
      torch::empty(logits.sizes().slice(0, static_cast<size_t>(logits.dim() - 1)));
  std::generate_n(drawn.data_ptr<float>(), drawn.numel(),
                  [&] { return static_cast<float>(rng.uniform()); });
  return (sums <= drawn.unsqueeze(-1)).sum(-1).clamp_max(logits.size(-1) - 1);
}

}  // namespace reverie
