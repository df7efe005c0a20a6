#pragma once

#include <set>
#include <string>
#include <vector>

#include "tests/core/exec/operator_case.h"
#include "tests/core/exec/transformer_cases.h"

namespace reverie::testing {

inline std::vector<OperatorCase> convolution_cases() {
  const std::string relu = "relu", tanh = "tanh", sigmoid = "sigmoid";
  return {
      CaseBuilder("Conv", {f32({2, 3, 9, 11}), f32({5, 3, 3, 3})}),
      CaseBuilder("Conv", {f32({1, 16, 8, 8}), f32({32, 16, 1, 1})}).constant(1).named("pointwise"),
      CaseBuilder("Conv", {f32({1, 16, 8, 8}), f32({32, 16, 3, 3}), f32({32})})
          .constant(1)
          .constant(2)
          .with("pads", Ints{1, 1, 1, 1})
          .named("bias"),
      CaseBuilder("Conv", {f32({1, 3, 17, 13}), f32({16, 3, 7, 7}), f32({16})})
          .constant(1)
          .with("strides", Ints{2, 2})
          .with("pads", Ints{3, 3, 3, 3})
          .named("stride"),
      CaseBuilder("Conv", {f32({1, 4, 12, 12}), f32({6, 4, 3, 3})})
          .with("dilations", Ints{2, 3})
          .with("pads", Ints{2, 3, 2, 3})
          .named("dilated"),
      CaseBuilder("Conv", {f32({1, 4, 9, 9}), f32({6, 4, 3, 5})})
          .with("pads", Ints{0, 1, 2, 3})
          .with("strides", Ints{1, 2})
          .named("uneven_pads"),
      CaseBuilder("Conv", {f32({2, 32, 7, 7}), f32({32, 4, 3, 3}), f32({32})})
          .constant(1)
          .with("group", int64_t{8})
          .with("pads", Ints{1, 1, 1, 1})
          .named("groups"),
      CaseBuilder("Conv", {f32({1, 24, 10, 10}), f32({24, 1, 3, 3})})
          .constant(1)
          .with("group", int64_t{24})
          .named("depthwise"),
      CaseBuilder("Conv", {f32({1, 6, 5, 5}), f32({9, 2, 2, 2})})
          .with("group", int64_t{3})
          .named("odd_groups"),
      CaseBuilder("Conv", {f32({1, 16, 8, 8}), f32({32, 16, 3, 3}), f32({32}), f32({1, 32, 6, 6})})
          .constant(1)
          .with("activation", relu)
          .named("residual_relu"),
      CaseBuilder("Conv", {f32({1, 5, 8, 8}), f32({7, 5, 3, 3}), {}, f32({1, 7, 6, 6})})
          .with("activation", tanh)
          .named("residual_without_bias"),
      CaseBuilder("Conv", {f32({1, 16, 8, 8}), f32({32, 16, 3, 3}), f32({32}), f32({1, 32, 6, 6})})
          .constant(1)
          .constant(3)
          .named("constant_residual"),
      CaseBuilder("Conv", {f32({1, 5, 8, 8}), f32({7, 5, 3, 3}), {}, f32({1, 7, 6, 6})})
          .constant(3)
          .named("constant_residual_without_bias"),
      CaseBuilder("Conv", {f32({1, 5, 8, 8}), f32({7, 5, 3, 3}), f32({7})})
          .with("activation", sigmoid)
          .named("sigmoid"),
      CaseBuilder("Conv", {f32({2, 4, 15}), f32({6, 4, 3}), f32({6})})
          .with("pads", Ints{1, 0})
          .with("strides", Ints{2})
          .named("one_axis"),
      CaseBuilder("Conv", {f32({1, 2, 5, 6, 7}), f32({3, 2, 2, 3, 2})}).named("three_axes"),
  };
}

inline std::vector<OperatorCase> product_cases() {
  const std::string relu = "relu", tanh = "tanh";
  return {
      CaseBuilder("MatMul", {f32({5, 7}), f32({7, 9})}),
      CaseBuilder("MatMul", {f32({4, 6, 16}), f32({16, 24})}).constant(1).named("weight"),
      CaseBuilder("MatMul", {f32({2, 3, 4, 5}), f32({2, 3, 5, 6})}).named("batches"),
      CaseBuilder("MatMul", {f32({2, 1, 4, 5}), f32({3, 5, 6})}).named("broadcast_batches"),
      CaseBuilder("MatMul", {f32({4, 5}), f32({3, 5, 6})}).named("broadcast_a"),
      CaseBuilder("MatMul", {f32({5}), f32({5, 6})}).named("row"),
      CaseBuilder("MatMul", {f32({3, 4, 5}), f32({5})}).named("column"),
      CaseBuilder("MatMul", {f32({5}), f32({5})}).named("dot"),
      CaseBuilder("MatMul", {f32({4, 6, 16}), f32({16, 24}), f32({24}), f32({4, 6, 24})})
          .constant(1)
          .constant(2)
          .with("activation", tanh)
          .named("fused"),
      CaseBuilder("MatMul", {f32({4, 6, 16}), f32({16, 24}), f32({6, 24})}).named("matrix_bias"),
      CaseBuilder("MatMul", {f32({2, 6, 16}), f32({2, 16, 3}), f32({2, 1, 1}), f32({2, 6, 3})})
          .with("activation", relu)
          .named("batch_bias"),
      CaseBuilder("MatMul", {f32({1, 1, 16}), f32({16, 24}), {}, f32({1, 1, 24})})
          .named("one_row_residual"),
      CaseBuilder("Gemm", {f32({5, 7}), f32({7, 9})}),
      CaseBuilder("Gemm", {f32({7, 5}), f32({9, 7}), f32({9})})
          .constant(1)
          .with("transA", int64_t{1})
          .with("transB", int64_t{1})
          .named("transposed"),
      CaseBuilder("Gemm", {f32({5, 7}), f32({9, 7}), f32({5, 1})})
          .with("transB", int64_t{1})
          .with("alpha", 0.5)
          .named("scaled"),
      CaseBuilder("Gemm", {f32({5, 7}), f32({7, 9}), f32({9})}).with("beta", 0.25).named("beta"),
      CaseBuilder("Gemm", {f32({5, 7}), f32({7, 5}), f32({5, 1})}).named("value_per_row"),
      CaseBuilder("Gemm", {f32({5, 7}), f32({7, 9}), f32({1}), f32({5, 9})})
          .with("alpha", 2.0)
          .with("activation", relu)
          .named("fused"),
  };
}

inline std::vector<OperatorCase> pooling_cases() {
  return {
      CaseBuilder("MaxPool", {f32({1, 16, 9, 9})})
          .with("kernel_shape", Ints{3, 3})
          .with("strides", Ints{2, 2})
          .with("pads", Ints{1, 1, 1, 1}),
      CaseBuilder("MaxPool", {f32({2, 3, 10, 8})})
          .with("kernel_shape", Ints{3, 2})
          .with("strides", Ints{2, 3})
          .with("ceil_mode", int64_t{1})
          .named("ceil"),
      CaseBuilder("MaxPool", {f32({1, 2, 12, 12})})
          .with("kernel_shape", Ints{3, 3})
          .with("dilations", Ints{2, 2})
          .named("dilated"),
      CaseBuilder("MaxPool", {f32({1, 3, 11})})
          .with("kernel_shape", Ints{4})
          .with("pads", Ints{0, 2})
          .named("one_axis"),
      CaseBuilder("AveragePool", {f32({1, 16, 9, 9})})
          .with("kernel_shape", Ints{3, 3})
          .with("pads", Ints{1, 1, 1, 1}),
      CaseBuilder("AveragePool", {f32({1, 5, 9, 9})})
          .with("kernel_shape", Ints{3, 3})
          .with("pads", Ints{1, 0, 1, 2})
          .with("count_include_pad", int64_t{1})
          .named("include_pad"),
      CaseBuilder("AveragePool", {f32({1, 5, 10, 10})})
          .with("kernel_shape", Ints{3, 3})
          .with("strides", Ints{2, 2})
          .with("ceil_mode", int64_t{1})
          .named("ceil"),
      CaseBuilder("AveragePool", {f32({1, 5, 10, 10})})
          .with("kernel_shape", Ints{3, 3})
          .with("strides", Ints{2, 2})
          .with("ceil_mode", int64_t{1})
          .with("pads", Ints{1, 1, 1, 1})
          .with("count_include_pad", int64_t{1})
          .named("ceil_include_pad"),
      CaseBuilder("GlobalAveragePool", {f32({2, 16, 7, 5})}),
      CaseBuilder("GlobalMaxPool", {f32({2, 3, 7, 5})}),
  };
}

inline std::vector<OperatorCase> normalization_cases() {
  return {
      CaseBuilder("BatchNormalization",
                  {f32({2, 16, 5, 5}), f32({16}), f32({16}), f32({16}), f32({16})})
          .constant(1)
          .constant(2)
          .constant(3)
          .constant(4)
          .within(0.5, 2),
      CaseBuilder("BatchNormalization", {f32({3, 5}), f32({5}), f32({5}), f32({5}), f32({5})})
          .within(0.5, 2)
          .with("epsilon", 0.01)
          .named("matrix"),
      CaseBuilder("LayerNormalization", {f32({2, 5, 24}), f32({24}), f32({24})}),
      CaseBuilder("LayerNormalization", {f32({2, 5, 6}), f32({5, 6})})
          .with("axis", int64_t{1})
          .named("two_axes"),
      CaseBuilder("LayerNormalization", {f32({2, 5, 6}), f32({1}), f32({6})}).named("one_scale"),
      CaseBuilder("Softmax", {f32({3, 4, 5})}).within(-5, 5),
      CaseBuilder("Softmax", {f32({3, 4, 5})})
          .with("axis", int64_t{1})
          .within(-50, 50)
          .named("axis"),
      CaseBuilder("Softmax", {f32({6, 4, 5})})
          .with("axis", int64_t{0})
          .within(-5, 5)
          .named("first_axis"),
      CaseBuilder("Softmax", {f32({2, 300, 7})})
          .with("axis", int64_t{1})
          .within(-5, 5)
          .named("long_axis"),
      CaseBuilder("LayerNormalization", {f32({3, 700}), f32({700}), f32({700})}).named("long"),
  };
}

inline std::vector<OperatorCase> reduction_cases() {
  return {
      CaseBuilder("ReduceMean", {f32({2, 3, 20})}).with("axes", Ints{-1}),
      CaseBuilder("ReduceMean", {f32({2, 3, 4, 5})})
          .with("axes", Ints{1, 3})
          .with("keepdims", int64_t{0})
          .named("two_axes"),
      CaseBuilder("ReduceMean", {f32({3, 2, 700})}).with("axes", Ints{-1}).named("long_rows"),
      CaseBuilder("ReduceSum", {f32({150, 70})})
          .within(0, 1)
          .with("axes", Ints{0})
          .named("long_columns"),
      CaseBuilder("ReduceMax", {f32({12, 9, 50})}).with("axes", Ints{0, 2}).named("long_two_axes"),
      CaseBuilder("ReduceSum", {f32({2, 3, 4})}).named("all"),
      CaseBuilder("ReduceSum", {f32({3, 1, 4})}).with("axes", Ints{1}).named("nothing"),
      CaseBuilder("ReduceMax", {f32({2, 3, 4})}).with("axes", Ints{0}),
      CaseBuilder("ReduceMin", {f32({2, 3, 4})}).with("axes", Ints{1}),
      CaseBuilder("ReduceSum", {of(DType::kInt64, {2, 3})}).named("int64"),
  };
}

inline std::vector<OperatorCase> image_cases() {
  return {
      CaseBuilder("ConvTranspose", {f32({2, 3, 5, 4}), f32({3, 6, 3, 2})}),
      CaseBuilder("ConvTranspose", {f32({1, 8, 6, 6}), f32({8, 16, 4, 4}), f32({16})})
          .constant(1)
          .constant(2)
          .with("strides", Ints{2, 2})
          .with("pads", Ints{1, 1, 1, 1})
          .named("doubles"),
      CaseBuilder("ConvTranspose", {f32({1, 4, 5, 5}), f32({4, 3, 3, 3})})
          .constant(1)
          .with("strides", Ints{2, 3})
          .with("pads", Ints{1, 0, 0, 2})
          .with("output_padding", Ints{1, 2})
          .named("output_padding"),
      CaseBuilder("ConvTranspose", {f32({2, 6, 4, 4}), f32({6, 2, 3, 3}), f32({6})})
          .with("group", int64_t{3})
          .with("dilations", Ints{2, 1})
          .named("groups"),
      CaseBuilder("ConvTranspose", {f32({2, 4, 9}), f32({4, 6, 3})})
          .with("strides", Ints{2})
          .named("one_axis"),
      CaseBuilder("ConvTranspose", {f32({1, 2, 3, 4, 3}), f32({2, 3, 2, 3, 2})})
          .named("three_axes"),
      CaseBuilder("LpPool", {f32({1, 5, 9, 9})})
          .with("kernel_shape", Ints{3, 2})
          .with("pads", Ints{1, 0, 1, 1})
          .with("strides", Ints{2, 1}),
      CaseBuilder("GlobalLpPool", {f32({2, 3, 4, 5})}).with("p", int64_t{3}),
      CaseBuilder("InstanceNormalization", {f32({1, 16, 5, 6}), f32({16}), f32({16})}),
      CaseBuilder("InstanceNormalization", {f32({1, 3, 11}), f32({3}), f32({3})}).named("one_axis"),
      CaseBuilder("InstanceNormalization", {f32({2, 4, 5, 6}), f32({4}), f32({4})}).named("batch"),
      CaseBuilder("LRN", {f32({2, 7, 3, 4})}).with("size", int64_t{3}).with("alpha", 0.5),
      CaseBuilder("LpNormalization", {f32({2, 7, 3})}).with("axis", int64_t{1}),
      CaseBuilder("LpNormalization", {f32({2, 7})}).with("p", int64_t{1}).named("absolute"),
  };
}

inline std::vector<OperatorCase> resampling_cases() {
  const std::string linear = "linear", cubic = "cubic", asymmetric = "asymmetric", floor = "floor";
  return {
      CaseBuilder("Resize", {f32({1, 3, 4, 5})}).with("scales", std::vector<double>{1, 1, 2, 3}),
      CaseBuilder("Resize", {f32({1, 3, 4, 5})})
          .with("scales", std::vector<double>{1, 1, 2, 2})
          .with("nearest_mode", floor)
          .with("coordinate_transformation_mode", asymmetric)
          .named("upsample"),
      CaseBuilder("Resize", {f32({1, 3, 7, 5})}).with("sizes", Ints{1, 3, 5, 9}).named("sizes"),
      CaseBuilder("Resize", {of(DType::kInt64, {3, 4})}).with("sizes", Ints{2, 9}).named("int64"),
      CaseBuilder("Resize", {f32({2, 3, 6, 5})})
          .with("sizes", Ints{2, 3, 9, 4})
          .with("mode", linear)
          .named("linear"),
      CaseBuilder("Resize", {f32({2, 8, 6, 5})})
          .with("scales", std::vector<double>{1, 1, 2, 2})
          .with("mode", linear)
          .with("coordinate_transformation_mode", std::string("pytorch_half_pixel"))
          .named("linear_doubles"),
      CaseBuilder("Resize", {f32({1, 2, 4, 4})})
          .with("scales", std::vector<double>{1, 1, 1.6, 1.6})
          .with("mode", linear)
          .named("broken_scale"),
      CaseBuilder("Resize", {f32({1, 2, 4, 4})})
          .with("sizes", Ints{1, 2, 8, 7})
          .with("mode", linear)
          .with("coordinate_transformation_mode", std::string("align_corners"))
          .named("corners"),
      CaseBuilder("Resize", {f32({1, 2, 6, 7})})
          .with("sizes", Ints{1, 2, 11, 4})
          .with("mode", cubic)
          .with("exclude_outside", int64_t{1})
          .named("cubic"),
      CaseBuilder("GridSample", {f32({2, 3, 5, 4}), f32({2, 6, 7, 2})}).within(-1.5, 1.5),
      CaseBuilder("GridSample", {f32({1, 2, 5, 4}), f32({1, 3, 3, 2})})
          .within(-3, 3)
          .with("padding_mode", std::string("reflection"))
          .with("align_corners", int64_t{1})
          .named("reflection"),
      CaseBuilder("GridSample", {f32({1, 2, 5, 4}), f32({1, 3, 3, 2})})
          .within(-3, 3)
          .with("padding_mode", std::string("border"))
          .with("mode", std::string("nearest"))
          .named("border"),
  };
}

inline std::vector<OperatorCase> recurrent_cases() {
  const std::string both = "bidirectional", reverse = "reverse";
  const TensorType none;
  const TensorType lengths = of(DType::kInt32, {2});
  return {
      CaseBuilder("LSTM", {f32({5, 2, 3}), f32({1, 16, 3}), f32({1, 16, 4})})
          .constant(1)
          .constant(2),
      CaseBuilder("LSTM", {f32({4, 2, 3}), f32({2, 16, 3}), f32({2, 16, 4}), f32({2, 32}), none,
                           f32({2, 2, 4}), f32({2, 2, 4}), f32({2, 12})})
          .with("direction", both)
          .named("both"),
      CaseBuilder("LSTM", {f32({2, 5, 3}), f32({1, 16, 3}), f32({1, 16, 4}), none, lengths})
          .with("layout", int64_t{1})
          .with("direction", reverse)
          .named("lengths"),
      CaseBuilder("GRU", {f32({5, 2, 3}), f32({1, 12, 3}), f32({1, 12, 4}), f32({1, 24})}),
      CaseBuilder("GRU", {f32({4, 2, 3}), f32({2, 12, 3}), f32({2, 12, 4}), f32({2, 24}), lengths,
                          f32({2, 2, 4})})
          .with("direction", both)
          .with("linear_before_reset", int64_t{1})
          .named("before_reset"),
      CaseBuilder("RNN", {f32({5, 2, 3}), f32({1, 4, 3}), f32({1, 4, 4})}),
      CaseBuilder("RNN", {f32({2, 5, 3}), f32({1, 4, 3}), f32({1, 4, 4}), f32({1, 8})})
          .with("activations", std::vector<std::string>{"Relu"})
          .with("layout", int64_t{1})
          .named("relu"),
  };
}

inline std::vector<OperatorCase> quantized_cases() {
  const auto byte = [](Shape shape) { return of(DType::kInt8, std::move(shape)); };
  const auto unsigned_byte = [](Shape shape) { return of(DType::kUInt8, std::move(shape)); };
  return {
      CaseBuilder("QuantizeLinear", {f32({4, 5}), f32({}), unsigned_byte({})}).within(0.5, 2),
      CaseBuilder("QuantizeLinear", {f32({3, 4, 2}), f32({4})}).within(0.5, 2).named("axis"),
      CaseBuilder("DequantizeLinear", {byte({6, 3, 2, 2}), f32({6}), byte({6})})
          .constant(0)
          .with("axis", int64_t{0})
          .named("weight"),
      CaseBuilder("DequantizeLinear", {of(DType::kInt32, {6}), f32({})}).named("bias"),
      CaseBuilder("DynamicQuantizeLinear", {f32({7, 9})}),
      CaseBuilder("MatMulInteger",
                  {unsigned_byte({2, 3, 4}), byte({4, 5}), unsigned_byte({}), byte({5})}),
      CaseBuilder("ConvInteger",
                  {unsigned_byte({1, 4, 5, 5}), byte({6, 2, 3, 3}), unsigned_byte({})})
          .with("group", int64_t{2})
          .with("pads", Ints{1, 1, 0, 0}),
      CaseBuilder("QLinearMatMul", {unsigned_byte({3, 4}), f32({}), unsigned_byte({}), byte({4, 5}),
                                    f32({5}), byte({5}), f32({}), byte({})})
          .within(0.5, 2),
      CaseBuilder("QLinearConv",
                  {unsigned_byte({1, 2, 5, 5}), f32({}), unsigned_byte({}), byte({4, 2, 3, 3}),
                   f32({4}), byte({4}), f32({}), unsigned_byte({}), of(DType::kInt32, {4})})
          .within(0.5, 2),
  };
}

inline std::vector<OperatorCase> elementwise_cases() {
  std::vector<OperatorCase> cases;
  for (const char* op : {"Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "HardSigmoid", "HardSwish",
                         "Softplus", "Exp", "Neg", "Abs", "Erf", "Floor", "Ceil"})
    cases.push_back(CaseBuilder(op, {f32({2, 16, 3, 5})}).within(-4, 4));
  for (const char* op : {"Sqrt", "Log", "Reciprocal"})
    cases.push_back(CaseBuilder(op, {f32({7, 9})}).within(0.1, 4));
  for (const char* approximate : {"none", "tanh"})
    cases.push_back(CaseBuilder("Gelu", {f32({2, 16, 3, 5})})
                        .with("approximate", std::string(approximate))
                        .within(-4, 4)
                        .named(approximate));
  cases.push_back(CaseBuilder("Erf", {f32({9000})}).within(-6, 6).named("long"));
  cases.push_back(CaseBuilder("Clip", {f32({5, 6})}).with("min", -0.5).with("max", 0.25));
  cases.push_back(CaseBuilder("Clip", {f32({5, 6})}).with("min", -0.5).named("below"));
  cases.push_back(CaseBuilder("Relu", {of(DType::kInt32, {5})}).named("int32"));
  cases.push_back(CaseBuilder("Abs", {of(DType::kInt64, {5})}).named("int64"));
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Min", "Max"}) {
    const auto binary = [&](Shape a, Shape b, const std::string& name) {
      cases.push_back(
          CaseBuilder(op, {f32(std::move(a)), f32(std::move(b))}).within(0.5, 2).named(name));
    };
    binary({2, 16, 3, 5}, {2, 16, 3, 5}, "equal");
    binary({2, 16, 3, 5}, {16, 1, 1}, "channel");
    binary({4, 6}, {6}, "row");
    binary({6}, {4, 6}, "row_first");
    binary({4, 6}, {}, "scalar");
    binary({}, {4, 6}, "scalar_first");
    binary({4, 1}, {1, 6}, "both");
    binary({}, {}, "scalars");
  }
  cases.push_back(CaseBuilder("Add", {f32({4, 3, 16}), f32({16})}).named("long_row"));
  cases.push_back(CaseBuilder("Mul", {f32({4, 3, 16}), f32({3, 1})}).named("long_rows_by_column"));
  cases.push_back(
      CaseBuilder("Add", {of(DType::kInt64, {4, 6}), of(DType::kInt64, {6})}).named("int64"));
  cases.push_back(
      CaseBuilder("Mul", {of(DType::kFloat64, {4}), of(DType::kFloat64, {4})}).named("float64"));
  for (const double exponent : {2.0, 0.5, 3.0, -1.5}) {
    OperatorCase power{fmt::format("Pow_{}", cases.size()), {}, 0.1, 2};
    const ValueId x = power.graph.add_input("x", f32({4, 6}));
    const auto value = Weight::dense(Tensor::of<float>({}, {static_cast<float>(exponent)}));
    power.graph.add_output("y", power.graph.add("Pow", {x, power.graph.add_constant(value)}));
    cases.push_back(power);
  }
  cases.push_back(CaseBuilder("Pow", {f32({4, 6}), f32({6})}).within(0.1, 2).named("tensor"));
  cases.push_back(CaseBuilder("Equal", {of(DType::kInt64, {9}), of(DType::kInt64, {9})}));
  for (const char* op : {"Greater", "GreaterOrEqual", "Less", "LessOrEqual"}) {
    cases.push_back(CaseBuilder(op, {f32({4, 6}), f32({6})}));
    cases.push_back(
        CaseBuilder(op, {of(DType::kInt64, {4, 6}), of(DType::kInt64, {6})}).named("int64"));
  }
  for (const char* op : {"And", "Or"})
    cases.push_back(CaseBuilder(op, {of(DType::kBool, {4, 6}), of(DType::kBool, {6})}));
  cases.push_back(CaseBuilder("Not", {of(DType::kBool, {9})}));
  cases.push_back(CaseBuilder("Where", {of(DType::kBool, {4, 1}), f32({4, 6}), f32({})}));
  cases.push_back(
      CaseBuilder("Cast", {f32({4, 6})}).with("to", std::string("int32")).within(-9, 9));
  return cases;
}

