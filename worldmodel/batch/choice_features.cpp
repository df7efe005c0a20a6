#include "worldmodel/batch/choice_features.h"

#include <cmath>
#include <numbers>

namespace reverie {

torch::Tensor choice_features(const torch::Tensor& index, const torch::Tensor& count,
                              int max_choices) {
  const auto position = index.to(torch::kFloat).unsqueeze(-1);
  const auto total = torch::maximum(count, index + 1).to(torch::kFloat).unsqueeze(-1);
  const auto rate = torch::tensor({1.0f, 0.25f, 0.0625f, 0.015625f}, position.options()) *
                    std::numbers::pi_v<float>;
  const auto angle = position * rate;
  return torch::cat({(position + 0.5f) / total, angle.sin(), angle.cos(),
                     torch::log1p(total) / std::log1p(static_cast<float>(max_choices))},
                    -1);
}

torch::Tensor counts_by_entity(const LatentMask& mask, const torch::Tensor& primary) {
  const auto index = primary.view({-1, 1, 1}).expand({-1, 1, mask.by_entity.size(2)});
  return mask.by_entity.gather(1, index).squeeze(1).to(torch::kInt64);
}

LatentActions choice_at(const LatentMask& mask, const torch::Tensor& primary,
                        const torch::Tensor& number) {
  const auto counts = counts_by_entity(mask, primary);
  const auto ends = counts.cumsum(-1);
  const auto entity = ends.le(number.unsqueeze(-1)).sum(-1).clamp_max(counts.size(-1) - 1);
  const auto before = (ends - counts).gather(-1, entity.unsqueeze(-1)).squeeze(-1);
  return {primary, entity, number - before};
}

torch::Tensor count_of(const LatentMask& mask, const LatentActions& actions) {
  return counts_by_entity(mask, actions.primary).gather(1, actions.entity.unsqueeze(1)).squeeze(1);
}

ListedActions valid_actions(const LatentMask& mask) {
  const auto place = (mask.by_entity > 0).nonzero();
  const auto state = place.select(1, 0), primary = place.select(1, 1), entity = place.select(1, 2);
  const auto count = mask.by_entity.index({state, primary, entity}).to(torch::kInt64);
  const auto group = torch::repeat_interleave(torch::arange(count.size(0), count.options()), count);
  const auto of = [&](const torch::Tensor& x) { return x.index_select(0, group); };
  const auto index = torch::arange(group.size(0), group.options()) - of(count.cumsum(0) - count);
  return {of(state), {of(primary), of(entity), index}};
}

}  // namespace reverie
