#include "env/placement/search/methods.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "core/base/error.h"
#include "env/placement/search/brkga.h"
#include "env/placement/search/exact.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/search/list_search.h"
#include "env/placement/search/local_search.h"
#include "env/placement/search/m_sct.h"
#include "env/placement/search/partition.h"
#include "env/placement/search/placement_problem.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {
namespace {

/// Plans again with a larger reserve until it fits.
template <auto kHeuristic>
void plan(Evaluator& evaluator, uint64_t) {
  for (const double reserve : kReserves) {
    const Placement placement = kHeuristic(evaluator.simulator(), reserve);
    if (evaluator.evaluate(placement, Dispatch::kInOrder).feasible() || evaluator.spent()) return;
  }
}

void each_device(Evaluator& evaluator, uint64_t) {
  for (int device = 0; device < evaluator.topology().size(); ++device)
    evaluator.evaluate(on_one_device(evaluator.simulator(), device), Dispatch::kInOrder);
}

void random_placements(Evaluator& evaluator, uint64_t seed) {
  const PlacementEntities entities(evaluator.graph());
  const auto devices = static_cast<uint64_t>(evaluator.topology().size());
  Placement placement{{}, path_priorities(evaluator.simulator())};
  for (uint64_t i = 0; !evaluator.spent(); ++i) {
    Rng rng = Rng(seed).fork(i);
    std::vector<int> drawn;
    for (int entity = 0; entity < entities.size(); ++entity)
      drawn.push_back(static_cast<int>(rng.below(devices)));
    placement.device = entities.spread(drawn);
    evaluator.evaluate(placement);
  }
}

void cut_into_parts(Evaluator& evaluator, uint64_t) {
  const Placement placement = partition(evaluator.simulator(), evaluator.objective());
  evaluator.evaluate(placement, Dispatch::kReady);
}

/// It begins with the best of the quick heuristics, so that it is never worse than these. METIS is
/// a good start where memory is tight, ETF on several devices.
void improve(Evaluator& evaluator, uint64_t seed) {
  constexpr std::array kQuick{"m_topo", "etf", "heft", "metis"};
  constexpr double kListShare = 0.4, kListShareToFuse = 0.3, kKernelShare = 0.5;
  const bool fuses = !evaluator.fusion().empty();
  for (const PlaceMethod& method : place_methods())
    if (std::ranges::count(kQuick, method.name) > 0 && method.suits(evaluator.graph()) &&
        !evaluator.spent())
      method.run(evaluator, seed);
  list_search(evaluator, fuses ? kListShareToFuse : kListShare, Rng(seed).fork(0));
  if (fuses) list_kernels(evaluator, kListShareToFuse + kKernelShare, Rng(seed).fork(2));
  local_search(evaluator, Placement(evaluator.best()), Rng(seed).fork(1));
}

/// Where runs judge, it begins with what it finds by the simulator, which costs next to nothing.
void improve_or_begin_simulated(Evaluator& evaluator, uint64_t seed) {
  constexpr int64_t kSimulated = 2000;
  if (!evaluator.measure()) return improve(evaluator, seed);
  Evaluator simulated(evaluator.graph(), evaluator.topology(), evaluator.objective(),
                      {.evaluations = kSimulated}, evaluator.fusion());
  improve(simulated, seed);
  evaluator.evaluate(simulated.best(), Dispatch::kInOrder);
  if (!evaluator.spent()) local_search(evaluator, Placement(evaluator.best()), Rng(seed).fork(1));
}

/// The search's time is the evaluator's budget, from the best device on to where it is spent.
void search_from_one_device(Evaluator& evaluator, uint64_t seed, const Search& search) {
  each_device(evaluator, seed);
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

void favour_children(Evaluator& evaluator, uint64_t) {
  const std::vector<int> favourites = favourite_children(evaluator.simulator());
  for (const double reserve : kReserves) {
    const Placement placement = m_sct(evaluator.simulator(), favourites, reserve);
    if (evaluator.evaluate(placement, Dispatch::kInOrder).feasible() || evaluator.spent()) return;
  }
}

std::vector<PlaceMethod> all_methods() {
  std::vector<PlaceMethod> methods{
      {"one_device", "all on the best device", each_device, false},
      {"m_topo", "devices filled in topological order", plan<m_topo>, false},
      {"etf", "the node that can start earliest", plan<etf>, false, 3000},
      {"heft", "the longest path first, where it ends earliest", plan<heft>, false},
      {"random", "the best of random devices", random_placements},
      {"local", "search over list schedules, then iterated local search",
       improve_or_begin_simulated},
      {"brkga", "a genetic algorithm on random keys",
       [](Evaluator& evaluator, uint64_t seed) { brkga(evaluator, {}, {}, Rng(seed)); }},
      {"annealing", "simulated annealing from the best device",
       [](Evaluator& evaluator, uint64_t seed) {
         search_from_one_device(evaluator, seed, search::Annealing{.sweeps = 0});
       }},
      {"exact", "branch and bound, with a proof where it ends",
       [](Evaluator& evaluator, uint64_t seed) { exact(evaluator, Rng(seed)); }, true,
       kMostNodesForExact, /*measures=*/false},
  };
  const PlaceMethod m_sct{"m_sct", "etf, but devices wait for favourite children", favour_children,
                          false, kMostNodesForFavourites};
  if (has_linear_programs()) methods.insert(methods.begin() + 3, m_sct);
  const PlaceMethod metis{"metis", "cut into parts by METIS, each of them depth first",
                          cut_into_parts, false};
  if (has_partitioner()) methods.insert(methods.begin() + 4, metis);
  return methods;
}

}  // namespace

std::span<const PlaceMethod> place_methods() {
  static const std::vector<PlaceMethod> methods = all_methods();
  return methods;
}

PlaceMethod search_method(const SearchSolver& solver, const SolverSettings& settings) {
  return {solver.name(), solver.what(),
          [search = solver.search(settings)](Evaluator& evaluator, uint64_t seed) {
            search_from_one_device(evaluator, seed, search);
          }};
}

const PlaceMethod& place_method(std::span<const PlaceMethod> methods, const std::string& name) {
  const auto found = std::ranges::find(methods, name, &PlaceMethod::name);
  if (found != methods.end()) return *found;
  std::vector<std::string> names;
  for (const PlaceMethod& method : methods) names.push_back(method.name);
  throw InputError("no method '{}'; there are {}", name, fmt::join(names, ", "));
}

}  // namespace reverie
