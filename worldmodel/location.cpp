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

torch::Tensor counts_by_region(const LatentMask& mask, const torch::Tensor& primary) {
  const auto index = primary.view({-1, 1, 1}).expand({-1, 1, mask.regions.size(2)});
  return mask.regions.gather(1, index).squeeze(1).to(torch::kInt64);
}

torch::Tensor first_in_region(const LatentMask& mask, const torch::Tensor& primary,
                              const torch::Tensor& region) {
  if (!mask.regions.defined()) return torch::zeros_like(primary);
  const auto row = counts_by_region(mask, primary);
  return (row.cumsum(-1) - row).gather(-1, region.unsqueeze(-1)).squeeze(-1);
}

RegionActions locate(const LatentActions& actions, const LatentMask& mask) {
  if (!mask.regions.defined())
    return {torch::zeros_like(actions.secondary), actions.secondary, count_of(mask.counts, actions)};
  const auto row = counts_by_region(mask, actions.primary);
  const auto ends = row.cumsum(-1);
  const auto region =
      ends.le(actions.secondary.unsqueeze(-1)).sum(-1).clamp_max(row.size(-1) - 1);
  const auto at = [&](const torch::Tensor& x) {
    return x.gather(-1, region.unsqueeze(-1)).squeeze(-1);
  };
  const auto count = at(row);
  return {region, actions.secondary - (at(ends) - count), count};
}

torch::Tensor count_in(const LatentMask& mask, const torch::Tensor& primary,
                       const torch::Tensor& region) {
  if (!mask.regions.defined()) return count_of(mask.counts, {primary, {}});
  return counts_by_region(mask, primary).gather(-1, region.unsqueeze(-1)).squeeze(-1);
}

}  // namespace reverie
