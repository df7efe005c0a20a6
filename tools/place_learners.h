#pragma once

#include <string>

#include "env/placement/search/methods.h"
#include "tools/learning.h"

namespace reverie {

/// A learner that `reverie place_learn` wrote. It first says what it holds best, which takes one
/// evaluation, and then learns from the graph while there is budget. InputError where the file is
/// none.
inline LearningPart<PlaceMethod(const std::string& file)> saved_learner_method;

/// A policy of `dream_train --env placement`: it plays an episode greedily. Each time that a
/// placement is judged counts as an evaluation, and as two where placements are run. Local search
/// goes on from its best state while there is budget.
/// InputError where the file is no such policy.
inline LearningPart<PlaceMethod(const std::string& file)> policy_placement;

}  // namespace reverie
