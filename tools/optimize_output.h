#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "core/report/html.h"
#include "env/rewrite/optimize/optimize.h"

namespace reverie {

/// What there is to say of a run: console and page (tools/optimize_report.h) have it from here.
/// Empty where there is nothing to say.
struct OptimizeAccount {
  HtmlTable costs;                                     ///< before and after
  std::string cost_note;                               ///< where these come from
  std::vector<std::string> search;                     ///< what it did, and why it ended
  std::vector<std::pair<std::string, int64_t>> rules;  ///< how often each was applied
  std::vector<std::string> objections;  ///< why rewrites, or contenders, were not taken
  std::vector<std::string> verdict;     ///< whether anything is gained, and computes the same
  std::vector<std::string> unchecked;   ///< what no comparison covers
  std::vector<std::string> measured;    ///< of a search against measurements
  HtmlTable contestants;                ///< end to end
  std::string machine;                  ///< where that was
  std::vector<std::string> confirmed;   ///< what that says
  std::vector<std::string> file;  ///< what differs from what was asked for in what was written
};

OptimizeAccount account_of(const Optimized& result, const ImportedModel& model,
                           const OptimizeConfig& config, const RuleSet& rules);
/// Of `--method simplify`; `left_out`: what there was no time to compare (TriedGraph).
OptimizeAccount account_of_simplified(int64_t nodes_before, int64_t nodes_after,
                                      const std::string& left_out = {});
/// As the console shows it, all but `file`.
std::string text_of(const OptimizeAccount& account);

/// "2 of 10 nodes are untouched".
std::string untouched_sentence(const ImportedModel& model);
/// The line of `--json`.
Json to_json(const std::string& file, const ImportedModel& model, const Optimized& result,
             const OptimizeConfig& config, const RuleSet& rules);

}  // namespace reverie
