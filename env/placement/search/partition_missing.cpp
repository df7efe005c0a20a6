#include "core/base/error.h"
#include "env/placement/search/partition.h"

namespace reverie {

bool has_partitioner() { return false; }

Placement partition(const Simulator&, PlacementObjective) {
  throw InputError("this build has no METIS: install libmetis-dev and build again");
}

}  // namespace reverie
