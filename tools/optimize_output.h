#pragma once

#include <string>

#include "core/base/json.h"
#include "core/search/optimize.h"

namespace reverie {

/// What changed by the costs, and what the search did.
void print_result(const Optimized& result, const ImportedModel& model, const OptimizeConfig& config,
                  const RuleSet& rules);
/// Whether there is anything to gain, and that what was found computes the same.
void print_verdict(const Optimized& result, const OptimizeConfig& config);
/// The line of `--json`.
Json to_json(const std::string& file, const ImportedModel& model, const Optimized& result, const OptimizeConfig& config,
             const RuleSet& rules);

}  // namespace reverie
