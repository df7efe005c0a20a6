#pragma once

#include <string>
#include <utility>
#include <vector>

namespace reverie::testing {

/// What is wrong with a rule, and the rule.
using PlantedRules = std::vector<std::pair<std::string, std::string>>;

/// Wrong on their own examples.
inline PlantedRules planted_rules() {
  return {
      {"conv and mul drops the multiplier", R"(
rule dropped_multiplier
match
  c = Conv(x, w; strides = [1, 1], dilations = [1, 1], pads = [0, 0, 0, 0], group = 1, activation = "none")
  y = Mul(c, m)
where
  shape(c) == shape(m)
replace
  y = Conv(x, w; strides = [1, 1], dilations = [1, 1], pads = [0, 0, 0, 0], group = 1, activation = "none")
example x: [1, 2, 4, 4], w: [3, 2, 1, 1], m: [1, 3, 4, 4]
)"},
      {"wrong split point", R"(
rule wrong_split_point
match
  y1 = MatMul(x, w1; activation = "none")
  y2 = MatMul(x, w2; activation = "none")
where
  rank(x) == 2, rank(w1) == 2, rank(w2) == 2
  shape(w1) == shape(w2)
replace
  y2, y1 = Split(MatMul(x, Concat(w1, w2; axis = 1); activation = "none"); axis = 1, split = [dim(w1, 1), dim(w2, 1)])
example x: [3, 4], w1: [4, 2], w2: [4, 2]
)"},
      {"wrong axis of Concat", R"(
rule wrong_axis
match
  u = Concat(a, b; axis = 1)
  v = Concat(c, d; axis = 1)
  y = Concat(u, v; axis = 0)
where
  rank(a) == 2, shape(a) == shape(b), shape(b) == shape(c), shape(c) == shape(d)
replace
  y = Concat(Concat(a, c; axis = 1), Concat(b, d; axis = 1); axis = 0)
example a: [2, 3], b: [2, 3], c: [2, 3], d: [2, 3]
)"},
      {"wrong axis of Softmax", R"(
rule wrong_softmax
match
  y = Softmax(Transpose(x; perm = [1, 0]); axis = k)
replace
  y = Transpose(Softmax(x; axis = k); perm = [1, 0])
example x: [4, 4], y.axis = 1
)"},
      {"activation across an add", R"(
rule activation_across_add
match
  s = Add(a, b)
  y = Relu(s)
where
  shape(a) == shape(b)
replace
  y = Add(Relu(a), Relu(b))
example a: [4, 4], b: [4, 4]
)"},
      {"a rescaled epsilon", R"(
rule rescaled_epsilon
match
  y = BatchNormalization(x, scale, shift, mean, var; epsilon = e)
replace
  y = BatchNormalization(x, scale, shift, mean, var; epsilon = 2 * e)
example x: [2, 3, 4], scale: [3], shift: [3], mean: [3], var: [3], y.epsilon = 1e-5
)"},
  };
}

/// Right on their own examples, wrong where else their conditions let them apply.
inline PlantedRules too_wide_rules() {
  return {
      {"two orders of axes are taken for one", R"(
rule two_orders
match
  y = Add(Transpose(a; perm = p), Transpose(b; perm = q))
where
  shape(a) == shape(b)
replace
  y = Transpose(Add(a, b); perm = p)
example a: [2, 2, 2], b: [2, 2, 2]
)"},
      {"a split point that only equal parts have", R"(
rule only_halves
match
  p, q = Split(x; axis = k, split = s)
  y = Slice(q; axes = a)
where
  a == [k]
  y.steps[0] > 0
replace
  y = Slice(x; like y, starts = y.starts + s[1], ends = y.ends + s[1])
example x: [2, 4], p.axis = 1, p.split = [2, 2], y.axes = [1], y.starts = [0], y.ends = [1], y.steps = [1]
)"},
      {"pooling across Relu where windows see the padding alone", R"(
rule pool_of_relu
match
  y = MaxPool(Relu(x); ceil_mode = 0)
where
  rank(x) == 4
replace
  y = Relu(MaxPool(x; like y))
example x: [1, 1, 4, 4], y.kernel_shape = [2, 2], y.strides = [2, 2]
)"},
      {"the activation of the inner product is forgotten", R"(
rule forgotten_activation
match
  m = MatMul(a, b)
  y = MatMul(m, c; activation = "none")
where
  rank(b) == 2, rank(c) == 2
replace
  y = MatMul(a, MatMul(b, c))
example a: [2, 3], b: [3, 4], c: [4, 2]
)"},
      {"a mean over padding that does not count it", R"(
rule pool_pads
match
  p = Pad(x; mode = "constant", value = 0)
  y = AveragePool(p; pads = [0, 0, 0, 0], ceil_mode = 0)
where
  rank(x) == 4
  slice(p.pads, 0, 2) == [0, 0], slice(p.pads, 4, 6) == [0, 0]
  q = slice(p.pads, 2, 4) ++ slice(p.pads, 6, 8)
replace
  y = AveragePool(x; like y, pads = q)
example x: [1, 1, 4, 4], p.pads = [0, 0, 0, 0, 0, 0, 0, 0], y.kernel_shape = [2, 2]
)"},
  };
}

}  // namespace reverie::testing
