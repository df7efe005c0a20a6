#pragma once

#include <vector>

#include "controller/agents/learner.h"

namespace reverie {

/// One entry an agent, in the order of the papers.
std::vector<LearnerKind> all_learners();

}  // namespace reverie
