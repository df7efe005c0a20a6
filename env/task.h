#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/config.h"
#include "core/base/json.h"
#include "core/report/svg.h"
#include "core/search/search_run.h"
#include "env/environment.h"

namespace reverie {

/// Where a solver ended, in the environment's own terms: a rewritten graph, a placement.
class Solution {
 public:
  virtual ~Solution() = default;
};

/// A result that was the best when it was found.
struct BestSoFar {
  double seconds = 0;
  double best = 0;  ///< its objective
};

/// What one run of a solver found, and what that took.
struct Result {
  double best = 0;  ///< objective of the best feasible state; EnvSpec::worst(): none was
  std::vector<double> metrics;  ///< of that state, as EnvSpec::metrics; empty where there was none
  std::shared_ptr<const Solution> solution;  ///< null where the environment has none
  EnvCounters work;
  int64_t candidates = 0;  ///< choices that were looked at
  double seconds = 0;
  std::vector<BestSoFar> trace;  ///< the start first
};

/// A solution that was verified and written.
struct Artifact {
  std::string file;  ///< relative to the report; empty: nothing was written
  Json verified;     ///< how it was verified, an object; null: it was not
};

/// The objective of a solution, measured on hardware. Intervals hold with 95 %.
struct MeasuredResult {
  double median = 0, low = 0, high = 0;  ///< in the unit of the objective
  double gain_percent = 0, gain_low = 0,
         gain_high = 0;  ///< over the first solution of the same round
  int64_t rounds = 0;    ///< 0: not measured
};

struct Measurements {
  std::vector<MeasuredResult> results;  ///< as many as solutions; empty where nothing was measured
  std::string refused;                  ///< why nothing was, for a person; may be empty
};

/// The best result of a solver, as the environment is asked to describe it.
struct Solved {
  std::string solver;
  std::shared_ptr<const Solution> solution;
  Artifact artifact;
};

/// What an environment adds to the report on a task.
struct TaskDescription {
  std::vector<std::string> sentences;
  /// Columns of the table: the heading and a cell for each solver.
  std::vector<std::pair<std::string, std::vector<std::string>>> columns;
  std::vector<Json> details;  ///< for each solver an object, or null
  std::vector<Chart> plots;
};

/// A start state to be solved.
class Task {
 public:
  virtual ~Task() = default;

  /// The environment with this start state alone, and with nothing looked up yet: states may share
  /// what they looked up, and the first solver would pay for all.
  virtual std::unique_ptr<Environment> environment() const = 0;
  /// Whether searches can solve it; by default where the environment is deterministic.
  virtual bool has_problem() const { return environment()->spec().deterministic; }
  /// The same for searches, again with nothing looked up; by default an EnvironmentProblem. Only
  /// where has_problem().
  virtual std::shared_ptr<const Problem> problem() const;
  /// What a search over such a problem found; by default of an EnvironmentProblem.
  virtual Result result(const Problem& start, SearchOutcome found) const;
  /// Look-ups and measurements so far, where solvers share what counts them. Otherwise those of
  /// each solver's own environment count.
  virtual std::optional<EnvCounters> shared_counters() const { return std::nullopt; }

  /// The best state of an episode that was played in such an environment.
  virtual std::shared_ptr<const Solution> solution(const Environment&) const { return nullptr; }
  virtual bool equal(const Solution& a, const Solution& b) const { return &a == &b; }
  /// Verifies a solution of the solver and writes it below `directory`, that of the report.
  /// InputError when it is wrong or cannot be verified.
  virtual Artifact write(const Solution&, const std::string& /*solver*/,
                         const std::string& /*directory*/) const {
    return {};
  }
  /// Measures solutions in turn, in so many rounds. The first is the start state's.
  virtual Measurements measure(std::span<const std::shared_ptr<const Solution>>,
                               int64_t /*rounds*/) const {
    return {};
  }
  virtual TaskDescription describe(std::span<const Solved>) const { return {}; }
};

/// The start states of an environment.
class Tasks {
 public:
  virtual ~Tasks() = default;
  /// Of an environment with all start states.
  virtual const EnvSpec& spec() const = 0;
  /// Each one line for a person.
  virtual std::vector<std::string> warnings() const { return {}; }
  /// One for each start state, in their order. They live as long as this.
  virtual const std::vector<std::unique_ptr<Task>>& tasks() const = 0;
  /// Solvers to compare with where none are named: NAME or NAME:BUDGET (chosen_solvers). Those that
  /// do not suit a task are passed over.
  virtual std::vector<std::string> usual_solvers() const;
  /// Source of the objective where that is an estimate or a simulation of what could be measured;
  /// empty: the objective is the thing itself.
  virtual std::string estimated_by() const { return ""; }
  /// The library that results are measured with, with its version; empty: none.
  virtual std::string measured_with() const { return ""; }
  /// What the report says of all tasks, once they are solved: where metrics and measurements come
  /// from, what was verified.
  virtual std::vector<std::string> sentences() const { return {}; }
};

/// Whether results are measured end to end on hardware; automatic: where costs or rewards are.
enum class Measuring { kAuto, kAlways, kNever };
inline EnumNames<Measuring> enum_names(Measuring) {
  return {{Measuring::kAuto, "auto"}, {Measuring::kAlways, "always"}, {Measuring::kNever, "never"}};
}

/// How tasks are made.
struct TaskPlan {
  uint64_t seed = 0;  ///< of verification
  Measuring measure = Measuring::kNever;
  double horizons = 1;  ///< episodes last so many times the environment's horizon
};

/// Those of any environment: its start states, no solutions.
std::unique_ptr<Tasks> plain_tasks(std::unique_ptr<Environment> environment,
                                   std::vector<std::string> warnings);

}  // namespace reverie
