#pragma once

#include <cstdint>

#include "core/base/config.h"
#include "core/cost/cost_model.h"

namespace reverie {

/// What a step of the rewriting environment is worth, in percent of the start's value; gains are
/// positive.
///  runtime          fall of the estimated run time in this step
///  weighted         weighted falls of run time, FLOPs, traffic and launches in this step
///  measured_every_k 0, and every k steps and at the end the fall of the end-to-end measured time
///                   since the last measurement
enum class RewardKind : uint8_t { kRuntime, kWeighted, kMeasuredEveryK };
EnumNames<RewardKind> enum_names(RewardKind);

struct RewardWeights {
  double runtime = 0.7;
  double flops = 0.1;
  double bytes = 0.1;
  double launches = 0.1;

  template <class V>
  void fields(V& v) {
    v.field("runtime", runtime, "Weight of the fall of run time");
    v.field("flops", flops, "Weight of the fall of FLOPs");
    v.field("bytes", bytes, "Weight of the fall of memory traffic");
    v.field("launches", launches, "Weight of the fall of kernel launches");
  }
};

/// 100 * (before - after) / initial; 0 where the initial value is 0.
double percent_fall(double before, double after, double initial);
/// The weighted falls from `before` to `after`, relative to `initial`.
double weighted_fall(const RewardWeights& weights, const Cost& before, const Cost& after,
                     const Cost& initial);

}  // namespace reverie
