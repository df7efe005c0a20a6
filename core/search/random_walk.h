#pragma once

#include "core/search/search_run.h"

namespace reverie {

/// At most so many steps, each of a rule that has locations, at one of them, drawn uniformly.
Walk walk_at_random(SearchRun& run, size_t steps, Rng rng);

/// How long random search walks: as greedy's path calls for, which is no part of the run itself.
size_t random_walk_length(const RewriteState& start, SearchOptions options);

}  // namespace reverie
