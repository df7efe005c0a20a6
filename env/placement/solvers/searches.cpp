#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "env/placement/placement_solver.h"
#include "env/placement/search/brkga.h"
#include "env/placement/search/exact.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/search/list_search.h"
#include "env/placement/search/local_search.h"
#include "env/placement/search/multilevel.h"
#include "env/placement/simulator/ordered_placement.h"

namespace reverie {
namespace {

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

void improve(Evaluator& evaluator, uint64_t seed);

/// What is found without fusion until this share of the budget is used: fused greedily, and run as
/// it is.
void add_unfused(Evaluator& evaluator, double until, uint64_t seed) {
  const auto rest = evaluator.rest_until(until);
  if (!rest) return;
  Evaluator unfused(evaluator.graph(), evaluator.topology(), evaluator.objective(), *rest);
  improve(unfused, seed);
  evaluator.charge(unfused.evaluations());
  if (!unfused.has_best()) return;  // it was interrupted
  Placement found = unfused.best();
  evaluator.evaluate(found, Dispatch::kInOrder);
  found.kernel.resize(found.device.size());
  std::iota(found.kernel.begin(), found.kernel.end(), 0);
  if (!evaluator.spent()) evaluator.evaluate(found, Dispatch::kInOrder);
}

/// It begins with the best of the quick heuristics, so that it is never worse than these. METIS is
/// a good start where memory is tight, ETF on several devices. Graphs that are too large for moves
/// of single nodes are searched at several levels, which know no fusion.
void improve(Evaluator& evaluator, uint64_t seed) {
  constexpr std::array kQuick{"m_topo", "etf", "heft", "metis"};
  constexpr double kListShare = 0.4, kListShareToFuse = 0.3, kKernelShare = 0.8;
  constexpr double kShareBesideLevels = 0.6, kLevelShare = 0.9;
  constexpr int kMostForSingleMoves = 3000;
  const bool fuses = !evaluator.fusion().empty();
  const bool has_levels = evaluator.graph().size() > kMostForSingleMoves;
  const auto is_needed = [&](const PlaceMethod& method) {  // levels begin with HEFT
    return fuses || !has_levels || method.name != "heft" || !evaluator.best_outcome().feasible();
  };
  for (const PlaceMethod& method : place_methods())
    if (std::ranges::count(kQuick, method.name) > 0 && method.suits(evaluator.graph()) &&
        !evaluator.spent() && is_needed(method))
      method.run(evaluator, seed);
  if (has_levels && !fuses) return multilevel(evaluator, Rng(seed).fork(3));
  const double share = has_levels ? kShareBesideLevels : 1;
  list_search(evaluator, share * (fuses ? kListShareToFuse : kListShare), Rng(seed).fork(0));
  if (fuses) list_kernels(evaluator, share * kKernelShare, Rng(seed).fork(2));
  if (has_levels) add_unfused(evaluator, kLevelShare, seed);
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

bool add(PlaceMethod method) { return register_solver<PlacementSolver>(std::move(method)); }

const bool kRegistered =
    add({"random", "the best of random devices", random_placements}) &&
    add({"local", "search over list schedules, then iterated local search",
         improve_or_begin_simulated}) &&
    add({"brkga", "a genetic algorithm on random keys",
         [](Evaluator& evaluator, uint64_t seed) {
           brkga(evaluator, {}, pipeline_bias(evaluator.simulator(), evaluator.objective()),
                 Rng(seed));
         }}) &&
    add(search_method("annealing", "simulated annealing from the best device",
                      search::Annealing{.sweeps = 0})) &&
    add({"exact", "branch and bound, with a proof where it ends",
         [](Evaluator& evaluator, uint64_t seed) { exact(evaluator, Rng(seed)); }, true,
         kMostNodesForExact, /*measures=*/false});

}  // namespace
}  // namespace reverie
