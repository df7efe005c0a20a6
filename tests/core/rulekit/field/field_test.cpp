#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/base/error.h"
#include "core/exec/reference/reference.h"
#include "core/ir/text.h"
#include "core/rulekit/field/field_executor.h"
#include "core/rulekit/field/prime_field.h"
#include "tests/core/exec/operator_cases.h"

namespace reverie::testing {
namespace {

TEST(PrimeField, NumbersAreFractions) {
  EXPECT_EQ(field::add(field::of_number(0.75), field::of_number(0.25)), 1u);
  EXPECT_EQ(field::multiply(field::of_number(-1.5), 2), field::of_integer(-3));
  EXPECT_EQ(field::multiply(field::of_number(0x1.8p-100), field::of_number(0x1p101)), 3u);
  EXPECT_EQ(field::of_number(0), 0u);
  EXPECT_EQ(field::of_integer(INT64_MIN), field::negate(field::of_number(0x1p63)));
  for (const uint64_t x : {uint64_t{1}, uint64_t{2}, uint64_t{12345678901}, field::kPrime - 1})
    EXPECT_EQ(field::multiply(x, field::inverse(x)), 1u);
}

TEST(PrimeField, SumsOfProductsDoNotOverflow) {
  field::ProductSum sum;
  uint64_t expected = 0;
  for (uint64_t i = 1; i <= 1000; ++i) {
    sum.add(field::kPrime - i, field::kPrime - 1);  // i, modulo the prime
    expected += i;
    EXPECT_EQ(sum.value(), expected);
  }
}

/// Whole numbers from -4 to 4 where floating.
Tensor whole(const TensorType& type, Rng rng) {
  Tensor values({DType::kFloat64, type.shape});
  for (double& value : values.data<double>())
    value = static_cast<double>(rng.below(is_floating(type.dtype) ? 9 : 3)) -
            (is_floating(type.dtype) ? 4 : 0);
  return values.cast(type.dtype);
}

/// Whether the element is the fraction with a small denominator that is closest to `number`.
bool is_number(uint64_t element, double number) {
  for (int64_t denominator = 1; denominator < 1000; ++denominator) {
    const double scaled = number * static_cast<double>(denominator);
    if (std::fabs(scaled - std::round(scaled)) < 1e-7)
      return field::multiply(element, field::of_integer(denominator)) ==
             field::of_integer(std::llround(scaled));
  }
  return false;
}

bool is_exact(const OperatorCase& test) {
  static const std::set<std::string, std::less<>> kExact = {
      "Add",       "Sub",        "Mul",           "Neg",         "MatMul",
      "Gemm",      "Conv",       "ConvTranspose", "AveragePool", "GlobalAveragePool",
      "ReduceSum", "ReduceMean", "Transpose",     "Concat",      "Split",
      "Slice",     "Gather",     "Pad",           "Tile",        "Expand",
      "Reshape",   "Flatten",    "Squeeze",       "Unsqueeze",   "Identity",
      "Dropout",   "Shape"};
  for (const NodeId node : test.graph.nodes()) {
    const OpSchema& op = test.graph.op(node);
    if (&op == &input_op() || &op == &constant_op()) continue;
    if (!kExact.contains(op.name)) return false;
    if (test.graph.attributes(node).text("activation", "none") != "none") return false;
  }
  return true;
}

/// Whole numbers give the same fractions as the reference executor.
TEST(FieldExecutor, IsTheReferenceExecutorOnFractions) {
  int compared = 0;
  for (const OperatorCase& test : operator_cases()) {
    if (!is_exact(test)) continue;
    SCOPED_TRACE(test.name);
    std::vector<Tensor> inputs;
    std::vector<FieldTensor> elements;
    for (const NodeId input : test.graph.inputs()) {
      inputs.push_back(whole(test.graph.type(test.graph.output(input)), Rng(inputs.size())));
      elements.push_back(to_field(inputs.back()));
    }
    const auto weights = [](const Weight& weight) {
      return whole(weight.type(), Rng(weight.identity()));
    };
    ReferenceExecutor reference({.precision = Precision::kDouble, .cast_back = false});
    const auto expected = reference.run(test.graph, inputs, weights);
    FieldExecutor executor(1);
    const auto actual = executor.run(
        test.graph, elements, [&](const Weight& weight) { return to_field(weights(weight)); });
    ++compared;
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(actual[i].elements.shape(), expected[i].shape());
      if (actual[i].elements.type().dtype != DType::kUInt64) {
        EXPECT_EQ(actual[i].elements.to_integers(), expected[i].to_integers());
        continue;
      }
      const auto numbers = expected[i].to_doubles();
      const auto found = actual[i].elements.data<uint64_t>();
      for (size_t at = 0; at < numbers.size(); ++at)
        ASSERT_TRUE(is_number(found[at], numbers[at])) << "element " << at << ": " << numbers[at];
    }
  }
  EXPECT_GT(compared, 50);
}

struct Evaluated {
  std::vector<std::vector<uint64_t>> outputs;
  std::vector<FieldDegree> degrees;
  double collision_bound = 0;
};

Evaluated evaluate(const char* text, uint64_t key = 1) {
  const Graph graph = parse_graph(text);
  graph.validate();
  std::vector<FieldTensor> inputs;
  for (const NodeId input : graph.inputs())
    inputs.push_back(
        draw_field_tensor(graph.type(graph.output(input)), Rng(7).fork(inputs.size())));
  FieldExecutor executor(key);
  Evaluated result;
  for (const FieldTensor& tensor : executor.run(
           graph, inputs, [](const Weight& weight) { return to_field(weight.materialize()); })) {
    const auto elements = tensor.elements.data<uint64_t>();
    result.outputs.emplace_back(elements.begin(), elements.end());
    result.degrees.push_back(tensor.degree);
  }
  result.collision_bound = executor.functions().collision_bound();
  return result;
}

TEST(FieldFunctions, MaximaAndReluFollowTheLawsOfASemilattice) {
  const auto [outputs, degrees, bound] = evaluate(R"(
a = Input : float32 1x1x2x2
b = Input : float32 1x1x2x2
ab = Max(a, b)
ba = Max(b, a)
aab = Max(a, ab)
ra = Relu(a)
rb = Relu(b)
rab = Relu(ab)
mr = Max(ra, rb)
rra = Relu(ra)
p = MaxPool(a) {kernel_shape=[2, 2]}
rp = Relu(p)
pr = MaxPool(ra) {kernel_shape=[2, 2]}
m = Min(a, b)
output ab = ab
output ba = ba
output aab = aab
output rab = rab
output mr = mr
output ra = ra
output rra = rra
output rp = rp
output pr = pr
output m = m
)");
  EXPECT_EQ(outputs[0], outputs[1]);
  EXPECT_EQ(outputs[0], outputs[2]);
  EXPECT_EQ(outputs[3], outputs[4]);
  EXPECT_EQ(outputs[5], outputs[6]);
  EXPECT_EQ(outputs[7], outputs[8]);
  EXPECT_NE(outputs[0], outputs[5]);
  EXPECT_NE(outputs[0], outputs[9]);
  EXPECT_GT(bound, 0);
  EXPECT_LT(bound, 1e-14);
}

TEST(FieldFunctions, NothingElseHoldsOfThem) {
  const char* text = R"(
a = Input : float32 3
b = Input : float32 3
s = Add(a, b)
rs = Relu(s)
ra = Relu(a)
rb = Relu(b)
sr = Add(ra, rb)
ts = Tanh(s)
ta = Tanh(a)
tb = Tanh(b)
st = Add(ta, tb)
g = Sigmoid(s)
output rs = rs
output sr = sr
output ts = ts
output st = st
output g = g
)";
  const Evaluated at = evaluate(text);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NE(at.outputs[0][i], at.outputs[1][i]);
    EXPECT_NE(at.outputs[2][i], at.outputs[3][i]);
    EXPECT_NE(at.outputs[2][i], at.outputs[4][i]);
  }
  EXPECT_NE(evaluate(text, 2).outputs[2], at.outputs[2]) << "another key is another function";
}

