#pragma once

#include <string>
#include <utility>

#include "controller/train/trained_policy.h"
#include "env/solver.h"
#include "tools/policy/guided_options.h"

namespace reverie {

/// Beam search that a policy guides, from the start of a task of rewriting.
class GuidedSolver : public Solver {
 public:
  GuidedSolver(TrainedPolicy policy, GuideOptions how) : policy_(std::move(policy)), how_(how) {}

  std::string name() const override { return "policy beam"; }
  std::string what() const override { return "a beam that the policy guides"; }
  std::string budget_unit() const override { return "expansions"; }
  int64_t usual_budget() const override { return 100; }
  std::string environment() const override { return "rewrite"; }
  std::string unsuited(const Task& task) const override;
  /// InputError where the policy gives no probabilities of all actions, too.
  Result run(const Task& task, const SearchOptions& limits,
             const SolverSettings& settings) const override;

 private:
  TrainedPolicy policy_;
  GuideOptions how_;
};

}  // namespace reverie
