#include "worldmodel/memory/count_change.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/base/error.h"
#include "core/base/vector_clones.h"

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

constexpr int64_t kUnchanged = 1 + kChanges.size() / 2;  // the class of a change of 0

/// The likeliest class of each action: logits by class, then action.
REVERIE_VECTOR_CLONES void choose_classes(const float* logits, int64_t actions, float* best,
                                          int32_t* chosen) {
  std::copy_n(logits, actions, best);
  std::fill_n(chosen, actions, 0);
  for (int32_t k = 1; k <= static_cast<int32_t>(kChanges.size()); ++k) {
    const float* of_class = logits + k * actions;
    for (int64_t a = 0; a < actions; ++a) {
      const bool better = of_class[a] > best[a];
      best[a] = better ? of_class[a] : best[a];
      chosen[a] = better ? k : chosen[a];
    }
  }
}

/// One row of `decode_likeliest`; `best` and `chosen` are room for A entries.
void decode_row(const int64_t* current, float* logits, const float* preference, int64_t actions,
                int64_t max_choices, float* best, int32_t* chosen, int64_t* next) {
  for (int64_t a = 0; a < actions; ++a)
    logits[(current[a] > 0 ? kUnchanged : CountChange::kNone) * actions + a] += preference[a];
  choose_classes(logits, actions, best, chosen);
  for (int64_t a = 0; a < actions; ++a)
    next[a] = chosen[a] == CountChange::kNone
                  ? 0
                  : std::clamp<int64_t>(current[a] + kChanges[chosen[a] - 1], 1, max_choices);
}

}  // namespace

int CountChange::classes() { return 1 + static_cast<int>(kChanges.size()); }

torch::Tensor CountChange::encode(const torch::Tensor& current, const torch::Tensor& next) {
  const auto change = (next - current).to(torch::kFloat);
  const auto nearest = torch::bucketize(change, boundaries(change.device())) + 1;
  return torch::where(next > 0, nearest, torch::full_like(nearest, kNone));
}

torch::Tensor CountChange::decode(const torch::Tensor& current, const torch::Tensor& classes,
                                  int max_choices) {
  const auto change = changes(current.device()).index({(classes - 1).clamp_min(0)});
  const auto next = (current + change).clamp(1, max_choices);
  return torch::where(classes == kNone, torch::zeros_like(next), next);
}

torch::Tensor CountChange::same(const torch::Tensor& current) { return (current > 0) * kUnchanged; }

void CountChange::decode_likeliest(const torch::Tensor& current, torch::Tensor& logits,
                                   const torch::Tensor& preference, int max_choices,
                                   torch::Tensor& next) {
  const int64_t rows = current.size(0), actions = current.size(1);
  if (!current.is_cpu()) {
    const auto all =
        logits.reshape({rows, classes(), actions})
            .scatter_add(1, same(current).unsqueeze(1), preference.expand({rows, 1, actions}));
    next.copy_(decode(current, all.argmax(1), max_choices));
    return;
  }
  REVERIE_CHECK(logits.stride(1) == 1 && next.is_contiguous() && preference.is_contiguous());
  const auto counts = current.contiguous();
  std::vector<float> best(actions);
  std::vector<int32_t> chosen(actions);
  for (int64_t i = 0; i < rows; ++i)
    decode_row(counts.data_ptr<int64_t>() + i * actions,
               logits.data_ptr<float>() + i * logits.stride(0), preference.data_ptr<float>(),
               actions, max_choices, best.data(), chosen.data(),
               next.data_ptr<int64_t>() + i * actions);
}

}  // namespace reverie
