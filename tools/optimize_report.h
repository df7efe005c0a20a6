#pragma once

#include <map>
#include <string>
#include <vector>

#include "env/rewrite/optimize/applied_rewrites.h"
#include "env/rewrite/optimize/optimize.h"
#include "tools/optimize_output.h"

namespace reverie {

/// What the page of a run is made of.
struct OptimizeReport {
  std::string name;      ///< of the model
  std::string program;   ///< that made this, with its version
  std::string command;   ///< line
  std::string settings;  ///< all of them, as YAML
  const OptimizeAccount& account;
  const ImportedModel& model;
  const Optimized& result;
  const OptimizeConfig& config;
  const RuleSet& rules;
  std::vector<AppliedRewrite> rewrites = {};            ///< that led to the result
  std::map<std::string, int64_t> operators_after = {};  ///< nodes of the file by operator
};

/// One self-contained page: what the console says, where what changed, times with intervals, the
/// best over time, what was left out and why, versions and settings.
std::string optimize_page(const OptimizeReport& report);

/// A text for places that differ in numbers alone, as names of equal layers do:
/// "layer.{0..11}/Conv". They are not empty.
std::string common_text(const std::vector<std::string>& places);

}  // namespace reverie
