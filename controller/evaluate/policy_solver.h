#pragma once

#include <functional>
#include <string>
#include <utility>

#include "controller/train/trained_policy.h"
#include "core/base/random.h"
#include "env/solver.h"
#include "worldmodel/latent/live.h"

namespace reverie {

/// Plays as many episodes at once as `live` has, greedily or sampled. `look` sees the state of each
/// that has not ended, at first and after every step. False where `must_stop` ended them early.
bool play_episodes(LiveLatentEnvironment& live, Policy& policy, bool greedy, Rng& rng,
                   const std::function<void(const Environment&)>& look,
                   const std::function<bool()>& must_stop);

/// A policy: the best state of so many episodes of the real environment, sampled ones, or of one
/// greedy episode. The environment is seen by the names that the policy knows (env/translated.h).
class PolicySolver : public Solver {
 public:
  PolicySolver(TrainedPolicy policy, bool greedy) : policy_(std::move(policy)), greedy_(greedy) {}

  std::string name() const override { return greedy_ ? "policy (greedy)" : kSampled; }
  std::string what() const override {
    return greedy_ ? "its likeliest actions" : "the best of its episodes";
  }
  std::string budget_unit() const override { return greedy_ ? "" : "episodes"; }
  bool draws() const override { return !greedy_; }
  std::string environment() const override { return policy_.spec().name; }
  std::string unsuited(const Task&) const override { return ""; }
  Result run(const Task& task, const SearchOptions& limits,
             const SolverSettings& settings) const override;

  static constexpr char kSampled[] = "policy (sampled)";

 private:
  TrainedPolicy policy_;
  bool greedy_;
};

}  // namespace reverie
