#pragma once

#include <string>
#include <vector>

#include "env/placement/search/methods.h"

namespace reverie {

/// Agents that learn from the graph alone; empty where the program was built without LibTorch.
std::vector<PlaceMethod> learned_methods();

/// A learner that `reverie place_learn` wrote. It first says what it holds best, which takes one
/// evaluation, and then learns from the graph while there is budget. InputError where the file is
/// none, and without LibTorch.
PlaceMethod saved_learner_method(const std::string& file);

/// A policy of `dream_train --env placement`: it plays an episode greedily. Each time that a
/// placement is judged counts as an evaluation, and as two where placements are run. Local search
/// goes on from its best state while there is budget.
/// InputError where the file is no such policy, and without LibTorch.
PlaceMethod policy_method(const std::string& file);

}  // namespace reverie
