#pragma once

#include "core/ir/graph.h"

namespace reverie {

/// The value of a node all of whose inputs are constants known by their value, as known_weight gives
/// it; nullptr when they are not, when known_weight gives none, when more than 2^20 elements take part,
/// or when the operator cannot be evaluated.
WeightPtr fold_small(const Graph& graph, ValueId value);

/// The value of whatever is computed from constants alone, computed as `fold` does
/// (core/exec/reference/reference.h): a formula
/// (core/ir/formula.h) where it is one and all that went in is known by its value; a fill called `name`
/// where large fills went in and all elements came out equal; dense otherwise. InputError where an element
/// is finite, but not in its type.
WeightPtr fold_constant(const Graph& graph, ValueId value, const std::string& name);

}  // namespace reverie
