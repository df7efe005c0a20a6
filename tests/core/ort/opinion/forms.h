#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/ir/types.h"

namespace reverie::testing {

/// A constant of single precision in ONNX's text form, its elements between -1 and 1 and no two
/// alike.
inline std::string weight(const std::string& name, const Shape& shape, double around = 0) {
  std::string extents, elements;
  for (const int64_t extent : shape)
    extents += fmt::format("{}{}", extents.empty() ? "" : ", ", extent);
  for (int64_t i = 0; i < element_count(shape); ++i)
    elements += fmt::format("{}{:.4f}", i == 0 ? "" : ", ",
                            around + std::sin(1.0 + 1.7 * static_cast<double>(i)));
  return fmt::format("{} = Constant <value = float[{}] {{{}}}> () ", name, extents, elements);
}

inline std::string integers(const std::string& name, const std::vector<int64_t>& entries) {
  return fmt::format("{} = Constant <value = int64[{}] {{{}}}> () ", name, entries.size(),
                     fmt::join(entries, ", "));
}

inline std::string floats(const std::string& name, const std::vector<double>& entries) {
  std::string text;
  for (const double entry : entries)
    text += fmt::format("{}{:.3f}", text.empty() ? "" : ", ", entry);
  return fmt::format("{} = Constant <value = float[{}] {{{}}}> () ", name, entries.size(), text);
}

inline std::string number(const std::string& name, double value) {
  return fmt::format("{} = Constant <value = float {{{:.3f}}}> () ", name, value);
}

inline void add_windows(std::vector<std::string>* forms) {
  const std::string image = weight("w", {4, 2, 3, 3}), transposed = weight("w", {4, 2, 3, 2});
  for (const char* more : {"", ", pads = [1, 0, 1, 2]", ", strides = [2, 3], dilations = [1, 2]",
                           ", auto_pad = \"SAME_UPPER\", strides = [2, 2]",
                           ", auto_pad = \"SAME_LOWER\", strides = [2, 2]",
                           ", auto_pad = \"VALID\", kernel_shape = [3, 3]"})
    forms->push_back(image + fmt::format("y = Conv <group = 2{}> (x, w)", more));
  for (const char* more : {"", ", pads = [1, 0, 1, 1]",
                           ", strides = [2, 3], dilations = [1, 2], output_padding = [1, 0]",
                           ", auto_pad = \"SAME_UPPER\", strides = [2, 2]",
                           ", auto_pad = \"SAME_LOWER\", strides = [2, 3]",
                           ", output_shape = [10, 11], strides = [2, 2]", ", auto_pad = \"VALID\""})
    forms->push_back(transposed + fmt::format("y = ConvTranspose <group = 1{}> (x, w)", more));
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"})
    for (const char* more :
         {"", ", strides = [2, 2]", ", pads = [1, 0, 1, 1]",
          ", auto_pad = \"SAME_UPPER\", strides = [2, 2]",
          ", auto_pad = \"SAME_LOWER\", strides = [3, 2]", ", auto_pad = \"VALID\"",
          ", ceil_mode = 1, strides = [2, 2]",
          ", ceil_mode = 1, strides = [3, 3], pads = [1, 1, 1, 1]", ", dilations = [2, 1]",
          ", count_include_pad = 1, pads = [1, 1, 0, 1]",
          ", count_include_pad = 1, ceil_mode = 1, strides = [2, 2], pads = [1, 1, 0, 1]",
          ", p = 1"})
      forms->push_back(fmt::format("y = {} <kernel_shape = [2, 3]{}> (x)", op, more));
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"})
    forms->push_back(fmt::format("y = {}(x)", op));
}

inline void add_resizes(std::vector<std::string>* forms) {
  const std::string scales = floats("s", {1, 1, 2, 1.5}), shrinks = floats("s", {1, 1, 0.6, 0.5});
  forms->push_back("y = Upsample <scales = [1.0, 1.0, 2.0, 3.0]> (x)");
  forms->push_back("y = Upsample <scales = [1.0, 1.0, 2.0, 3.0], mode = \"linear\"> (x)");
  for (const std::string& given : {scales, shrinks, floats("s", {1, 1, 2, 3})})
    for (const char* mode : {"nearest", "linear"})
      for (const char* op : {"Upsample", "Resize"})
        forms->push_back(given + fmt::format("y = {} <mode = \"{}\"> (x, s)", op, mode));
  const std::string roi = "r = Constant <value = float[0] {}> () ";
  for (const std::string& given : {scales, shrinks})
    for (const char* mode : {"nearest", "linear", "cubic"})
      for (const char* coordinates : {"half_pixel", "pytorch_half_pixel", "align_corners",
                                      "asymmetric", "tf_half_pixel_for_nn", "half_pixel_symmetric"})
        forms->push_back(
            given + roi +
            fmt::format(
                "y = Resize <mode = \"{}\", coordinate_transformation_mode = \"{}\"> (x, r, s)",
                mode, coordinates));
  for (const char* nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
    for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners"})
      forms->push_back(
          integers("n", {2, 4, 8, 3}) + roi + "s = Constant <value = float[0] {}> () " +
          fmt::format("y = Resize <nearest_mode = \"{}\", coordinate_transformation_mode = \"{}\"> "
                      "(x, r, s, n)",
                      nearest, coordinates));
  forms->push_back(
      scales + roi +
      "y = Resize <mode = \"cubic\", cubic_coeff_a = -0.5, exclude_outside = 1> (x, r, s)");
}

inline void add_axes(std::vector<std::string>* forms) {
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax", "Flatten"})
    for (const int axis : {-1, 0, 1, 2, 3})
      forms->push_back(fmt::format("y = {} <axis = {}> (x)", op, axis));
  for (const char* op : {"Softmax", "LogSoftmax", "Flatten", "Hardmax"})
    forms->push_back(fmt::format("y = {}(x)", op));
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd",
                         "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"}) {
    forms->push_back(fmt::format("y = {} <axes = [1, 3], keepdims = 0> (x)", op));
    forms->push_back(fmt::format("y = {} <axes = [-2]> (x)", op));
    forms->push_back(integers("a", {1, -1}) + fmt::format("y = {} <keepdims = 0> (x, a)", op));
    forms->push_back(fmt::format("y = {}(x)", op));
    forms->push_back(fmt::format("z = {} <noop_with_empty_axes = 1> (x) y = Neg(z)", op));
  }
  forms->push_back("l = Abs(x) y = ReduceLogSum <keepdims = 0> (l)");
  for (const char* op : {"ArgMax", "ArgMin"})
    for (const char* more :
         {"axis = 2", "axis = -1, keepdims = 0", "axis = 1, select_last_index = 1"})
      forms->push_back(fmt::format("i = {} <{}> (x) y = Cast <to = 1> (i)", op, more));
  forms->push_back("y, i = TopK <k = 2, axis = 2> (x)");
  forms->push_back(integers("k", {3}) + "y, i = TopK <axis = 1> (x, k)");
  forms->push_back(integers("k", {3}) + "y, i = TopK <axis = -1, largest = 0> (x, k)");
  for (const char* more : {"", "<exclusive = 1> ", "<reverse = 1> "})
    forms->push_back("a = Constant <value = int64 {2}> () " +
                     fmt::format("y = CumSum {}(x, a)", more));
  for (const char* op :
       {"LRN <size = 3, alpha = 0.5, beta = 0.7, bias = 2.0>", "LpNormalization",
        "LpNormalization <axis = 1, p = 1>", "MeanVarianceNormalization",
        "DepthToSpace <blocksize = 2>", "DepthToSpace <blocksize = 2, mode = \"CRD\">"})
    forms->push_back(fmt::format("y = {} (x)", op));
}

