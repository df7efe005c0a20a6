#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace reverie::testing {

/// Nodes of a newer opset that the operator table knows, and the same at opset 17. They read x, of
/// type float[2, 4, 5, 5], and make y. In ONNX's text form.
struct NewerNodes {
  int opset;
  std::string nodes;
  std::string at_17;
};

/// Nodes of a newer opset that stay as they are; `shape` is that of y, between two nodes of the
/// table.
struct UntouchedNodes {
  int opset;
  std::string nodes;
  std::string shape;
  bool is_inferred = true;  ///< the shape is found without a declaration
};

inline std::string list(const std::string& name, const std::string& entries, int count = 1) {
  return fmt::format("{} = Constant <value = int64[{}] {{{}}}> () ", name, count, entries);
}

/// g, of type float[2, 5, 5, 2], from x.
inline std::string sample_points() {
  return "t = Transpose <perm = [0, 2, 3, 1]> (x) " + list("b", "0") + list("e", "2") +
         list("k", "3") + "g = Slice(t, b, e, k) ";
}

inline const std::vector<NewerNodes>& newer_nodes() {
  static const std::vector<NewerNodes> rows = {
      {18, list("a", "1") + "y = ReduceMean <keepdims = 0> (x, a)",
       "y = ReduceMean <axes = [1], keepdims = 0> (x)"},
      {18, list("a", "-1, 0", 2) + "y = ReduceMax (x, a)", "y = ReduceMax <axes = [-1, 0]> (x)"},
      {18, list("a", "2") + "y = ReduceMin (x, a)", "y = ReduceMin <axes = [2]> (x)"},
      {20, list("a", "2") + "y = ReduceMin (x, a)", "y = ReduceMin <axes = [2]> (x)"},
      {18, "y = ReduceMean (x)", "y = ReduceMean (x)"},
      {18, "z = ReduceMean <noop_with_empty_axes = 1> (x) y = Relu(z)", "y = Relu(x)"},
      {18, "y, b, c = Split <axis = 2, num_outputs = 3> (x)",
       list("s", "2, 2, 1", 3) + "y, b, c = Split <axis = 2> (x, s)"},
      {18, "b, y = Split <axis = 1, num_outputs = 2> (x)", "b, y = Split <axis = 1> (x)"},
      {18, list("s", "1, 3", 2) + "b, y = Split <axis = 1> (x, s)",
       list("s", "1, 3", 2) + "b, y = Split <axis = 1> (x, s)"},
      {18, list("p", "1, 2, 3, 0", 4) + list("a", "3, -3", 2) + "y = Pad(x, p, , a)",
       list("p", "0, 2, 0, 1, 0, 0, 0, 3", 8) + "y = Pad(x, p)"},
      {18,
       list("p", "1, 1, 1, 1", 4) + list("a", "2, 3", 2) +
           "y = Pad <mode = \"reflect\"> (x, p, , a)",
       list("p", "0, 0, 1, 1, 0, 0, 1, 1", 8) + "y = Pad <mode = \"reflect\"> (x, p)"},
      {21, list("p", "0, 1, 0, 0, 0, 0, 2, 0", 8) + "y = Pad(x, p)",
       list("p", "0, 1, 0, 0, 0, 0, 2, 0", 8) + "y = Pad(x, p)"},
      {19, "y = AveragePool <kernel_shape = [2, 2], dilations = [1, 1]> (x)",
       "y = AveragePool <kernel_shape = [2, 2]> (x)"},
      {19, "i = Cast <to = 6, saturate = 1> (x) y = Cast <to = 1> (i)",
       "i = Cast <to = 6> (x) y = Cast <to = 1> (i)"},
      {19, "e = Equal(x, x) y = Cast <to = 1> (e)", "e = Equal(x, x) y = Cast <to = 1> (e)"},
      {19,
       "s = Shape <start = 1> (x) n = Size(x) " + list("m", "-1") +
           "t = Concat <axis = 0> (s, m) y = Reshape(x, t)",
       list("t", "4, 5, 5, -1", 4) + "y = Reshape(x, t)"},
      {20, "s = Shape(x) c = ConstantOfShape <value = float[1] {2}> (s) y = Mul(x, c)",
       "s = Shape(x) c = ConstantOfShape <value = float[1] {2}> (s) y = Mul(x, c)"},
      {21,
       list("a", "0") + "u = Unsqueeze(x, a) t = Transpose <perm = [0, 2, 1, 4, 3]> (u) " +
           "y = Squeeze(t, a)",
       list("a", "0") + "u = Unsqueeze(x, a) t = Transpose <perm = [0, 2, 1, 4, 3]> (u) " +
           "y = Squeeze(t, a)"},
      {21, "f = Flatten <axis = 2> (x) i = Identity(f) y = Softmax(i)",
       "f = Flatten <axis = 2> (x) y = Softmax(f)"},
      {18,
       list("s", "9, 3", 2) + "y = Resize <axes = [2, -1], mode = \"linear\", antialias = 0, "
                              "keep_aspect_ratio_policy = \"stretch\"> (x, , , s)",
       list("s", "2, 4, 9, 3", 4) + "y = Resize <mode = \"linear\"> (x, , , s)"},
      {19, "s = Constant <value = float[2] {2, 1.5}> () y = Resize <axes = [3, 2]> (x, , s)",
       "s = Constant <value = float[4] {1, 1, 1.5, 2}> () y = Resize (x, , s)"},
      {18, "y = LpPool <kernel_shape = [2, 2], dilations = [1, 1], ceil_mode = 0> (x)",
       "y = LpPool <kernel_shape = [2, 2]> (x)"},
      {20, sample_points() + "y = GridSample <mode = \"linear\", align_corners = 1> (x, g)",
       sample_points() + "y = GridSample <mode = \"bilinear\", align_corners = 1> (x, g)"},
      {20, sample_points() + "y = GridSample(x, g)", sample_points() + "y = GridSample(x, g)"},
      {22, "m = MaxPool <kernel_shape = [2, 2]> (x) y = HardSwish(m)",
       "m = MaxPool <kernel_shape = [2, 2]> (x) y = HardSwish(m)"},
      {24, "i = Cast <to = 6, round_mode = \"up\"> (x) y = Cast <to = 1> (i)",
       "i = Cast <to = 6> (x) y = Cast <to = 1> (i)"},
      {19,
       "s = Constant <value = float {0.5}> () z = Constant <value = int8 {3}> () "
       "q = QuantizeLinear <saturate = 1> (x, s, z) y = DequantizeLinear (q, s, z)",
       "s = Constant <value = float {0.5}> () z = Constant <value = int8 {3}> () "
       "q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s, z)"},
      {21,
       "s = Constant <value = float {0.5}> () q = QuantizeLinear <block_size = 0, output_dtype = "
       "0> (x, s) "
       "y = DequantizeLinear <block_size = 0> (q, s)",
       "s = Constant <value = float {0.5}> () q = QuantizeLinear (x, s) y = DequantizeLinear (q, "
       "s)"},
  };
  return rows;
}

