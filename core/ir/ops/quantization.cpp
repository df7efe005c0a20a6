#include "core/base/error.h"
#include "core/ir/ops/common.h"
#include "core/ir/ops/range.h"
#include "core/ir/ops/window.h"

namespace reverie::ops {
namespace {

bool is_byte(DType dtype) { return dtype == DType::kInt8 || dtype == DType::kUInt8; }

void require_bytes(const TensorType& type, std::string_view what) {
  if (!is_byte(type.dtype))
    throw InputError("{} should be int8 or uint8, not {}", what, name_of(type.dtype));
}

/// One number, or one for each of `count`.
void require_each(const TensorType& type, int64_t count, std::string_view what) {
  const bool one = type.rank() <= 1 && type.elements() == 1;
  if (!one && type.shape != Shape{count})
    throw InputError("{} should hold one number or {}, not {}", what, count, to_string(type.shape));
}

void require_scale(const TensorType& type, int64_t count, std::string_view what) {
  require_floating(type);
  require_each(type, count, what);
}

/// A scale for the whole tensor needs no axis, which is then the default.
void normalize_quantizer(Attributes& attributes, std::span<const TensorType> inputs) {
  if (inputs[1].rank() <= 1 && inputs[1].elements() == 1)
    attributes.set("axis", int64_t{1});
  else
    normalize_axis_attribute(attributes, "axis", inputs[0].rank());
}

/// x, scale and perhaps a zero point, which has the scale's shape.
void require_quantizer(const OpContext& node) {
  const TensorType& x = node.inputs[0];
  const bool whole = node.inputs[1].rank() <= 1 && node.inputs[1].elements() == 1;
  const int64_t axis = whole ? 0 : normalize_axis(node.attributes.integer("axis"), x.rank());
  require_scale(node.inputs[1], whole ? 1 : x.shape[static_cast<size_t>(axis)], "the scale");
  if (node.has_input(2)) require_shape(node.inputs[2], node.inputs[1].shape, "the zero point");
}

OpSchema quantizer(std::string name, int64_t flops_per_element) {
  OpSchema row;
  row.name = std::move(name);
  row.min_inputs = 2;
  row.max_inputs = 3;
  row.attributes = {{.name = "axis", .fallback = int64_t{1}}};
  row.normalize = normalize_quantizer;
  row.flops = [flops_per_element](const OpContext& node) {
    return flops_per_element * node.outputs[0].elements();
  };
  row.keeps_constants = true;
  return row;
}

/// Quotient, rounding, sum.
OpSchema quantize_linear() {
  OpSchema row = stepping(quantizer("QuantizeLinear", 3));
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    if (x.dtype != DType::kInt32) require_floating(x);
    require_quantizer(node);
    if (!node.has_input(2)) return Types{{DType::kUInt8, x.shape}};
    require_bytes(node.inputs[2], "the zero point");
    return Types{{node.inputs[2].dtype, x.shape}};
  };
  return row;
}

/// Difference, product.
OpSchema dequantize_linear() {
  OpSchema row = quantizer("DequantizeLinear", 2);
  row.range = range::finite;
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    if (x.dtype != DType::kInt32) require_bytes(x, "what is dequantized");
    require_quantizer(node);
    if (node.has_input(2)) require_dtype(node.inputs[2], x.dtype, "the zero point");
    return Types{{node.inputs[1].dtype, x.shape}};
  };
  return row;
}

/// Two extremes; then as QuantizeLinear.
OpSchema dynamic_quantize_linear() {
  OpSchema row;
  row.name = "DynamicQuantizeLinear";
  row.steps = takes_floats;
  row.min_inputs = row.max_inputs = 1;
  row.min_outputs = row.max_outputs = 3;
  row.infer = [](const OpContext& node) {
    const TensorType& x = node.inputs[0];
    require_floating(x);
    return Types{{DType::kUInt8, x.shape}, {x.dtype, {}}, {DType::kUInt8, {}}};
  };
  row.flops = [](const OpContext& node) { return 5 * node.inputs[0].elements(); };
  return row;
}

/// Of matrices of integers: `a` is input `first`, `b` input `second`.
Shape product_shape(const OpContext& node, size_t first, size_t second) {
  require_bytes(node.inputs[first], "the left matrix");
  require_bytes(node.inputs[second], "the right matrix");
  const Shape& a = node.inputs[first].shape;
  const Shape& b = node.inputs[second].shape;
  if (a.size() < 2 || b.size() < 2) throw InputError("needs matrices");
  if (a.back() != b[b.size() - 2])
    throw InputError("inner extents {} and {} differ", a.back(), b[b.size() - 2]);
  Shape result = broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  result.push_back(a[a.size() - 2]);
  result.push_back(b.back());
  return result;
}