inline void add_shapes(std::vector<std::string>* forms) {
  forms->push_back("y = Slice <starts = [0, -3], ends = [-1, 100], axes = [1, 3]> (x)");
  forms->push_back("y = Slice <starts = [0, 1], ends = [1, 3]> (x)");
  forms->push_back(integers("b", {-1, 1}) + integers("e", {-100, 5}) + integers("a", {2, -1}) +
                   integers("t", {-2, 2}) + "y = Slice(x, b, e, a, t)");
  forms->push_back(integers("b", {1}) + integers("e", {2}) + "y = Slice(x, b, e)");
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    forms->push_back(fmt::format(
        "y = Pad <pads = [0, 0, 1, 2, 0, 0, 0, 1], mode = \"{}\", value = 1.5> (x)", mode));
    forms->push_back(integers("p", {0, 0, 1, 2, 0, 0, 0, 1}) + number("v", 1.5) +
                     fmt::format("y = Pad <mode = \"{}\"> (x, p, v)", mode));
    forms->push_back(integers("p", {1, 2, 0, -1}) + integers("a", {-1, 2}) +
                     fmt::format("y = Pad <mode = \"{}\"> (x, p, , a)", mode));
  }
  forms->push_back("y = Pad <pads = [0, 0, -1, 2, 0, 0, 0, -2]> (x)");
  forms->push_back("y, b = Split <axis = 1, split = [1, 3]> (x)");
  forms->push_back("y, b = Split <axis = -3> (x)");
  forms->push_back("y, b, c = Split <axis = 2, num_outputs = 3> (x)");
  forms->push_back(integers("s", {3, 1}) + "y, b = Split <axis = 1> (x, s)");
  forms->push_back("a = Unsqueeze <axes = [0, 3]> (x) y = Squeeze <axes = [3]> (a)");
  forms->push_back(integers("i", {0, -2}) + integers("j", {-2}) +
                   "a = Unsqueeze(x, i) y = Squeeze(a, j)");
  forms->push_back("a = Unsqueeze <axes = [0]> (x) y = Squeeze(a)");
  forms->push_back(integers("s", {0, -1, 5}) + "y = Reshape(x, s)");
  forms->push_back(integers("s", {3, 2, 1, 1, 1}) + "y = Expand(x, s)");
  forms->push_back(integers("s", {1, 2, 1, 3}) + "y = Tile(x, s)");
  forms->push_back("y = Transpose(x)");
  forms->push_back(integers("i", {1, -1, 0}) + "y = Gather <axis = 2> (x, i)");
  forms->push_back(
      "i = Constant <value = int64[1, 2, 1, 1] {1, 0}> () y = GatherElements <axis = 1> (x, i)");
  forms->push_back("i = Constant <value = int64[2, 2] {1, 0, 0, 3}> () y = GatherND(x, i)");
  const std::string at = "i = Constant <value = int64[1, 2, 1, 2] {1, 0, 2, 3}> () ";
  forms->push_back(at + weight("u", {1, 2, 1, 2}) + "y = Scatter <axis = 1> (x, i, u)");
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    forms->push_back(
        at + weight("u", {1, 2, 1, 2}) +
        fmt::format("y = ScatterElements <axis = 1, reduction = \"{}\"> (x, i, u)", reduction));
    forms->push_back("i = Constant <value = int64[3, 2] {1, 0, 0, 3, 0, 3}> () " +
                     weight("u", {3, 5, 5}) +
                     fmt::format("y = ScatterND <reduction = \"{}\"> (x, i, u)", reduction));
  }
  forms->push_back(at + weight("u", {1, 2, 1, 2}) + "y = ScatterElements <axis = 1> (x, i, u)");
  forms->push_back(
      "i = Constant <value = int64[2, 2] {1, -1, 0, 3}> () d = Constant <value = int64 {4}> () " +
      floats("v", {0.5, 2}) + "y = OneHot <axis = 1> (i, d, v)");
  for (const char* upper : {"0", "1"})
    forms->push_back(fmt::format("y = Trilu <upper = {}> (x)", upper));
  forms->push_back("s = Shape(x) c = ConstantOfShape <value = float[1] {3}> (s) y = Add(x, c)");
}