TEST(FieldFunctions, RowsOfSoftmaxMoveWithTheirElements) {
  const auto [outputs, degrees, bound] = evaluate(R"(
x = Input : float32 2x3
t = Transpose(x) {perm=[1, 0]}
a = Softmax(t) {axis=0}
y = Transpose(a) {perm=[1, 0]}
z = Softmax(x) {axis=1}
w = Softmax(x) {axis=0}
output y = y
output z = z
output w = w
)");
  EXPECT_EQ(outputs[0], outputs[1]);
  EXPECT_NE(outputs[1], outputs[2]);
}

TEST(FieldExecutor, BoundsDegrees) {
  const auto [outputs, degrees, bound] = evaluate(R"(
a = Input : float32 2x2
b = Input : float32 2x2
p = MatMul(a, b)
pp = Mul(p, p)
q = Div(pp, a)
s = Add(q, b)
t = Tanh(pp)
u = Mul(t, a)
output pp = pp
output q = q
output s = s
output u = u
)");
  EXPECT_EQ(degrees[0].numerator, 4);
  EXPECT_EQ(degrees[0].denominator, 0);
  EXPECT_EQ(degrees[1].numerator, 4);
  EXPECT_EQ(degrees[1].denominator, 1);
  EXPECT_EQ(degrees[2].numerator, 4);
  EXPECT_EQ(degrees[2].denominator, 1);
  EXPECT_EQ(degrees[3].numerator, 2);
  EXPECT_EQ(degree_of_difference(degrees[1], degrees[2]), 5);
  // Four applications of Tanh to arguments of degree 4.
  EXPECT_DOUBLE_EQ(bound, 6 * (4 + 1) / static_cast<double>(field::kPrime));
}

TEST(FieldExecutor, NamesWhatHasNoMeaning) {
  try {
    evaluate("a = Input : float32 2\nb = Input : float32 2\ny = Greater(a, b)\noutput y = y\n");
    FAIL() << "a comparison was guessed";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("Greater"));
  }
  EXPECT_FALSE(FieldExecutor::supports(op_named("Greater")));
  EXPECT_TRUE(FieldExecutor::supports(op_named("Conv")));
  EXPECT_TRUE(FieldExecutor::supports(op_named("Concat")));
}

}  // namespace
}  // namespace reverie::testing
