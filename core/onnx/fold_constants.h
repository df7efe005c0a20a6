#pragma once

#include "core/ir/graph.h"

namespace reverie {

/// The value of a node all of whose inputs are small constants, as a weight; nullptr when they are
/// not, when the result would be large, or when the operator cannot be evaluated.
WeightPtr fold_small(const Graph& graph, ValueId value);

/// The value of whatever is computed from constants alone, computed in double precision. A fill
/// called `name` where large fills went in and all elements came out equal.
WeightPtr fold_constant(const Graph& graph, ValueId value, const std::string& name);

}  // namespace reverie
