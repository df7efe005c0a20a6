#include "env/placement/search/methods.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "core/base/error.h"
#include "core/base/words.h"
#include "env/placement/placement_task.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/search/placement_problem.h"

namespace reverie {
namespace {

const PlacementTask& placing(const Task& task) { return dynamic_cast<const PlacementTask&>(task); }

/// The search's time is the evaluator's budget, from the best device on to where it is spent.
void search_from_one_device(Evaluator& evaluator, uint64_t seed, const Search& search) {
  each_device(evaluator);
  if (evaluator.spent()) return;
  const std::shared_ptr<Evaluator> shared(std::shared_ptr<void>(), &evaluator);
  const auto start = std::make_shared<PlacementProblem>(shared, Placement(evaluator.best()));
  constexpr double kOver = 2;  // whenever the search's clock began
  const auto used = [&] { return evaluator.spent() ? kOver : evaluator.used(); };
  const SearchOptions options{.budget = int64_t{1} << 40,
                              .time_limit = std::max(1 - evaluator.used(), 1e-9),
                              .seed = seed,
                              .clock = used};
  SearchRun run(start, options);
  if (!evaluator.spent()) search(run);
}

}  // namespace

PlaceMethod search_method(std::string name, std::string what, Search search) {
  return {std::move(name), std::move(what),
          [search = std::move(search)](Evaluator& evaluator, uint64_t seed) {
            search_from_one_device(evaluator, seed, search);
          }};
}

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

const PlaceMethod& place_method(std::span<const PlaceMethod> methods, const std::string& name) {
  const auto found = std::ranges::find(methods, name, &PlaceMethod::name);
  if (found != methods.end()) return *found;
  std::vector<std::string> names;
  for (const PlaceMethod& method : methods) names.push_back(method.name);
  throw InputError("no method '{}'; there are {}", name, fmt::join(names, ", "));
}

}  // namespace reverie