inline std::vector<OperatorCase> movement_cases() {
  const TensorType index = of(DType::kInt64, {2, 3});
  return {
      CaseBuilder("Reshape", {f32({2, 16, 3})}).with("shape", Ints{4, 24}),
      CaseBuilder("Flatten", {f32({2, 16, 3, 2})}),
      CaseBuilder("Squeeze", {f32({2, 1, 3, 1})}),
      CaseBuilder("Unsqueeze", {of(DType::kInt64, {2, 3})}).with("axes", Ints{0, 2}).named("int64"),
      CaseBuilder("Identity", {of(DType::kFloat64, {2, 3})}).named("float64"),
      CaseBuilder("Dropout", {f32({2, 3})}),
      CaseBuilder("Concat", {f32({2, 3, 4}), f32({2, 5, 4}), f32({2, 1, 4})})
          .with("axis", int64_t{1}),
      CaseBuilder("Concat", {of(DType::kInt32, {2, 3}), of(DType::kInt32, {1, 3})})
          .with("axis", int64_t{0})
          .named("int32"),
      CaseBuilder("Concat", {of(DType::kInt64, {2}), of(DType::kInt64, {1})})
          .with("axis", int64_t{0})
          .named("int64"),
      CaseBuilder("Transpose", {f32({2, 3, 4, 5})}).with("perm", Ints{0, 2, 1, 3}),
      CaseBuilder("Transpose", {f32({3, 5})}).named("matrix"),
      CaseBuilder("Transpose", {f32({2, 40, 70})}).with("perm", Ints{0, 2, 1}).named("tiles"),
      CaseBuilder("Transpose", {f32({2, 9, 3, 12})})
          .with("perm", Ints{3, 2, 0, 1})
          .named("tiles_of_planes"),
      CaseBuilder("Transpose", {of(DType::kBool, {33, 47})}).named("tiles_bool"),
      CaseBuilder("Transpose", {of(DType::kInt64, {33, 47})}).named("tiles_int64"),
      CaseBuilder("Transpose", {of(DType::kBool, {3, 5})}).named("bool"),
      CaseBuilder("Transpose", {of(DType::kInt64, {3, 5})}).named("int64"),
      CaseBuilder("Split", {f32({2, 9, 4})}).with("axis", int64_t{1}).with("split", Ints{2, 3, 4}),
      CaseBuilder("Slice", {f32({5, 6, 7})})
          .with("starts", Ints{1, -3})
          .with("ends", Ints{4, 1000})
          .with("axes", Ints{0, 2}),
      CaseBuilder("Slice", {f32({5, 6})})
          .with("starts", Ints{4, 0})
          .with("ends", Ints{-100, 6})
          .with("steps", Ints{-1, 2})
          .named("steps"),
      CaseBuilder("Gather", {f32({6, 5}), index}),
      CaseBuilder("Gather", {f32({6, 64}), index}).named("long_rows"),
      CaseBuilder("Gather", {of(DType::kBool, {6, 5}), index}).named("bool"),
      CaseBuilder("Gather", {f32({3, 6, 5}), of(DType::kInt32, {4})})
          .with("axis", int64_t{1})
          .named("axis"),
      CaseBuilder("Pad", {f32({2, 3})}).with("pads", Ints{1, 0, 2, 3}).with("value", 0.5),
      CaseBuilder("Pad", {f32({1, 3, 4, 5})})
          .with("pads", Ints{0, 1, 2, 0, 0, 0, 1, 3})
          .named("image"),
      CaseBuilder("Pad", {f32({4, 5})}).with("pads", Ints{-1, 1, 0, 0}).named("removes"),
      CaseBuilder("Pad", {f32({4, 5})})
          .with("pads", Ints{1, 1, 0, 2})
          .with("mode", std::string("reflect"))
          .named("reflect"),
      CaseBuilder("Tile", {f32({2, 3})}).with("repeats", Ints{2, 1}),
      CaseBuilder("Expand", {f32({3, 1})}).with("shape", Ints{2, 3, 4}),
  };
}

