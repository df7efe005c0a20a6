#pragma once

#include <memory>
#include <vector>

#include "env/environment.h"

namespace reverie {

/// The same environment, begun from some of its start states alone: those with these numbers, at
/// least one, which are 0, 1, ... of the result. So a graph that is held out cannot be begun from
/// by mistake.
std::unique_ptr<Environment> select_starts(std::unique_ptr<Environment> environment,
                                           std::vector<int> starts);

}  // namespace reverie
