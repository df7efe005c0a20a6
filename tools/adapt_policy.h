#pragma once

#include <string>

#include "env/adapt/adapt_config.h"
#include "env/evaluation.h"

namespace reverie {

/// Settings of the environment that the policy was trained on. InputError where that is another one
/// than `adapt`, the file holds no policy, or this program was built without LibTorch.
AdaptConfig adapt_config_of_policy(const std::string& file);

/// One greedy episode, as `evaluate` plays it; `cases` must outlive it. InputError where the
/// policy's names do not fit.
EvaluationMethod policy_method_for(const std::string& file, const EvaluationCases& cases);

}  // namespace reverie