/// Operators for which only the reference executor has kernels.
inline std::vector<OperatorCase> uncommon_cases() {
  std::vector<OperatorCase> cases;
  for (const char* op : {"Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Asinh", "Asin", "Acos",
                         "Atanh", "Round", "Sign", "Softsign", "Selu", "Celu", "IsNaN", "IsInf"})
    cases.push_back(CaseBuilder(op, {f32({3, 5})}).within(-0.9, 0.9));
  cases.push_back(CaseBuilder("Acosh", {f32({3, 5})}).within(1.5, 3));
  cases.push_back(CaseBuilder("ThresholdedRelu", {f32({3, 5})}).within(-3, 3));
  for (const char* op :
       {"ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"})
    cases.push_back(CaseBuilder(op, {f32({2, 3, 4})}).with("axes", Ints{1}).within(0.5, 2));
  const TensorType index = of(DType::kInt64, {2, 3});
  const std::string add = "add";
  cases.insert(
      cases.end(),
      {CaseBuilder("PRelu", {f32({2, 3, 4}), f32({3, 1})}).constant(1),
       CaseBuilder("Mod", {f32({5}), f32({5})}).with("fmod", int64_t{1}).within(0.5, 3),
       CaseBuilder("Xor", {of(DType::kBool, {4, 1}), of(DType::kBool, {3})}),
       CaseBuilder("BitShift", {of(DType::kUInt8, {4}), of(DType::kUInt8, {4})})
           .with("direction", std::string("LEFT")),
       CaseBuilder("LogSoftmax", {f32({2, 5})}),
       CaseBuilder("ArgMax", {f32({3, 4})}).with("axis", int64_t{-1}),
       CaseBuilder("ArgMin", {f32({3, 4})}).with("keepdims", int64_t{0}),
       CaseBuilder("TopK", {f32({2, 6})}).with("k", int64_t{3}),
       CaseBuilder("CumSum", {f32({2, 3, 4})}).with("axis", int64_t{1}),
       CaseBuilder("GatherElements", {f32({4, 3}), index}),
       CaseBuilder("GatherND", {f32({4, 4, 4, 2}), index}),
       CaseBuilder("ScatterElements", {f32({4, 3}), index, f32({2, 3})}),
       CaseBuilder("ScatterND", {f32({4, 4, 4, 2}), index, f32({2, 2})}).with("reduction", add),
       CaseBuilder("Einsum", {f32({2, 3, 4}), f32({4, 2, 5})})
           .with("equation", std::string("bik,kbj->ijb")),
       CaseBuilder("ScatterND", {f32({4, 4, 4, 2}), index, f32({2, 2})})
           .with("reduction", std::string("max"))
           .named("max"),
       CaseBuilder("GroupNormalization", {f32({2, 6, 3}), f32({6}), f32({6})})
           .with("num_groups", int64_t{2}),
       CaseBuilder("OneHot", {index, f32({2})}).with("depth", int64_t{4}),
       CaseBuilder("Trilu", {f32({2, 3, 4})}).with("k", int64_t{1}),
       CaseBuilder("DepthToSpace", {f32({1, 8, 2, 3})}).with("blocksize", int64_t{2}),
       CaseBuilder("SpaceToDepth", {f32({1, 2, 4, 6})}).with("blocksize", int64_t{2}),
       CaseBuilder("ReverseSequence", {f32({4, 3, 2}), of(DType::kInt64, {3})})});
  return cases;
}

inline std::set<std::string> uncommon_names() {
  std::set<std::string> names;
  for (const auto family : {uncommon_cases, transformer_cases})
    for (const OperatorCase& one : family()) names.insert(one.name);
  return names;
}

/// Many shapes, attributes and element types of every family of operators.
inline std::vector<OperatorCase> operator_cases() {
  std::vector<OperatorCase> all;
  for (auto family :
       {convolution_cases, product_cases, pooling_cases, normalization_cases, reduction_cases,
        elementwise_cases, movement_cases, image_cases, resampling_cases, recurrent_cases,
        quantized_cases, uncommon_cases, transformer_cases, fused_cases})
    for (OperatorCase& one : family()) all.push_back(std::move(one));
  return all;
}

}  // namespace reverie::testing
