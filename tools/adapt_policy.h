#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "env/adapt/adapt_config.h"
#include "env/adapt/adapt_environment.h"
#include "env/adapt/table.h"
#include "env/solver.h"

namespace reverie {

/// Settings of the environment that the policy was trained on. InputError where that is another one
/// than `adapt`, the file holds no policy, or this program was built without LibTorch.
AdaptConfig adapt_config_of_policy(const std::string& file);

/// The policy as a solver: one greedy episode, as `evaluate` plays it, or where it `tries` others
/// first, Thompson sampling among plans by what its M expects of them in dreams. InputError where
/// the policy's names do not fit or, to try others, its reward or its number of decisions.
std::shared_ptr<const Solver> policy_solver_for(const std::string& file, bool tries,
                                                const Tasks& tasks);

}  // namespace reverie
