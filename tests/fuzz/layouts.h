#pragma once

#include "tests/fuzz/hdf5_image.h"

namespace reverie::fuzz {

/// datasets/FORMAT.md.
Layout rollout_layout();
/// core/cost/table.h.
Layout cost_table_layout();

}  // namespace reverie::fuzz
