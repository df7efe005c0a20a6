#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/ir/graph.h"

namespace reverie {

/// A graph of one operator. Its present inputs are graph inputs "0", "1", ... in order, except that
/// those with a weight in `constants` (null where there is none; may be shorter) are that
/// constant. All its outputs are outputs of the graph.
Graph node_graph(const OpSchema& op, std::shared_ptr<const Attributes> attributes,
                 std::span<const TensorType> inputs, std::span<const TensorType> outputs,
                 std::span<const WeightPtr> constants = {});

}  // namespace reverie
