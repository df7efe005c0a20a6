#include "env/rewrite/reward.h"

namespace reverie {

EnumNames<RewardKind> enum_names(RewardKind) {
  return {{RewardKind::kRuntime, "runtime"},
          {RewardKind::kWeighted, "weighted"},
          {RewardKind::kMeasuredEveryK, "measured_every_k"}};
}

double percent_fall(double before, double after, double initial) {
  return initial > 0 ? 100.0 * (before - after) / initial : 0.0;
}

double weighted_fall(const RewardWeights& weights, const Cost& before, const Cost& after,
                     const Cost& initial) {
  const auto fall = [](int64_t was, int64_t is, int64_t first) {
    return percent_fall(static_cast<double>(was), static_cast<double>(is),
                        static_cast<double>(first));
  };
  return weights.runtime * fall(before.runtime.count, after.runtime.count, initial.runtime.count) +
         weights.flops * fall(before.flops, after.flops, initial.flops) +
         weights.bytes * fall(before.bytes, after.bytes, initial.bytes) +
         weights.launches * fall(before.launches, after.launches, initial.launches);
}

}  // namespace reverie
