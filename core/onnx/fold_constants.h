#pragma once

#include <string>
#include <unordered_set>

#include "core/ir/graph.h"

namespace reverie {

/// A large fill in the place of trained numbers: its value is none of 0, 1, -1 and the infinities,
/// with which masks are made.
bool stands_for_weights(const Weight& weight);

struct Folded {
  WeightPtr weight;        ///< nullptr: it stays as it is
  bool is_stored = false;  ///< a large tensor of the file went in
};

/// The value of a node that shape or mask code computes: its inputs are constants known by their
/// value, or computed by the import, that is not among those that the file holds (`stored`). What
/// is not known by its value then becomes so (Weight::known, called `name`), unless a large tensor
/// of the file went in: what is stored in a shorter form stays so. It has an expression. None where
/// inputs are weights, or no constants, and where more than 2^22 elements take part (the masks of
/// shifted windows have 3.3 million at 800 x 1333 pixels).
Folded fold_computed(const Graph& graph, ValueId value, const std::unordered_set<ValueId>& stored,
                     const std::string& name);

/// `weight`, which is the value of `value`, as one that a file may hold as the expression that
/// `graph` has for it, where that takes less room.
WeightPtr with_expression(const WeightPtr& weight, const Graph& graph, ValueId value);

/// The value of whatever is computed from constants alone, computed as `fold` does
/// (core/exec/reference/reference.h): a formula (core/ir/formula.h) where it is one and all that
/// went in is known by its value; a fill called `name` where large fills went in and all elements
/// came out equal; dense otherwise, but computed again whenever it is needed where it is large: all
/// of them together would be as large as the model. InputError where an element is finite, but not
/// in its type.
WeightPtr fold_constant(const Graph& graph, ValueId value, const std::string& name);

}  // namespace reverie
