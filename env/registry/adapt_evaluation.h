#pragma once

#include <memory>
#include <string>

#include "env/registry/registry.h"

namespace reverie {

/// The end of a job.
struct AdaptSolution : Solution {
  explicit AdaptSolution(JobState state) : job(std::move(state)) {}
  JobState job;
};

/// One case for each scenario. Baselines: "random" (one episode, every choice equally likely but
/// NO-OP), "nothing" (no change), "early" (a change at every decision, of blocks in turn, at the
/// lowest rate), "fixed" where AdaptEvaluationConfig has one, and on tables "exhaustive" (all
/// sequences once). Solutions are networks, written as YAML to "networks" below the report.
/// InputError for a fixed sequence that names no action; one that a scenario does not offer is an
/// error of the run.
std::unique_ptr<EvaluationCases> adapt_cases(MadeEnvironment made,
                                             const AdaptEvaluationConfig& how);

}  // namespace reverie
