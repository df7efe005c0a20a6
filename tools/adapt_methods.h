#pragma once

#include <functional>
#include <string>

#include "env/task.h"
#include "tools/adapt_scenario.h"

namespace reverie {

/// Where jobs come from. On a table both are the same.
struct AdaptJobs {
  AdaptStart learning;  ///< those that a method learns from
  AdaptStart final;     ///< the one whose end counts
};

/// The methods, for --help.
std::string adapt_methods();

/// Jobs that are played before the one that counts; 0: the method or policy needs none.
int adapt_episodes(const AdaptOptions& options);

/// How the method is called in reports: "early", "published, 5000 episodes", "policy policy.pt".
std::string adapt_decider(const AdaptOptions& options);

/// Plays the method or policy to the end of the final job, an AdaptSolution, when it is called.
/// InputError where there is no such method, or the policy does not fit.
std::function<Result()> adapt_player(const AdaptOptions& options, const AdaptCommandConfig& config,
                                     const AdaptJobs& jobs);

}  // namespace reverie
