#pragma once

#include <cstdint>

#include "core/ir/graph.h"

namespace reverie {

/// The lowered graph with operators in the place of as few constants as it takes for its weights to
/// have at most `max_bytes` bytes, as far as that goes: of those that were computed when the model
/// was read (Weight::expression), and of large tensors of one number.
Graph unfolded(Graph graph, int64_t max_bytes);

/// Bytes of the weights that a file of the graph holds, written with that bound.
int64_t bytes_in_a_file(const Graph& graph, int64_t max_bytes);

}  // namespace reverie
