#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "env/placement/graph/gradient_step.h"

// With y = f(x, ...) and dy the gradient by y; formulas of backpropagation as in Griewank and
// Walther, "Evaluating Derivatives" (2008), and of layers as named.

namespace reverie::placement {
namespace {

using Rule = void (*)(GradientStep& step);

void for_each_needed(GradientStep& step, const auto& gradient) {
  for (size_t input = 0; input < step.inputs(); ++input)
    if (step.needs(input)) step.give(input, gradient(input));
}

/// dx = dy f'(x), by y.
void by_output(GradientStep& step) {
  step.give(0, step.pointwise(0, {step.dy(), step.y()}, step.x(0).type));
}
void by_input(GradientStep& step) {
  step.give(0, step.pointwise(0, {step.dy(), step.x(0)}, step.x(0).type));
}
/// dx = -dy; dy in another type; dy / n for each of the elements of a mean.
void by_gradient(GradientStep& step) {
  step.give(0, step.pointwise(0, {step.dy()}, step.x(0).type));
}

void add(GradientStep& step) {
  for_each_needed(step, [&](size_t input) { return step.reduced(input, step.dy()); });
}

/// db = -dy.
void subtract(GradientStep& step) {
  for_each_needed(step, [&](size_t input) {
    const Operand gradient = step.reduced(input, step.dy());
    return input == 0 ? gradient : step.pointwise(input, {gradient}, step.x(input).type);
  });
}

/// da = dy b, db = dy a.
void multiply(GradientStep& step) {
  for_each_needed(step, [&](size_t input) {
    return step.reduced(input,
                        step.pointwise(input, {step.dy(), step.x(1 - input)}, step.dy().type));
  });
}

/// da = dy / b, db = -dy y / b.
void divide(GradientStep& step) {
  for_each_needed(step, [&](size_t input) {
    std::vector<Operand> reads = {step.dy(), step.x(1)};
    if (input == 1) reads.push_back(step.y());
    return step.reduced(input, step.pointwise(input, reads, step.dy().type));
  });
}

/// da = dy b a^(b-1), db = dy y log a.
void power(GradientStep& step) {
  for_each_needed(step, [&](size_t input) {
    const Operand other = input == 0 ? step.x(1) : step.y();
    return step.reduced(input,
                        step.pointwise(input, {step.dy(), step.x(0), other}, step.dy().type));
  });
}

/// The gradient goes to the input that was chosen.
void choose(GradientStep& step) {
  for_each_needed(step, [&](size_t input) {
    return step.reduced(input,
                        step.pointwise(input, {step.dy(), step.x(0), step.x(1)}, step.dy().type));
  });
}
void where(GradientStep& step) {
  for_each_needed(step, [&](size_t input) {
    return step.reduced(input, step.pointwise(input, {step.dy(), step.x(0)}, step.dy().type));
  });
}

/// dx = y (dy - sum of dy y).
void softmax(GradientStep& step) {
  const TensorType& type = step.x(0).type;
  step.give(0, step.run(0, {step.dy(), step.y()}, type, step.work("Softmax", {type, type}, type)));
}

void expand(GradientStep& step) { step.give(0, step.reduced(0, step.dy())); }

/// Reads and writes as much as the result has, or as dy has where that is less.
void copy(GradientStep& step) {
  for_each_needed(step, [&](size_t input) {
    const TensorType& type = step.x(input).type;
    const TensorType& read = step.dy().type.bytes() < type.bytes() ? step.dy().type : type;
    return step.run(input, {step.dy()}, type, step.work("Transpose", {read}, type));
  });
}

/// dx joins the gradients of all parts.
void split(GradientStep& step) {
  std::vector<Operand> parts;
  std::vector<TensorType> types;
  for (const auto& dy : step.dys())
    if (dy) parts.push_back(*dy), types.push_back(dy->type);
  const TensorType& type = step.x(0).type;
  step.give(0, step.run(0, parts, type, step.work("Transpose", types, type)));
}

/// Rows of dy are added to those of a table of zeros, which is written as a whole.
void gather(GradientStep& step) {
  if (!step.needs(0)) return;
  const TensorType& type = step.x(0).type;
  step.give(0, step.run(0, {step.dy(), step.x(1)}, type,
                        step.work("Transpose", {step.dy().type, step.x(1).type}, type)));
}

/// The largest element of each window gets dy: it is looked for again.
void max_pool(GradientStep& step) {
  step.give(0, step.pointwise(0, {step.dy(), step.x(0), step.y()}, step.x(0).type));
}
/// Every element of a window gets its part of dy: the forward work, the other way.
void mean_pool(GradientStep& step) {
  step.give(0, step.run(0, {step.dy()}, step.x(0).type, step.forward_work()));
}

/// dx and dw are convolutions of dy with w, and of x with dy, with the FLOPs and bytes of the
/// forward pass (Dumoulin and Visin, "A guide to convolution arithmetic for deep learning", 2016);
/// db sums over all but channels.
void convolution(GradientStep& step) {
  for_each_needed(step, [&](size_t input) {
    const TensorType& type = step.x(input).type;
    if (input == 2)
      return step.run(input, {step.dy()}, type, step.work("ReduceSum", {step.dy().type}, type));
    return step.run(input, {step.dy(), step.x(1 - input)}, type, step.forward_work());
  });
}

TensorType matrix(const TensorType& like, Shape batch, int64_t rows, int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return {like.dtype, std::move(batch)};
}

/// dA = dY B', dB = A' dY. Where B is one matrix, all of A is one for dB.
void product(GradientStep& step, Shape batch, int64_t m, int64_t k, int64_t n) {
  const TensorType dy = matrix(step.dy().type, batch, m, n);
  for_each_needed(step, [&](size_t input) {
    if (input > 1) return step.reduced(input, step.dy());
    const bool is_one = step.x(1).type.rank() <= 2;
    const std::vector<Operand> reads = {step.dy(), step.x(1 - input)};
    if (input == 0) {
      const TensorType b = matrix(dy, is_one ? Shape{} : batch, n, k);
      const TensorType da = matrix(dy, batch, m, k);
      return step.reduced(input, step.run(input, reads, da, step.work("MatMul", {dy, b}, da)));
    }
    const int64_t rows = is_one ? element_count(batch) * m : m;
    const Shape others = is_one ? Shape{} : batch;
    const TensorType a = matrix(dy, others, k, rows), d = matrix(dy, others, rows, n);
    const TensorType db = matrix(dy, others, k, n);
    return step.reduced(input, step.run(input, reads, db, step.work("MatMul", {a, d}, db)));
  });
}

void matmul(GradientStep& step) {
  const Shape& a = step.x(0).type.shape;
  const Shape& b = step.x(1).type.shape;
  Shape batch = step.dy().type.shape;
  if (b.size() > 1) batch.pop_back();
  if (a.size() > 1) batch.pop_back();
  product(step, batch, a.size() > 1 ? a[a.size() - 2] : 1, a.back(), b.size() > 1 ? b.back() : 1);
}

void gemm(GradientStep& step) {
  const Shape& a = step.x(0).type.shape;
  const Shape& y = step.dy().type.shape;
  product(step, {}, y[0], a[step.attributes().integer("transA") != 0 ? 0 : 1], y[1]);
}

/// dscale = sum of dy x^, dbias = sum of dy.
Operand scale_gradient(GradientStep& step) {
  const TensorType& type = step.x(1).type;
  return step.run(1, {step.dy(), step.x(0)}, type,
                  step.work("ReduceSum", {step.dy().type, step.x(0).type}, type));
}
Operand bias_gradient(GradientStep& step) {
  const TensorType& type = step.x(2).type;
  return step.run(2, {step.dy()}, type, step.work("ReduceSum", {step.dy().type}, type));
}

/// With the statistics of the batch dx needs both sums (Ioffe and Szegedy 2015, section 3).
void batch_normalization(GradientStep& step) {
  const Operand scale = scale_gradient(step), bias = bias_gradient(step);
  if (step.needs(1)) step.give(1, scale);
  if (step.needs(2)) step.give(2, bias);
  if (step.needs(0))
    step.give(0, step.pointwise(0, {step.dy(), step.x(0), scale, bias}, step.x(0).type));
}

/// dx takes a row's sums on the way (Ba, Kiros and Hinton 2016).
void layer_normalization(GradientStep& step) {
  if (step.needs(1)) step.give(1, scale_gradient(step));
  if (step.inputs() > 2 && step.needs(2)) step.give(2, bias_gradient(step));
  if (!step.needs(0)) return;
  const TensorType& type = step.x(0).type;
  step.give(0, step.run(0, {step.dy(), step.x(0)}, type,
                        step.work("LayerNormalization", {type, type}, type)));
}

const std::map<std::string_view, Rule>& rules() {
  static const std::map<std::string_view, Rule> table = {
      {"Relu", by_output},
      {"Sigmoid", by_output},
      {"Tanh", by_output},
      {"Sqrt", by_output},
      {"Exp", by_output},
      {"Reciprocal", by_output},
      {"Erf", by_input},
      {"Gelu", by_input},
      {"Log", by_input},
      {"LeakyRelu", by_input},
      {"Elu", by_input},
      {"HardSigmoid", by_input},
      {"HardSwish", by_input},
      {"Softplus", by_input},
      {"Clip", by_input},
      {"Abs", by_input},
      {"Neg", by_gradient},
      {"Cast", by_gradient},
      {"Add", add},
      {"Sub", subtract},
      {"Mul", multiply},
      {"Div", divide},
      {"Pow", power},
      {"Min", choose},
      {"Max", choose},
      {"Where", where},
      {"Softmax", softmax},
      {"LogSoftmax", softmax},
      {"ReduceMean", by_gradient},
      {"ReduceSum", by_gradient},
      {"Expand", expand},
      {"Transpose", copy},
      {"Slice", copy},
      {"Pad", copy},
      {"Concat", copy},
      {"Split", split},
      {"Gather", gather},
      {"MaxPool", max_pool},
      {"GlobalMaxPool", max_pool},
      {"AveragePool", mean_pool},
      {"GlobalAveragePool", mean_pool},
      {"Conv", convolution},
      {"ConvTranspose", convolution},
      {"MatMul", matmul},
      {"Gemm", gemm},
      {"BatchNormalization", batch_normalization},
      {"LayerNormalization", layer_normalization},
  };
  return table;
}

}  // namespace

bool is_differentiable(const Graph& graph, NodeId id, size_t input) {
  const ValueId value = graph.inputs(id)[input];
  if (!value.valid() || !is_floating(graph.type(value).dtype)) return false;
  return !graph.op(id).is("Pow") || input == 0 || !graph.is_constant(value);
}

void differentiate(std::string_view op, GradientStep& step) {
  const auto rule = rules().find(op);
  if (rule == rules().end()) throw InputError("no rule gives the gradient of {}", op);
  if (const auto activation = step.attributes().text("activation", "");
      !activation.empty() && (activation != "none" || step.inputs() > 3))
    throw InputError("{} with an activation or residual has no gradient; give them as operators",
                     op);
  rule->second(step);
}

}  // namespace reverie::placement
