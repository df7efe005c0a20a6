#include "env/placement/placement_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/words.h"
#include "env/placement/placement_task.h"

namespace reverie {
namespace {

const PlacementTask& placing(const Task& task) { return dynamic_cast<const PlacementTask&>(task); }

}  // namespace

std::string PlacementSolver::unsuited(const Task& task) const {
  const PlacementTask& one = placing(task);
  if (!method_.suits(one.graph()))
    return fmt::format("is for graphs of at most {}, not {}",
                       counted(method_.most_nodes, "operator"), one.graph().size());
  if (!method_.measures && one.is_measured()) return "judges placements by the simulator alone";
  return "";
}

Result PlacementSolver::run(const Task& task, const SearchOptions& limits,
                            const SolverSettings&) const {
  Evaluator evaluator = placing(task).evaluator(limits);
  method_.run(evaluator, limits.seed);
  return placing(task).result(evaluator);
}

std::vector<PlaceMethod> placement_methods(const SolverSettings& settings) {
  std::vector<PlaceMethod> all;
  for (const Solver* solver : solvers_for(PlacementConfig::kKind))
    if (const auto* own = dynamic_cast<const PlacementSolver*>(solver))
      all.push_back(own->method());
    else if (const auto* search = dynamic_cast<const SearchSolver*>(solver))
      all.push_back(search_method(search->name(), search->what(), search->search(settings)));
  return all;
}

std::span<const PlaceMethod> place_methods() {
  static const std::vector<PlaceMethod> methods = [] {
    std::vector<PlaceMethod> listed;
    for (const char* name : {"one_device", "m_topo", "etf", "m_sct", "metis", "heft", "random",
                             "local", "brkga", "annealing", "exact"})
      for (const Solver* solver : solvers_for(PlacementConfig::kKind))
        if (solver->name() == name)
          listed.push_back(dynamic_cast<const PlacementSolver&>(*solver).method());
    return listed;
  }();
  return methods;
}

std::vector<PlaceMethod> usual_methods(const CostGraph& graph, PlacementObjective objective) {
  constexpr std::array kUsual{"one_device", "m_topo", "etf", "heft", "metis", "local", "annealing"};
  const auto is_usual = [&](const std::string& name) {
    if (name == "brkga") return objective == PlacementObjective::kPeakMemory;
    return std::ranges::count(kUsual, name) > 0;
  };
  std::vector<PlaceMethod> usual;
  for (const PlaceMethod& method : place_methods())
    if (is_usual(method.name) && method.suits(graph)) usual.push_back(method);
  return usual;
}

}  // namespace reverie
