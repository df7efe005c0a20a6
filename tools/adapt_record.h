#pragma once

#include "tools/adapt_scenario.h"

namespace reverie {

/// Trains every sequence of decisions, and writes or completes the table of --record.
void record_adapt(const AdaptOptions& options, const AdaptCommandConfig& config);

}  // namespace reverie
