#include "env/placement/search/m_sct.h"

#include "env/placement/placement_solver.h"
#include "env/placement/search/heuristics.h"

namespace reverie {
namespace {

void favour_children(Evaluator& evaluator, uint64_t) {
  const std::vector<int> favourites = favourite_children(evaluator.simulator());
  plan(evaluator,
       [&](double reserve) { return m_sct(evaluator.simulator(), favourites, reserve); });
}

const bool kRegistered = register_solver<PlacementSolver>(
    PlaceMethod{"m_sct", "etf, but devices wait for favourite children", favour_children, false,
                kMostNodesForFavourites});

}  // namespace
}  // namespace reverie