inline void add_arithmetic(std::vector<std::string>* forms) {
  for (const char* op : {"Clip",
                         "Clip <min = -0.3>",
                         "Clip <min = -0.3, max = 0.4>",
                         "Elu <alpha = 0.7>",
                         "LeakyRelu <alpha = 0.3>",
                         "HardSigmoid",
                         "HardSigmoid <alpha = 0.4, beta = 0.1>",
                         "Selu",
                         "ThresholdedRelu <alpha = 0.2>",
                         "Softsign",
                         "Softplus",
                         "Celu <alpha = 0.6>",
                         "HardSwish",
                         "Erf",
                         "Round",
                         "Sign",
                         "Sin",
                         "Cos",
                         "Tan",
                         "Atan",
                         "Sinh",
                         "Cosh",
                         "Asinh",
                         "Abs",
                         "Ceil",
                         "Floor",
                         "Exp",
                         "Neg",
                         "Reciprocal",
                         "Relu",
                         "Sigmoid",
                         "Tanh",
                         "Identity",
                         "Dropout",
                         "Dropout <ratio = 0.4>",
                         "Shrink <bias = 0.1, lambd = 0.4>",
                         "EyeLike"})
    forms->push_back(fmt::format("y = {} (x)", op));
  forms->push_back(number("l", -0.2) + number("h", 0.6) + "y = Clip(x, l, h)");
  forms->push_back(number("h", 0.6) + "y = Clip(x, , h)");
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean", "PRelu"}) {
    forms->push_back(weight("w", {4, 1, 5}, 2) + fmt::format("y = {}(x, w)", op));
    forms->push_back(weight("w", {2, 4, 5, 5}, 2) + fmt::format("y = {}(x, w)", op));
  }
  for (const char* op : {"Max", "Min", "Sum", "Mean"})
    forms->push_back(weight("w", {5}) + fmt::format("y = {}(x, w, x)", op));
  forms->push_back(weight("w", {5}) + "a = Abs(x) y = Pow(a, w)");
  for (const char* op : {"Greater", "Less", "Equal", "GreaterOrEqual", "LessOrEqual"})
    forms->push_back(weight("w", {5}) + fmt::format("c = {}(x, w) y = Cast <to = 1> (c)", op));
  forms->push_back(weight("w", {5}) + "c = Greater(x, w) y = Where(c, x, w)");
  for (const int to : {2, 3, 5, 6, 7, 9, 10})
    forms->push_back(number("k", 3) +
                     fmt::format("m = Mul(x, k) c = Cast <to = {}> (m) y = Cast <to = 1> (c)", to));
  for (const char* more : {"", "<fmod = 1> "})
    forms->push_back(number("k", -0.3) + fmt::format("y = Mod {}(x, k)", more));
  forms->push_back(number("k", 9) + "m = Mul(x, k) i = Cast <to = 7> (m) " + integers("d", {-3}) +
                   "r = Mod(i, d) y = Cast <to = 1> (r)");
  forms->push_back(number("k", 9) + "m = Mul(x, k) i = Cast <to = 7> (m) " + integers("d", {-3}) +
                   "r = Div(i, d) y = Cast <to = 1> (r)");
  forms->push_back("l = Log(x) n = IsNaN(l) y = Cast <to = 1> (n)");
}

