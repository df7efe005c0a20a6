#pragma once

#include "core/models/zoo/net.h"

/// Operators that say the same in other ways at other opsets, and what exporters write for what has
/// no operator.
namespace reverie::zoo {

Value clip(Net& net, const Value& x, float low, float high);
Value squeeze(Net& net, const Value& x, const Ints& axes);
Value unsqueeze(Net& net, const Value& x, const Ints& axes);
Value reduce(Net& net, const std::string& op, const Value& x, const Ints& axes, bool keep = true);
/// x[..., start:end:step, ...] on one axis.
Value slice(Net& net, const Value& x, int64_t axis, int64_t start, int64_t end, int64_t step = 1);
Values split(Net& net, const Value& x, int64_t axis, const Ints& sizes);
/// `pads` as of the Pad operator: begins, then ends.
Value pad(Net& net, const Value& x, const Ints& pads, const std::string& mode = "constant");
Value softmax(Net& net, const Value& x, int64_t axis);
Value dropout(Net& net, const Value& x);
/// Enlarges the last two of four axes: Upsample, or Resize with `mode` nearest or linear.
Value upsample(Net& net, const Value& x, float factor, const std::string& mode);
/// To the height and width of `like`, by way of its shape, as interpolate(size=...) exports.
Value resize_like(Net& net, const Value& x, const Value& like, const std::string& mode);
/// The `count` largest on the last axis: values and indices.
Values top_k(Net& net, const Value& x, int64_t count);

/// One extent of x as a number, by Shape and Gather.
Value extent(Net& net, const Value& x, int64_t axis);
/// Numbers and computed extents to the operand of Reshape: Unsqueeze each, then Concat.
Value shape_of(Net& net, const Values& extents);
/// Reshape to computed extents.
Value view(Net& net, const Value& x, const Values& extents);
/// Reshape to numbers.
Value reshape(Net& net, const Value& x, const Ints& shape);
Value transpose(Net& net, const Value& x, const Ints& perm);
Value concat(Net& net, const Values& values, int64_t axis);
/// x.view(x.size(0), -1) where the batch is symbolic.
Value flatten_by_shape(Net& net, const Value& x);
Value cast(Net& net, const Value& x, int32_t type);

}  // namespace reverie::zoo
