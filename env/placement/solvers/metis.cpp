#include "env/placement/placement_solver.h"
#include "env/placement/search/partition.h"

namespace reverie {
namespace {

const bool kRegistered = register_solver<PlacementSolver>(PlaceMethod{
    "metis", "cut into parts by METIS, each of them depth first",
    [](Evaluator& evaluator, uint64_t) {
      evaluator.evaluate(partition(evaluator.simulator(), evaluator.objective()), Dispatch::kReady);
    },
    false});

}  // namespace
}  // namespace reverie
