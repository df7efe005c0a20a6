#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "env/placement/placement_config.h"
#include "env/placement/search/methods.h"
#include "env/solver.h"

namespace reverie {

/// A method as a solver, as which it is registered (env/placement/solvers).
class PlacementSolver : public Solver {
 public:
  explicit PlacementSolver(PlaceMethod method) : method_(std::move(method)) {}

  std::string name() const override { return method_.name; }
  std::string what() const override { return method_.what; }
  std::string budget_unit() const override { return method_.searches ? "evaluations" : ""; }
  int64_t usual_budget() const override { return method_.searches ? 1000 : 0; }
  bool draws() const override { return method_.searches; }
  std::string environment() const override { return PlacementConfig::kKind; }
  std::string unsuited(const Task& task) const override;
  Result run(const Task& task, const SearchOptions& limits,
             const SolverSettings& settings) const override;
  const PlaceMethod& method() const { return method_; }

 private:
  PlaceMethod method_;
};

/// All solvers that can place a graph, as methods: those of placement, and searches.
std::vector<PlaceMethod> placement_methods(const SolverSettings& settings);

/// Heuristics, and searches that only placement has, as tables list them; without those that need a
/// library that this program was built without.
std::span<const PlaceMethod> place_methods();

/// Those that `reverie place` tries for a graph: heuristics that end in a second or so, local
/// search, annealing, and for kPeakMemory brkga.
std::vector<PlaceMethod> usual_methods(const CostGraph& graph, PlacementObjective objective);

}  // namespace reverie
