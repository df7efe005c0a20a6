#pragma once

#include <vector>

#include "controller/train/trained_policy.h"
#include "env/evaluation.h"
#include "tools/policy/guided_options.h"

namespace reverie {

/// Beam search that a policy guides, as a method of an evaluation of rewriting, with as many
/// expansions as the baseline `taso`. It lives as long as the case. InputError for another
/// environment.
std::vector<EvaluationMethod> guided_methods(const EvaluationCase& start,
                                             const TrainedPolicy& policy, const GuideOptions& how);

}  // namespace reverie
