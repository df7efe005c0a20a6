#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/stop.h"
#include "core/base/stopwatch.h"
#include "env/placement/simulator/fusing_simulator.h"
#include "env/placement/simulator/measure_schedule.h"
#include "env/placement/simulator/placement_cost.h"
#include "env/placement/simulator/simulator.h"

namespace reverie {

/// When a method must end; 0: no limit. The first of them counts.
struct EvaluationBudget {
  int64_t evaluations = 0;
  double seconds = 0;
  double enough = 0;  ///< a cost that cannot be beaten: a lower bound
  StopToken stop = {};
};

/// Judges placements for a method that looks for a good one: counts them, and keeps the best.
/// All methods get their placements judged here, so that equal budgets are equal.
class Evaluator {
 public:
  /// Both must outlive it. `fusion`: priorities of greedy_fusion for placements that say nothing of
  /// kernels; empty: these run unfused. InputError as Simulator.
  Evaluator(const CostGraph& graph, const Topology& topology, PlacementObjective objective,
            EvaluationBudget budget, std::vector<double> fusion = {});

  /// Makespans are those of runs on real devices from now on. What `simulator` says stays.
  void measure_by(MeasureSchedule run) { measure_ = std::move(run); }
  /// Empty where makespans are simulated.
  const MeasureSchedule& measure() const { return measure_; }

  /// Runs a placement and counts it, also where the budget is spent already. InputError as
  /// FusingSimulator::run.
  const Outcome& evaluate(const Placement& placement, Dispatch dispatch = Dispatch::kReady);
  /// Counts placements of the graph that were simulated elsewhere.
  void charge(int64_t evaluations) { evaluations_ += evaluations; }
  double cost(const Outcome& outcome) const { return cost_.of(outcome); }
  /// No further placement may be evaluated.
  bool spent() const;

  int64_t evaluations() const { return evaluations_; }
  /// Since it was made.
  double seconds() const { return watch_.seconds(); }
  /// The share of the budget that is used up, from 0 to 1; 0 without a limit.
  double used() const;
  /// What is left until this share is used, less an evaluation; nullopt: nothing.
  std::optional<EvaluationBudget> rest_until(double share) const;

  bool has_best() const { return !best_.device.empty(); }
  /// The first of the cheapest, with priorities to be run in order (Dispatch::kInOrder) and the
  /// kernels that ran: this gives the schedule that was evaluated. At least one
  /// placement must have been.
  const Placement& best() const { return best_; }
  const Outcome& best_outcome() const { return best_outcome_; }
  /// A method has proved that no placement that keeps groups together costs less.
  void prove(double cost) { proved_ = std::max(proved_, cost); }
  double proved() const { return proved_; }

  const CostGraph& graph() const { return simulator_.plain().graph(); }
  const Topology& topology() const { return simulator_.plain().topology(); }
  PlacementObjective objective() const { return cost_.objective(); }
  const EvaluationBudget& budget() const { return budget_; }
  const std::vector<double>& fusion() const { return fusion_; }
  /// For what a method needs to know of costs, and runs without fusion that it need not pay for.
  Simulator& simulator() { return simulator_.plain(); }

 private:
  const Outcome& judge(const Placement& placement, Dispatch dispatch);

  FusingSimulator simulator_;
  PlacementCost cost_;
  EvaluationBudget budget_;
  std::vector<double> fusion_;
  MeasureSchedule measure_;
  Placement fused_;  ///< the last that was fused by them; its priorities do not count
  Stopwatch watch_;
  int64_t evaluations_ = 0;
  double proved_ = 0;
  Outcome outcome_, best_outcome_;
  Placement best_;
};

}  // namespace reverie
