#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "env/placement/placement_environment.h"
#include "env/placement/search/methods.h"
#include "env/placement/search/place.h"
#include "env/solver.h"
#include "env/task.h"

namespace reverie {

/// A placement to be run in order.
struct PlacementSolution : Solution {
  explicit PlacementSolution(Placement one) : placement(std::move(one)) {}
  Placement placement;
};

/// One graph. Policies place its groups; other solvers place the graph as it was before groups were
/// joined. Solutions are placements, written as JSON to "placements" below the report.
class PlacementTask : public Task {
 public:
  /// `prototype` and `graph`, whose start state `start` is, must outlive it.
  PlacementTask(const PlacementEnvironment& prototype, int start, const CostGraph& graph);

  std::unique_ptr<Environment> environment() const override;
  bool has_problem() const override { return true; }
  /// A PlacementProblem from the best device on.
  std::shared_ptr<const Problem> problem() const override;
  Result result(const Problem& start, SearchOutcome found) const override;
  std::shared_ptr<const Solution> solution(const Environment& played) const override;
  bool equal(const Solution& a, const Solution& b) const override;
  Artifact write(const Solution& solution, const std::string& solver,
                 const std::string& directory) const override;
  Measurements measure(std::span<const std::shared_ptr<const Solution>> solutions,
                       int64_t rounds) const override;
  TaskDescription describe(std::span<const Solved> solved) const override;

  const CostGraph& graph() const { return graph_; }
  bool is_measured() const { return static_cast<bool>(measure_); }
  /// What judges placements here. `limits`: its budget counts placements.
  Evaluator evaluator(const SearchOptions& limits) const;
  /// What it holds best.
  Result result(const Evaluator& evaluator) const;

 private:
  const EnvSpec& spec() const { return prototype_.spec(); }
  const Topology& topology() const { return prototype_.topology(); }
  const std::string& name() const { return spec().starts[static_cast<size_t>(start_)].name; }
  PlaceResult shown(const std::string& solver, const Placement& placement) const;

  const PlacementEnvironment& prototype_;
  int start_;
  const CostGraph& graph_;
  std::vector<double> fusion_;  ///< of an Evaluator
  Picoseconds bound_;
  MeasureSchedule measure_;  ///< empty where makespans are simulated
};

/// One for each graph of the environment; `whole`: before groups were joined, by start state.
std::unique_ptr<Tasks> placement_tasks(std::unique_ptr<PlacementEnvironment> environment,
                                       std::vector<CostGraph> whole,
                                       std::vector<std::string> warnings);

}  // namespace reverie