inline void add_products(std::vector<std::string>* forms) {
  const std::string flat = "f = Flatten <axis = 1> (x) " + weight("w", {100, 3});
  forms->push_back(flat + weight("c", {3}) + "y = Gemm <alpha = 0.5, beta = 2.0> (f, w, c)");
  forms->push_back(flat + weight("c", {2, 1}) + "y = Gemm(f, w, c)");
  forms->push_back(flat + "y = Gemm(f, w)");
  forms->push_back("f = Flatten <axis = 1> (x) t = Transpose(f) " + weight("w", {3, 100}) +
                   weight("c", {1, 3}) + "y = Gemm <transA = 1, transB = 1> (t, w, c)");
  forms->push_back(weight("w", {5, 3}) + "y = MatMul(x, w)");
  forms->push_back(weight("w", {5}) + "y = MatMul(x, w)");
  forms->push_back(weight("w", {5, 3}) + "y = Einsum <equation = \"abcd,de->bace\"> (x, w)");
  forms->push_back("y = Einsum <equation = \"abcc->ba\"> (x)");
  const std::string four = weight("s", {4}, 2) + weight("b", {4}) + weight("m", {4});
  for (const char* more :
       {"", "<epsilon = 0.1> ", "<spatial = 1, momentum = 0.5> ", "<training_mode = 0> "})
    forms->push_back(four + fmt::format("y = BatchNormalization {}(x, s, b, m, s)", more));
  forms->push_back(four + "y = InstanceNormalization <epsilon = 0.1> (x, s, b)");
  forms->push_back(weight("s", {5}) + weight("b", {5}) +
                   "y = LayerNormalization <epsilon = 0.1> (x, s, b)");
  forms->push_back(weight("s", {5, 5}) + "y = LayerNormalization <axis = 2> (x, s)");
  forms->push_back(weight("s", {1}, 0.1) + "z = Constant <value = uint8[1] {128}> () " +
                   "q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z)");
  forms->push_back(weight("s", {4}, 2) +
                   "q = QuantizeLinear <axis = 1> (x, s) y = DequantizeLinear <axis = 1> (q, s)");
  forms->push_back("q, s, z = DynamicQuantizeLinear(x) y = DequantizeLinear(q, s, z)");
}

inline void add_recurrences(std::vector<std::string>* forms) {
  const std::string sequence =
      integers("to", {5, 2, 20}) + "t = Transpose <perm = [3, 0, 1, 2]> (x) q = Reshape(t, to) ";
  struct Kind {
    const char* op;
    int64_t gates;
  };
  for (const Kind kind : {Kind{"RNN", 1}, Kind{"GRU", 3}, Kind{"LSTM", 4}})
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      const int64_t ways = direction == std::string("bidirectional") ? 2 : 1;
      const std::string weights = weight("w", {ways, kind.gates * 3, 20}) +
                                  weight("r", {ways, kind.gates * 3, 3}) +
                                  weight("b", {ways, kind.gates * 6});
      for (const char* more : {"", ", linear_before_reset = 1", ", clip = 0.4"})
        forms->push_back(sequence + weights +
                         fmt::format("y = {} <hidden_size = 3, direction = \"{}\"{}> (q, w, r, b)",
                                     kind.op, direction, more));
    }
}

/// Nodes over x, of type float[2, 4, 5, 5], that make y, in ONNX's text form: in the words of old
/// and of new opsets. Each is right at some opsets, and may mean another thing at each.
inline std::vector<std::string> forms_of_operators() {
  std::vector<std::string> forms;
  for (const auto add : {add_windows, add_resizes, add_axes, add_shapes, add_arithmetic,
                         add_products, add_recurrences})
    add(&forms);
  return forms;
}

}  // namespace reverie::testing
