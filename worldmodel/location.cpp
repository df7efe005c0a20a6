#include "worldmodel/location.h"

#include <cmath>
#include <numbers>

namespace reverie {

torch::Tensor describe_location(const torch::Tensor& index, const torch::Tensor& count,
                                int max_secondary) {
  const auto position = index.to(torch::kFloat).unsqueeze(-1);
  const auto total = torch::maximum(count, index + 1).to(torch::kFloat).unsqueeze(-1);
  const auto rate = torch::tensor({1.0f, 0.25f, 0.0625f, 0.015625f}, position.options()) *
                    std::numbers::pi_v<float>;
  const auto angle = position * rate;
  return torch::cat({(position + 0.5f) / total, angle.sin(), angle.cos(),
                     torch::log1p(total) / std::log1p(static_cast<float>(max_secondary))},
                    -1);
}

torch::Tensor count_of(const torch::Tensor& counts, const LatentActions& actions) {
  return counts.gather(-1, actions.primary.unsqueeze(-1)).squeeze(-1);
}

}  // namespace reverie