inline std::string constant(const std::string& name, const std::string& type,
                            const std::string& entries) {
  return fmt::format("{} = Constant <value = {} {{{}}}> () ", name, type, entries);
}

/// Nodes of operators that no opset up to 17 has, or not with that meaning, and what comes to the
/// same there.
inline const std::vector<NewerNodes>& nodes_of_newer_operators() {
  static const std::string pair =
      constant("g", "float[2]", "1, 2") + constant("b", "float[2]", "-1, 3");
  static const std::string four =
      constant("g", "float[4]", "1, 2, 3, 4") + constant("b", "float[4]", "4, 3, 2, 1");
  static const std::string half = constant("h", "float", "0.5") + constant("one", "float", "1");
  static const std::string grouped = list("s", "2, 2, 50", 3) + "r = Reshape(x, s) f = Shape(x) ";
  static const std::string at = constant("i", "int64[1, 2, 1, 2]", "1, 0, 2, 3") +
                                constant("u", "float[1, 2, 1, 2]", "0.5, -0.5, 0.1, -2");
  static const std::string at_tuples =
      constant("i", "int64[2, 3]", "1, 0, 4, 0, 3, 2") +
      constant("u", "float[2, 5]", "0.1, 0.9, -0.4, -2, 0.3, 0, -0.1, 0.2, 2, -0.8");
  static const std::vector<NewerNodes> rows = {
      {20, "y = Gelu(x)",
       half + constant("t", "float", "1.4142135") +
           "d = Div(x, t) e = Erf(d) a = Add(e, one) m = Mul(x, h) y = Mul(m, a)"},
      {21, "y = Gelu <approximate = \"tanh\"> (x)",
       half + constant("k", "float", "0.044715") + constant("t", "float", "0.7978846") +
           "q = Mul(x, x) p = Mul(q, x) l = Mul(p, k) d = Add(x, l) f = Mul(d, t) e = Tanh(f) "
           "a = Add(e, one) m = Mul(x, h) y = Mul(m, a)"},
      {18, pair + "y = GroupNormalization <num_groups = 2, epsilon = 0.1> (x, g, b)",
       pair + grouped + "n = InstanceNormalization <epsilon = 0.1> (r, g, b) y = Reshape(n, f)"},
      {21, four + "y = GroupNormalization <num_groups = 2, stash_type = 1> (x, g, b)",
       four + grouped + constant("p", "float[2]", "1, 1") + constant("z", "float[2]", "0, 0") +
           list("c", "4, 1, 1", 3) +
           "n = InstanceNormalization(r, p, z) o = Reshape(n, f) k = Reshape(g, c) l = Reshape(b, "
           "c) "
           "m = Mul(o, k) y = Add(m, l)"},
      {18, at + "y = ScatterElements <axis = 1, reduction = \"max\"> (x, i, u)",
       at + "e = GatherElements <axis = 1> (x, i) m = Max(e, u) y = ScatterElements <axis = 1> (x, "
            "i, m)"},
      {18, at + "y = ScatterElements <axis = 1, reduction = \"min\"> (x, i, u)",
       at + "e = GatherElements <axis = 1> (x, i) m = Min(e, u) y = ScatterElements <axis = 1> (x, "
            "i, m)"},
      {19, at_tuples + "y = ScatterND <reduction = \"max\"> (x, i, u)",
       at_tuples + "e = GatherND(x, i) m = Max(e, u) y = ScatterND(x, i, m)"},
      {21, at_tuples + "y = ScatterND <reduction = \"min\"> (x, i, u)",
       at_tuples + "e = GatherND(x, i) m = Min(e, u) y = ScatterND(x, i, m)"},
      {23,
       constant("g", "float[5]", "1, 2, 3, 4, 5") +
           "y = RMSNormalization <axis = 3, epsilon = 0.1> (x, g)",
       constant("g", "float[5]", "1, 2, 3, 4, 5") + constant("e", "float", "0.1") +
           "q = Mul(x, x) m = ReduceMean <axes = [3]> (q) a = Add(m, e) r = Sqrt(a) n = Div(x, r) "
           "y = Mul(n, g)"},
      {24, "y = Swish <alpha = 0.5> (x)", half + "a = Mul(x, h) s = Sigmoid(a) y = Mul(x, s)"},
  };
  return rows;
}