void require_zero_point(const OpContext& node, size_t index, size_t of, int64_t count) {
  if (!node.has_input(index)) return;
  require_dtype(node.inputs[index], node.inputs[of].dtype, "a zero point");
  require_each(node.inputs[index], count, "a zero point");
}

int64_t product_flops(const OpContext& node) {
  return 2 * node.outputs[0].elements() * node.inputs[0].shape.back();
}

int64_t convolution_flops(const OpContext& node, size_t filter) {
  const Shape& shape = node.inputs[filter].shape;
  return 2 * node.outputs[0].elements() * element_count(Shape(shape.begin() + 1, shape.end()));
}

OpSchema matmul_integer() {
  OpSchema row;
  row.name = "MatMulInteger";
  row.min_inputs = 2;
  row.max_inputs = 4;
  row.infer = [](const OpContext& node) {
    Shape result = product_shape(node, 0, 1);
    require_zero_point(node, 2, 0, result[result.size() - 2]);
    require_zero_point(node, 3, 1, result.back());
    return Types{{DType::kInt32, std::move(result)}};
  };
  row.flops = product_flops;
  return row;
}

OpSchema qlinear_matmul() {
  OpSchema row;
  row.name = "QLinearMatMul";
  row.steps = takes_floats;
  row.min_inputs = row.max_inputs = 8;
  row.infer = [](const OpContext& node) {
    Shape result = product_shape(node, 0, 3);
    require_scale(node.inputs[1], 1, "the scale of a");
    require_scale(node.inputs[4], result.back(), "the scale of b");
    require_scale(node.inputs[6], 1, "the scale of y");
    require_zero_point(node, 2, 0, 1);
    require_zero_point(node, 5, 3, result.back());
    require_bytes(node.inputs[7], "the zero point of y");
    require_each(node.inputs[7], 1, "the zero point of y");
    return Types{{node.inputs[7].dtype, std::move(result)}};
  };
  row.flops = product_flops;
  return row;
}

OpSchema integer_convolution(std::string name, int min_inputs, int max_inputs, size_t filter) {
  OpSchema row;
  row.name = std::move(name);
  row.min_inputs = min_inputs;
  row.max_inputs = max_inputs;
  row.attributes = {optional("strides"),
                    optional("pads"),
                    optional("dilations"),
                    {.name = "group", .fallback = int64_t{1}}};
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    fill_in_window(attributes, inputs[0], true);
  };
  row.flops = [filter](const OpContext& node) { return convolution_flops(node, filter); };
  return row;
}

OpSchema conv_integer() {
  OpSchema row = integer_convolution("ConvInteger", 2, 4, 1);
  row.infer = [](const OpContext& node) {
    require_bytes(node.inputs[0], "the image");
    require_bytes(node.inputs[1], "the filter");
    Shape result = convolution_shape(node, node.inputs[1].shape);
    require_zero_point(node, 2, 0, 1);
    require_zero_point(node, 3, 1, result[1]);
    return Types{{DType::kInt32, std::move(result)}};
  };
  return row;
}

OpSchema qlinear_conv() {
  OpSchema row = stepping(integer_convolution("QLinearConv", 8, 9, 3));
  row.infer = [](const OpContext& node) {
    require_bytes(node.inputs[0], "the image");
    require_bytes(node.inputs[3], "the filter");
    Shape result = convolution_shape(node, node.inputs[3].shape);
    require_scale(node.inputs[1], 1, "the scale of x");
    require_scale(node.inputs[4], result[1], "the scale of w");
    require_scale(node.inputs[6], 1, "the scale of y");
    require_zero_point(node, 2, 0, 1);
    require_zero_point(node, 5, 3, result[1]);
    require_bytes(node.inputs[7], "the zero point of y");
    require_each(node.inputs[7], 1, "the zero point of y");
    if (node.has_input(8)) {
      require_dtype(node.inputs[8], DType::kInt32, "the bias");
      require_shape(node.inputs[8], {result[1]}, "the bias");
    }
    return Types{{node.inputs[7].dtype, std::move(result)}};
  };
  return row;
}

}  // namespace

std::vector<OpSchema> quantization() {
  return {quantize_linear(), dequantize_linear(), dynamic_quantize_linear(),
          matmul_integer(),  qlinear_matmul(),    conv_integer(),
          qlinear_conv()};
}

}  // namespace reverie::ops
