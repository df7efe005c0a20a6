#pragma once

#include <cstdint>
#include <vector>

#include "controller/train/trained_policy.h"
#include "env/adapt/search.h"

namespace reverie {

/// Whether M says outcomes, and known dynamics of these jobs the rest.
bool dreams_in_grey_box(const TrainedPolicy& trained, const EnvSpec& jobs);

/// Plans, and what M expects of them by dreams from the first decision on: 1,024 that C takes in
/// dreams, and 1,024 whose decisions are drawn. Dreams end after as many decisions as the policy
/// was trained with. InputError where its names do not fit.
std::vector<ExpectedPlan> dreamt_plans(const TrainedPolicy& trained, const AdaptStart& start,
                                       uint64_t seed);

}  // namespace reverie
