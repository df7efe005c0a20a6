#pragma once

#include "env/registry/registry.h"

namespace reverie {

/// The entry of the environment `placement`. Inputs: kPlacementInputs.
const EnvironmentKind& placement_kind();

}  // namespace reverie
