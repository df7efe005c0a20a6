#pragma once

#include <cstdint>
#include <vector>

#include "core/cost/cost_model.h"

namespace reverie {

struct SignatureCount {
  OpSignature signature;
  int64_t count = 0;
};

/// The distinct signatures of the nodes that are work, in the order in which they first occur.
std::vector<SignatureCount> count_signatures(const Graph& graph);

}  // namespace reverie
