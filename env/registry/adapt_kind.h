#pragma once

#include "env/registry/registry.h"

namespace reverie {

/// The entry of the environment `adapt`. Inputs, each a scenario: NETWORK.yaml and NETWORK.onnx are
/// trained (env.adapt.train), TABLE.json is a table of recorded trainings (env/adapt/table.h).
const EnvironmentKind& adapt_kind();

}  // namespace reverie
