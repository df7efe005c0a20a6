#include "env/placement/search/heuristics.h"

#include "env/placement/placement_solver.h"

namespace reverie {
namespace {

template <Placement (*kHeuristic)(const Simulator&, double)>
bool add(const char* name, const char* what, int most_nodes = PlaceMethod().most_nodes) {
  const auto run = [](Evaluator& evaluator, uint64_t) {
    plan(evaluator, [&](double reserve) { return kHeuristic(evaluator.simulator(), reserve); });
  };
  return register_solver<PlacementSolver>(PlaceMethod{name, what, run, false, most_nodes});
}

const bool kRegistered =
    register_solver<PlacementSolver>(
        PlaceMethod{"one_device", "all on the best device",
                    [](Evaluator& evaluator, uint64_t) { each_device(evaluator); }, false}) &&
    add<m_topo>("m_topo", "devices filled in topological order") &&
    add<etf>("etf", "the node that can start earliest", 3000) &&
    add<heft>("heft", "the longest path first, where it ends earliest");

}  // namespace
}  // namespace reverie
