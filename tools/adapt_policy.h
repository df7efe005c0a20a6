#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "env/adapt/adapt_config.h"
#include "env/adapt/adapt_environment.h"
#include "env/adapt/table.h"
#include "env/evaluation.h"

namespace reverie {

/// Settings of the environment that the policy was trained on. InputError where that is another one
/// than `adapt`, the file holds no policy, or this program was built without LibTorch.
AdaptConfig adapt_config_of_policy(const std::string& file);

/// One greedy episode, as `evaluate` plays it; `cases` must outlive it. InputError where the
/// policy's names do not fit.
EvaluationMethod policy_method_for(const std::string& file, const EvaluationCases& cases);

/// Finds decisions by so many jobs of a scenario.
using AdaptSearch = std::function<Decisions(const AdaptStart& start, int episodes, uint64_t seed)>;

/// Thompson sampling among plans by what the policy's M expects of them in dreams. InputError where
/// the policy's names, its reward or its number of decisions do not fit.
AdaptSearch policy_search_for(const std::string& file, const EvaluationCases& cases);

}  // namespace reverie
