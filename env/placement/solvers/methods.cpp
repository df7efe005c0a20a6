#include "env/placement/placement_task.h"

namespace reverie {
namespace {

bool register_methods() {
  for (const PlaceMethod& method : place_methods()) register_solver<PlacementSolver>(method);
  return true;
}

const bool kRegistered = register_methods();

}  // namespace
}  // namespace reverie
