#pragma once

#include <cstdint>
#include <optional>

#include "core/ir/graph.h"
#include "core/ir/tensor.h"

namespace reverie {

/// A small constant whose content is part of what a graph means: a small weight, or at most
/// Weight::kSmallWeight elements computed in a few steps from such alone.

/// Equal for equal contents; 0 where `value` is no such constant.
uint64_t known_content(const Graph& graph, ValueId value);
/// Its elements, in double precision; nothing where it is no such constant, or has more elements.
std::optional<Tensor> known_constant(const Graph& graph, ValueId value);
/// The elements of any constant: floats in double precision, whatever led to them.
Tensor constant_in_doubles(const Graph& graph, ValueId value);
/// Of any constant: equal where the same operators compute it from the same weights.
uint64_t constant_identity(const Graph& graph, ValueId value);

}  // namespace reverie
