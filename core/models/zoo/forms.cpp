#include "core/models/zoo/forms.h"

namespace reverie::zoo {

Value clip(Net& net, const Value& x, float low, float high) {
  if (net.opset() < 11) return net.add("Clip", {x}, {{"min", low}, {"max", high}});
  return net.add("Clip", {x, net.number(low), net.number(high)});
}

Value squeeze(Net& net, const Value& x, const Ints& axes) {
  if (net.opset() < 13) return net.add("Squeeze", {x}, {{"axes", axes}});
  return net.add("Squeeze", {x, net.ints(axes)});
}

Value unsqueeze(Net& net, const Value& x, const Ints& axes) {
  if (net.opset() < 13) return net.add("Unsqueeze", {x}, {{"axes", axes}});
  return net.add("Unsqueeze", {x, net.ints(axes)});
}

Value reduce(Net& net, const std::string& op, const Value& x, const Ints& axes, bool keep) {
  const int64_t keeps = keep ? 1 : 0;
  if (op == "ReduceSum" && net.opset() >= 13)
    return net.add(op, {x, net.ints(axes)}, {{"keepdims", keeps}});
  return net.add(op, {x}, {{"axes", axes}, {"keepdims", keeps}});
}

Value slice(Net& net, const Value& x, int64_t axis, int64_t start, int64_t end, int64_t step) {
  if (net.opset() < 10)
    return net.add("Slice", {x},
                   {{"axes", Ints{axis}}, {"starts", Ints{start}}, {"ends", Ints{end}}});
  const Value axes = net.ints({axis});
  const Value starts = net.ints({start});
  const Value ends = net.ints({end});
  return net.add("Slice", {x, starts, ends, axes, net.ints({step})});
}

Values split(Net& net, const Value& x, int64_t axis, const Ints& sizes) {
  if (net.opset() < 13)
    return net.add_many("Split", {x}, sizes.size(), {{"axis", axis}, {"split", sizes}});
  return net.add_many("Split", {x, net.ints(sizes)}, sizes.size(), {{"axis", axis}});
}

Value pad(Net& net, const Value& x, const Ints& pads, const std::string& mode) {
  if (net.opset() < 11) return net.add("Pad", {x}, {{"mode", mode}, {"pads", pads}});
  return net.add("Pad", {x, net.ints(pads)}, {{"mode", mode}});
}

Value softmax(Net& net, const Value& x, int64_t axis) {
  return net.add("Softmax", {x}, {{"axis", axis}});
}

Value dropout(Net& net, const Value& x) {
  if (net.opset() < 12) return net.add("Dropout", {x}, {{"ratio", 0.5f}});
  return net.add("Dropout", {x, net.number(0.5f)});
}

Value upsample(Net& net, const Value& x, float factor, const std::string& mode) {
  const Value scales = net.constant(floats_tensor({4}, {1, 1, factor, factor}));
  if (net.opset() < 10) return net.add("Upsample", {x, scales}, {{"mode", mode}});
  if (net.opset() < 11) return net.add("Resize", {x, scales}, {{"mode", mode}});
  const std::string coordinates = mode == "nearest" ? "asymmetric" : "pytorch_half_pixel";
  return net.add("Resize", {x, net.constant(floats_tensor({0}, {})), scales},
                 {{"coordinate_transformation_mode", coordinates},
                  {"cubic_coeff_a", -0.75f},
                  {"mode", mode},
                  {"nearest_mode", std::string("floor")}});
}

Value resize_like(Net& net, const Value& x, const Value& like, const std::string& mode) {
  const Value size = shape_of(net, {extent(net, like, 2), extent(net, like, 3)});
  const Value outer = slice(net, net.add("Shape", {x}), 0, 0, 2);
  const Value sizes = concat(net, {outer, cast(net, size, kInt64)}, 0);
  const Value none = net.constant(floats_tensor({0}, {}));
  const std::string coordinates = mode == "nearest" ? "asymmetric" : "pytorch_half_pixel";
  return net.add("Resize", {x, none, none, sizes},
                 {{"coordinate_transformation_mode", coordinates},
                  {"cubic_coeff_a", -0.75f},
                  {"mode", mode},
                  {"nearest_mode", std::string("floor")}});
}

Values top_k(Net& net, const Value& x, int64_t count) {
  if (net.opset() < 10) return net.add_many("TopK", {x}, 2, {{"axis", int64_t{-1}}, {"k", count}});
  return net.add_many("TopK", {x, net.ints({count})}, 2, {{"axis", int64_t{-1}}});
}

Value extent(Net& net, const Value& x, int64_t axis) {
  const Value shape = net.add("Shape", {x});
  return net.add("Gather", {shape, net.integer(axis)}, {{"axis", int64_t{0}}});
}

Value shape_of(Net& net, const Values& extents) {
  Values parts;
  for (const Value& value : extents) parts.push_back(unsqueeze(net, value, {0}));
  return concat(net, parts, 0);
}

Value view(Net& net, const Value& x, const Values& extents) {
  return net.add("Reshape", {x, shape_of(net, extents)});
}

Value reshape(Net& net, const Value& x, const Ints& shape) {
  return net.add("Reshape", {x, net.ints(shape)});
}

Value transpose(Net& net, const Value& x, const Ints& perm) {
  return net.add("Transpose", {x}, {{"perm", perm}});
}

Value concat(Net& net, const Values& values, int64_t axis) {
  return net.add("Concat", values, {{"axis", axis}});
}

Value flatten_by_shape(Net& net, const Value& x) {
  return view(net, x, {extent(net, x, 0), net.integer(-1)});
}

Value cast(Net& net, const Value& x, int32_t type) {
  return net.add("Cast", {x}, {{"to", int64_t{type}}});
}

}  // namespace reverie::zoo
