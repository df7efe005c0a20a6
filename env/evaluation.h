#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/json.h"
#include "env/environment.h"

namespace reverie {

/// Where a method ended, in the environment's own terms: a rewritten graph, a placement.
class Solution {
 public:
  virtual ~Solution() = default;
};

/// A result that was the best when it was found.
struct BestSoFar {
  double seconds = 0;
  double best = 0;  ///< its objective
};

/// What one run of a method from a start state found, and what that took.
struct MethodResult {
  double best = 0;  ///< objective of the best feasible state; EnvSpec::worst(): none was
  std::vector<double> metrics;  ///< of that state, as EnvSpec::metrics; empty where there was none
  std::shared_ptr<const Solution> solution;  ///< null where the environment has none
  EnvCounters work;
  int64_t candidates = 0;  ///< choices that were looked at
  double seconds = 0;
  std::vector<BestSoFar> trace;  ///< the start first
};

struct MethodLimits {
  uint64_t seed = 0;
  double seconds = 0;  ///< 0: none
};

/// Budget of a method that gets the time of the sampled policy.
inline constexpr char kEqualTime[] = "as long as the sampled policy";

/// A way to solve the environment, to compare a policy with.
struct EvaluationMethod {
  std::string name;
  std::string budget;       ///< what it may do, for a person: "100 expansions"; may be empty
  bool draws = false;       ///< another seed may give another result
  bool equal_time = false;  ///< it gets the seconds that the sampled policy took
  std::function<MethodResult(const MethodLimits&)> run;
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

/// The best result of a method, as the environment is asked to describe it.
struct FinishedMethod {
  std::string method;
  std::shared_ptr<const Solution> solution;
  Artifact artifact;
};

/// What an environment adds to the report on a start state.
struct CaseDescription {
  std::vector<std::string> sentences;
  /// Columns of the table: the heading and a cell for each finished method.
  std::vector<std::pair<std::string, std::vector<std::string>>> columns;
  std::vector<Json> details;       ///< for each finished method an object, or null
  std::vector<std::string> plots;  ///< <svg> elements (core/report/svg.h)
};

/// A start state that methods are compared on.
class EvaluationCase {
 public:
  virtual ~EvaluationCase() = default;

  /// The environment with this start state alone, and with nothing looked up yet: states may share
  /// what they looked up, and the first method would pay for all.
  virtual std::unique_ptr<Environment> make() const = 0;
  virtual std::vector<EvaluationMethod> baselines() const = 0;
  /// Look-ups and measurements so far, where methods share what counts them. Otherwise those of
  /// each method's own environment count.
  virtual std::optional<EnvCounters> shared_counters() const { return std::nullopt; }

  /// The best state of an episode that was played in such an environment.
  virtual std::shared_ptr<const Solution> solution(const Environment&) const { return nullptr; }
  virtual bool equal(const Solution& a, const Solution& b) const { return &a == &b; }
  /// Verifies a solution of the method and writes it below `directory`, that of the report.
  /// InputError when it is wrong or cannot be verified.
  virtual Artifact write(const Solution&, const std::string& /*method*/,
                         const std::string& /*directory*/) const {
    return {};
  }
  /// Measures solutions in turn, in so many rounds. The first is the start state's.
  virtual Measurements measure(std::span<const std::shared_ptr<const Solution>>,
                               int64_t /*rounds*/) const {
    return {};
  }
  virtual CaseDescription describe(std::span<const FinishedMethod>) const { return {}; }
};

/// All cases of an evaluation.
class EvaluationCases {
 public:
  virtual ~EvaluationCases() = default;
  /// Of an environment with all start states.
  virtual const EnvSpec& spec() const = 0;
  /// Each one line for a person.
  virtual std::vector<std::string> warnings() const { return {}; }
  /// One for each start state, in their order. They live as long as this.
  virtual const std::vector<std::unique_ptr<EvaluationCase>>& cases() const = 0;
  /// Source of the objective where that is an estimate or a simulation of what could be measured;
  /// empty: the objective is the thing itself.
  virtual std::string estimated_by() const { return ""; }
  /// The library that results are measured with, with its version; empty: none.
  virtual std::string measured_with() const { return ""; }
  /// What the report says of all cases, once they are evaluated: where metrics and measurements
  /// come from, what was verified.
  virtual std::vector<std::string> sentences() const { return {}; }
};

/// How cases are made.
struct EvaluationPlan {
  uint64_t seed = 0;     ///< of verification
  bool measure = false;  ///< solutions will be measured
  double horizons = 1;   ///< episodes last so many times the environment's horizon
};

/// The cases of any environment: its start states, random and greedy as baselines
/// (env/baselines.h), no solutions.
std::unique_ptr<EvaluationCases> plain_cases(std::unique_ptr<Environment> environment,
                                             std::vector<std::string> warnings);

}  // namespace reverie
