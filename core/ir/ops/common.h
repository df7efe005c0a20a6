#pragma once

#include <string_view>
#include <vector>

#include "core/ir/ops.h"

/// What several families of the operator table share.
namespace reverie::ops {

using Types = std::vector<TensorType>;

// Each throws InputError with the reason when the condition does not hold.
/// All present inputs have the element type of the first.
void require_same_dtype(const OpContext& node);
void require_numeric(const TensorType& type);
void require_floating(const TensorType& type);
void require_dtype(const TensorType& type, DType dtype, std::string_view what);
/// `value` (an input called `what`) has exactly this shape.
void require_shape(const TensorType& value, const Shape& shape, std::string_view what);
/// `value` broadcasts to `target` without enlarging it.
void require_broadcasts_to(const TensorType& value, const Shape& target, std::string_view what);
/// The attribute `name` lists `count` integers, each at least `low`.
void require_integers(const Attributes& attributes, std::string_view name, size_t count,
                      int64_t low);
/// The extents in the order `perm`, which is a permutation of their axes.
Shape permuted(const Shape& shape, const std::vector<int64_t>& perm);
/// `activation` is none, relu, sigmoid or tanh.
void require_activation(const Attributes& attributes);

// Attributes without a fixed default.
AttrSpec required(std::string name);
AttrSpec optional(std::string name);

// Attributes of the canonical form.
/// Makes the integer attribute `name`, if present, count from the front.
void normalize_axis_attribute(Attributes& attributes, std::string_view name, int rank);
/// Makes the list `name` non-negative, ascending and without duplicates.
void normalize_axes_attribute(Attributes& attributes, std::string_view name, int rank);
void set_if_absent(Attributes& attributes, std::string_view name, AttrValue value);

// Rows.
/// The values of its inputs decide the output's shape (OpSchema::value_shaped).
OpSchema value_shaped(std::string name, int inputs, std::vector<AttrSpec> attributes);
/// The row, with steps wherever an input holds floats (OpSchema::steps).
OpSchema stepping(OpSchema row);
/// An attribute that is a number.
AttrSpec number(std::string name, double fallback);

/// Whether an input holds floats.
bool takes_floats(const OpContext& node);

// FLOPs and bytes.
int64_t total_elements(std::span<const TensorType> types);
int64_t total_bytes(std::span<const TensorType> types);
int64_t one_flop_per_output(const OpContext& node);
int64_t one_flop_per_input(const OpContext& node);
/// What is written is read once; inputs beyond that are not touched.
int64_t reads_what_it_writes(const OpContext& node);
inline int64_t no_bytes(const OpContext&) { return 0; }
/// An added residual and an activation other than none cost one operation per output element each.
int64_t epilogue_flops(const OpContext& node, size_t bias, size_t residual);

}  // namespace reverie::ops
