#include "worldmodel/batch/latents.h"

namespace reverie {

std::vector<Action> actions_of(const LatentActions& actions) {
  const auto plain = [](const torch::Tensor& x) { return x.to(torch::kCPU).contiguous(); };
  const auto primary = plain(actions.primary), entity = plain(actions.entity),
             index = plain(actions.index);
  std::vector<Action> all(static_cast<size_t>(primary.numel()));
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = {static_cast<int>(primary.data_ptr<int64_t>()[i]),
              static_cast<int>(entity.data_ptr<int64_t>()[i]),
              static_cast<int>(index.data_ptr<int64_t>()[i])};
  return all;
}

LatentActions latent_actions(std::span<const Action> actions) {
  const auto count = static_cast<int64_t>(actions.size());
  const auto empty = [&] { return torch::empty({count}, torch::kInt64); };
  LatentActions all{empty(), empty(), empty()};
  for (int64_t i = 0; i < count; ++i) {
    const Action& action = actions[static_cast<size_t>(i)];
    all.primary.data_ptr<int64_t>()[i] = action.primary;
    all.entity.data_ptr<int64_t>()[i] = action.entity;
    all.index.data_ptr<int64_t>()[i] = action.index;
  }
  return all;
}

}  // namespace reverie
