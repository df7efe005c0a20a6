#include "worldmodel/count_code.h"

#include <algorithm>
#include <array>
#include <vector>

namespace reverie {
namespace {

constexpr std::array<int64_t, 19> kChanges = {-128, -64, -32, -16, -8, -4, -3, -2, -1, 0,
                                              1,    2,   3,   4,   8,  16, 32, 64, 128};

torch::Tensor changes(torch::Device device) {
  const std::vector<int64_t> values(kChanges.begin(), kChanges.end());
  return torch::tensor(values, torch::kInt64).to(device);
}

/// Halfway between neighbours, where the nearest entry changes.
torch::Tensor boundaries(torch::Device device) {
  const auto values = changes(device).to(torch::kFloat);
  return (values.slice(0, 0, -1) + values.slice(0, 1)) / 2;
}

}  // namespace

int CountCode::classes() { return 1 + static_cast<int>(kChanges.size()); }

torch::Tensor CountCode::encode(const torch::Tensor& current, const torch::Tensor& next) {
  const auto change = (next - current).to(torch::kFloat);
  const auto nearest = torch::bucketize(change, boundaries(change.device())) + 1;
  return torch::where(next > 0, nearest, torch::full_like(nearest, kNone));
}

torch::Tensor CountCode::decode(const torch::Tensor& current, const torch::Tensor& classes,
                                int max_secondary) {
  const auto change = changes(current.device()).index({(classes - 1).clamp_min(0)});
  const auto next = (current + change).clamp(1, max_secondary);
  return torch::where(classes == kNone, torch::zeros_like(next), next);
}

}  // namespace reverie