inline const std::vector<UntouchedNodes>& untouched_nodes() {
  static const std::vector<UntouchedNodes> rows = {
      {18, "y = Mish(x)", "2, 4, 5, 5"},
      {18, "i = Cast <to = 6> (x) n = BitwiseNot(i) o = BitwiseAnd(i, n) y = Cast <to = 1> (o)",
       "2, 4, 5, 5"},
      {19, "y = AveragePool <kernel_shape = [2, 2], dilations = [2, 2]> (x)", "2, 4, 3, 3", false},
      {19, list("p", "0, 0, 1, 1, 0, 0, 1, 1", 8) + "y = Pad <mode = \"wrap\"> (x, p)",
       "2, 4, 7, 7"},
      {18, "y = LpPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (x)", "2, 4, 3, 3",
       false},
      {20, sample_points() + "y = GridSample <mode = \"cubic\"> (x, g)", "2, 4, 5, 5", false},
      {18,
       list("s", "3, 3", 2) +
           "y = Resize <axes = [2, 3], antialias = 1, mode = \"linear\"> (x, , , s)",
       "2, 4, 3, 3", false},
      {23, constant("c", "float[9, 2]", "0") + list("p", "1") + "y = RotaryEmbedding(x, c, c)",
       "2, 4, 5, 5"},
      {24, "y = Attention(x, x, x)", "2, 4, 5, 5"},
      {23, "p, k, y = Attention(x, x, x, , x, x)", "2, 4, 10, 5"},
      {24, list("p", "0, 2", 2) + "y = TensorScatter(x, x, p)", "2, 4, 5, 5"},
      {23, "f = Cast <to = 23> (x) y = Cast <to = 1> (f)", "2, 4, 5, 5"},
      {21,
       constant("s", "float", "0.5") +
           "q = QuantizeLinear <output_dtype = 17> (x, s) y = DequantizeLinear(q, s)",
       "2, 4, 5, 5"},
      {18, list("s", "2, 4, 3, 3", 4) + "y = Resize <antialias = 1, mode = \"linear\"> (x, , , s)",
       "2, 4, 3, 3"},
  };
  return rows;
}

/// A model over x in text form; `declared` is the shape of y.
inline std::string newer_model(int opset, const std::string& nodes,
                               const std::string& declared = "n") {
  return fmt::format(
      "<ir_version: {}, opset_import: [\"\" : {}]> g (float[2, 4, 5, 5] x) => (float[{}] y) {{ {} "
      "}}",
      opset <= 18   ? 8
      : opset <= 20 ? 9
                    : 10,
      opset, declared, nodes);
}

}  // namespace reverie::testing
