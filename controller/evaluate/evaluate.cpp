#include "controller/evaluate/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/evaluate/policy_solver.h"

namespace reverie {
namespace {

/// Stays where it begins.
class NoOp : public Solver {
 public:
  std::string name() const override { return "no-op"; }
  std::string what() const override { return "nothing"; }
  std::string unsuited(const Task&) const override { return ""; }
  Result run(const Task& task, const SearchOptions& limits, const SolverSettings&) const override {
    const std::unique_ptr<Environment> environment = task.environment();
    environment->reset(limits.seed);
    const StepInfo info = environment->info();
    Result result;
    result.best = info.best;
    if (info.feasible) result.metrics = info.metrics;
    result.solution = task.solution(*environment);
    return result;
  }
};

constexpr int64_t kUnlimited = int64_t{1} << 40;

/// It goes on as long as it may: it gets the seconds of the sampled policy.
bool is_endless(const ChosenSolver& chosen) {
  return chosen.budget == 0 && !chosen.solver->budget_unit().empty();
}

std::string budget_text(const ChosenSolver& chosen) {
  if (is_endless(chosen)) return "as long as the sampled policy";
  if (chosen.budget == 0) return "";
  return fmt::format("{} {}", chosen.budget, chosen.solver->budget_unit());
}

/// The evaluation of one start state under way.
class StartEvaluation {
 public:
  StartEvaluation(const Task& task, const EvaluationInputs& inputs, const EvaluationConfig& config)
      : task_(task), inputs_(inputs), config_(config) {
    const std::unique_ptr<Environment> environment = task.environment();
    environment->reset(0);
    spec_ = environment->spec();
    report_.name = spec_.starts.front().name;
    report_.metrics = environment->info().metrics;
    report_.initial = environment->info().objective(spec_);
  }

  StartReport run(const std::vector<ChosenSolver>& solvers) {
    for (const ChosenSolver& solver : solvers) compete(solver);
    for (size_t i = 0; i < solutions_.size(); ++i) verify_and_write(i);
    if (config_.measure != Measuring::kNever) measure();
    describe();
    return std::move(report_);
  }

 private:
  void compete(const ChosenSolver& chosen) {
    const std::string name = chosen.solver->name();
    const int64_t seeds = chosen.solver->draws() ? config_.seeds : 1;
    for (int64_t i = 0; i < seeds; ++i) {
      const uint64_t seed = inputs_.seed + static_cast<uint64_t>(i);
      inputs_.say(fmt::format("{}: {}, seed {}", report_.name, name, seed));
      Result result = run_once(chosen, seed);
      if (i > 0 && !spec_.better(result.best, report_.best.back().best)) continue;
      if (i == 0) {
        report_.best.emplace_back();
        solutions_.emplace_back();
      }
      MethodBest& best = report_.best.back();
      best.method = name;
      best.budget = budget_text(chosen);
      best.seed = seed;
      best.best = result.best;
      best.metrics = std::move(result.metrics);
      solutions_.back() = std::move(result.solution);
    }
  }

  Result run_once(const ChosenSolver& chosen, uint64_t seed) {
    const std::string name = chosen.solver->name();
    const std::optional<EnvCounters> before = task_.shared_counters();
    SearchOptions limits{.budget = chosen.budget, .seed = seed};
    if (is_endless(chosen)) {
      limits.budget = kUnlimited;
      limits.time_limit = std::max(1e-3, policy_seconds_);
    }
    Result result = chosen.solver->run(task_, limits, inputs_.settings);
    if (before) {
      const EnvCounters after = *task_.shared_counters();
      result.work.cost_lookups = after.cost_lookups - before->cost_lookups;
      result.work.measurements = after.measurements - before->measurements;
    }
    if (name == PolicySolver::kSampled) policy_seconds_ = std::max(policy_seconds_, result.seconds);
    report_.runs.push_back(
        {.method = name,
         .seed = seed,
         .best = result.best,
         .improvement_percent = spec_.improvement_percent(report_.initial, result.best),
         .seconds = result.seconds,
         .steps = result.work.steps,
         .candidates = result.candidates,
         .cost_lookups = result.work.cost_lookups,
         .measurements = result.work.measurements,
         .trace = result.trace});
    return result;
  }

  /// The first solver that ended at an equal solution.
  size_t first_equal(size_t index) const {
    size_t first = 0;
    while (first < index &&
           !(solutions_[first] != nullptr && task_.equal(*solutions_[first], *solutions_[index])))
      ++first;
    return first;
  }

  /// The start state's own solution is that of solver 0.
  void verify_and_write(size_t index) {
    if (index == 0 || solutions_[index] == nullptr) return;
    MethodBest& best = report_.best[index];
    if (const size_t twin = first_equal(index); twin < index) {
      best.artifact = report_.best[twin].artifact;
      return;
    }
    inputs_.say(fmt::format("{}: verify the result of {}", report_.name, best.method));
    best.artifact = task_.write(*solutions_[index], best.method, inputs_.directory);
  }

  /// Equal solutions once.
  void measure() {
    if (std::ranges::count(solutions_, nullptr) > 0) return;
    std::vector<std::shared_ptr<const Solution>> distinct;
    std::vector<size_t> place(solutions_.size());
    for (size_t i = 0; i < solutions_.size(); ++i) {
      const size_t first = first_equal(i);
      place[i] = first < i ? place[first] : distinct.size();
      if (first == i) distinct.push_back(solutions_[i]);
    }
    inputs_.say(fmt::format("{}: measure {} rounds", report_.name, config_.rounds));
    const Measurements measured = task_.measure(distinct, config_.rounds);
    if (!measured.refused.empty())
      inputs_.say(fmt::format("{}: not measured: {}", report_.name, measured.refused));
    if (measured.results.empty()) return;
    for (size_t i = 0; i < solutions_.size(); ++i)
      report_.best[i].measured = measured.results.at(place[i]);
  }

  void describe() {
    std::vector<Solved> finished;
    for (size_t i = 0; i < solutions_.size(); ++i)
      finished.push_back({report_.best[i].method, solutions_[i], report_.best[i].artifact});
    report_.described = task_.describe(finished);
  }

  const Task& task_;
  const EvaluationInputs& inputs_;
  const EvaluationConfig& config_;
  EnvSpec spec_;
  double policy_seconds_ = 0;
  std::vector<std::shared_ptr<const Solution>> solutions_;  // of report_.best
  StartReport report_;
};

}  // namespace

StartReport evaluate_start(const Task& task, std::span<const ChosenSolver> others,
                           const EvaluationInputs& inputs, const EvaluationConfig& config) {
  const NoOp no_op;
  const PolicySolver greedy(inputs.policy, /*greedy=*/true), sampled(inputs.policy, false);
  std::vector<ChosenSolver> solvers = {{&no_op, 0}, {&greedy, 0}, {&sampled, config.samples}};
  for (const ChosenSolver& other : others)
    if (other.solver->unsuited(task).empty()) solvers.push_back(other);
  return StartEvaluation(task, inputs, config).run(solvers);
}

}  // namespace reverie
