#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "env/adapt/adapt_config.h"
#include "env/adapt/adapt_environment.h"
#include "env/adapt/search.h"
#include "env/kind.h"
#include "env/solver.h"
#include "env/task.h"

namespace reverie {

/// The end of a job.
struct AdaptSolution : Solution {
  explicit AdaptSolution(JobState state) : job(std::move(state)) {}
  JobState job;
};

/// A scenario. Solutions are networks, written as YAML to "networks" below the report. Searches
/// learn from jobs of another source, where one is given.
class AdaptTask : public Task {
 public:
  /// `prototype` must outlive it.
  AdaptTask(const AdaptEnvironment& prototype, int start, AdaptStart learning);

  std::unique_ptr<Environment> environment() const override;
  bool has_problem() const override { return false; }  // a training cannot be copied and tried
  std::shared_ptr<const Solution> solution(const Environment& played) const override;
  bool equal(const Solution& a, const Solution& b) const override;
  Artifact write(const Solution& solution, const std::string& solver,
                 const std::string& directory) const override;
  TaskDescription describe(std::span<const Solved> solved) const override;

  const EnvSpec& spec() const { return prototype_.spec(); }
  /// Where jobs come from that a solver learns from, and the one whose end counts.
  const AdaptStart& learning() const { return learning_; }
  const AdaptStart& final() const;
  /// What a job came to at its end, after `episodes` that were learned from.
  Result result(const JobState& end, int64_t episodes, double seconds) const;

 private:
  const std::string& name() const { return spec().starts[static_cast<size_t>(start_)].name; }

  const AdaptEnvironment& prototype_;
  int start_;
  AdaptStart learning_;
};

const AdaptTask& adapt_task(const Task& task);

/// A solver of this environment alone.
class AdaptSolver : public Solver {
 public:
  AdaptSolver(std::string name, std::string what)
      : name_(std::move(name)), what_(std::move(what)) {}

  std::string name() const override { return name_; }
  std::string what() const override { return what_; }
  bool draws() const override { return true; }  // as trainings do
  std::string environment() const override { return AdaptConfig::kKind; }
  std::string unsuited(const Task&) const override { return ""; }

 private:
  std::string name_, what_;
};

/// It learns from so many jobs of AdaptTask::learning, and then plays the one of AdaptTask::final.
class AdaptLearner : public AdaptSolver {
 public:
  static constexpr int kEpisodes = 5000;  ///< that the published agent needs

  using AdaptSolver::AdaptSolver;
  std::string budget_unit() const override { return "episodes"; }
  int64_t usual_budget() const override { return kEpisodes; }
};

/// Finds decisions by so many jobs of a scenario.
using AdaptSearch = std::function<Decisions(const AdaptStart& start, int episodes, uint64_t seed)>;
/// Lets a search learn from limits.budget jobs, and plays the final one by what it found.
Result play_found(const AdaptTask& task, const AdaptSearch& find, const SearchOptions& limits);

/// One for each scenario of an AdaptEnvironment. `learning`: as AdaptTask; empty: the scenarios
/// themselves, else of the first.
std::unique_ptr<Tasks> adapt_tasks(MadeEnvironment made,
                                   std::optional<AdaptStart> learning = std::nullopt);

}  // namespace reverie
