#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "env/placement/placement_config.h"
#include "env/placement/simulator/evaluator.h"
#include "env/solver.h"

namespace reverie {

/// A way to look for a placement: it has placements evaluated until the evaluator is spent or it
/// has nothing more to try. Equal seeds give equal placements under a budget of evaluations.
struct PlaceMethod {
  std::string name;  ///< on the command line
  std::string what;  ///< it does, in a few words
  std::function<void(Evaluator&, uint64_t seed)> run;
  bool searches = true;  ///< it goes on while there is budget; false: it needs a few evaluations
  int most_nodes = std::numeric_limits<int>::max();  ///< of a graph; above that it takes too long
  bool measures = true;  ///< it can also judge by runs on real devices (Evaluator::measure_by)

  bool suits(const CostGraph& graph) const { return graph.size() <= most_nodes; }
};

/// A search over a PlacementProblem, from the best device on, as long as the evaluator is not
/// spent.
PlaceMethod search_method(std::string name, std::string what, Search search);

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

/// InputError that lists the names where there is none of this name.
const PlaceMethod& place_method(std::span<const PlaceMethod> methods, const std::string& name);

}  // namespace reverie
