#pragma once

#include "core/search/search_run.h"

namespace reverie {

/// Takes the first move that lowers the cost, in the order of kinds and moves, until none does or
/// `budget` of them were taken. The example of search.md.
void run_first_gain(SearchRun& run);

}  // namespace reverie
