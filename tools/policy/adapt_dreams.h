#pragma once

#include <cstdint>
#include <vector>

#include "controller/train/trained_policy.h"
#include "env/adapt/search.h"

namespace reverie {

inline constexpr int kDreamtPlans = 1024, kDrawnPlans = 1024;
/// Points of accuracy that a plan is held better by for every factor of e in how often C takes it.
inline constexpr double kPreference = 0.6;

/// Plans that C takes in dreams, and plans whose decisions are drawn. What is expected of one is
/// what M expects in a dream from the first decision on, and kPreference log((n + 1/2) / kDreamtPlans)
/// where C took it n times. Dreams end after as many decisions as the policy was trained with.
/// InputError where its names do not fit.
std::vector<ExpectedPlan> dreamt_plans(const TrainedPolicy& trained, const AdaptStart& start,
                                       uint64_t seed);

}  // namespace reverie
