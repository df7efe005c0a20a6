#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "env/adapt/adapt_config.h"
#include "env/adapt/adapt_environment.h"
#include "env/adapt/table.h"
#include "env/solver.h"
#include "tools/learning.h"

namespace reverie {

/// Settings of the environment that the policy was trained on. InputError where that is another one
/// than `adapt`, or the file holds no policy.
inline LearningPart<AdaptConfig(const std::string& file)> adapt_config_of_policy;

/// The policy as a solver: one greedy episode, as `evaluate` plays it, or where it `tries` others
/// first, Thompson sampling among plans by what its M expects of them in dreams. InputError where
/// the policy's names do not fit or, to try others, its reward or its number of decisions.
inline LearningPart<std::shared_ptr<const Solver>(const std::string& file, bool tries,
                                                  const Tasks& tasks)>
    policy_solver_for;

}  // namespace reverie
