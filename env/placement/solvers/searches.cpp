#include <algorithm>
#include <array>
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

/// It begins with the best of the quick heuristics, so that it is never worse than these. METIS is
/// a good start where memory is tight, ETF on several devices. Graphs that are too large for moves
/// of single nodes are searched at several levels.
void improve(Evaluator& evaluator, uint64_t seed) {
  constexpr std::array kQuick{"m_topo", "etf", "heft", "metis"};
  constexpr double kListShare = 0.4, kListShareToFuse = 0.3, kKernelShare = 0.5;
  constexpr int kMostForSingleMoves = 3000;
  const bool fuses = !evaluator.fusion().empty();
  const bool has_levels = !fuses && evaluator.graph().size() > kMostForSingleMoves;
  const auto is_needed = [&](const PlaceMethod& method) {  // levels begin with HEFT
    return !has_levels || method.name != "heft" || !evaluator.best_outcome().feasible();
  };
  for (const PlaceMethod& method : place_methods())
    if (std::ranges::count(kQuick, method.name) > 0 && method.suits(evaluator.graph()) &&
        !evaluator.spent() && is_needed(method))
      method.run(evaluator, seed);
  if (has_levels) return multilevel(evaluator, Rng(seed).fork(3));
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
