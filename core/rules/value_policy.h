#pragma once

#include "core/ir/graph.h"
#include "core/rules/instance.h"
#include "core/rules/rule.h"

namespace reverie {

/// The policy on values that LANGUAGE.md states ("Values that are kept"), for what one match would
/// bring.

/// Whether constants that are known keep their precision when they are combined, and nothing that
/// may be infinite is multiplied by zeros that the rule puts in. It depends on what instance_key
/// knows.
bool keeps_values(const Instance& instance, const Graph& graph, const Binding& binding);

/// Whether new constants of 16 bits are computed from weights that are not known
/// (Instance::narrow).
bool computes_narrow_weights(const Instance& instance, const Graph& graph, const Binding& binding);
/// Whether these constants, with the weights of this match, fit their type. Folds them.
bool fits_narrow_types(const Instance& instance, const Graph& graph, const Binding& binding);

/// Whether a constant of this value is one in that type: neither infinite nor rounded by a
/// sixteenth.
bool holds_number(DType dtype, double value);

}  // namespace reverie
