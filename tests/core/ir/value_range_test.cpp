#include "core/ir/value_range.h"

#include <gtest/gtest.h>

#include "core/ir/graph.h"
#include "core/ir/text.h"

namespace reverie {
namespace {

/// Of y, where x is any input and c a constant.
ValueRange range_of_y(const std::string& node, const std::string& constant = "[2]") {
  const Graph graph = parse_graph("x = Input : float32 1x2x4x4\nc = Constant {value=" + constant +
                                  "} : float32 1\n" + node + "\noutput y = y\n");
  graph.validate();
  return graph.range(graph.outputs()[0].value);
}

TEST(ValueRange, QuotientsAreFiniteWhereTheDivisorIsNotZero) {
  EXPECT_EQ(range_of_y("y = Div(x, c)"), ValueRange::kFinite);
  EXPECT_EQ(range_of_y("y = Div(x, c)", "[-2]"), ValueRange::kFinite);
  EXPECT_EQ(range_of_y("y = Div(x, c)", "[0]"), ValueRange::kUnknown);
  EXPECT_EQ(range_of_y("y = Div(c, x)"), ValueRange::kUnknown);
  EXPECT_EQ(range_of_y("y = Reciprocal(x)"), ValueRange::kUnknown);
  EXPECT_EQ(range_of_y("a = Abs(x)\nb = Add(a, c)\ny = Div(x, b)"), ValueRange::kFinite);
  EXPECT_EQ(range_of_y("a = Abs(x)\nb = Add(a, c)\ny = Div(x, b)", "[0]"), ValueRange::kUnknown);
  EXPECT_EQ(range_of_y("s = Mul(x, x)\nb = Add(s, c)\nr = Sqrt(b)\ny = Reciprocal(r)"),
            ValueRange::kNonNegative);
}

TEST(ValueRange, PowersAndRootsDependOnSigns) {
  EXPECT_EQ(range_of_y("y = Pow(x, c)", "[2]"), ValueRange::kNonNegative);
  EXPECT_EQ(range_of_y("y = Pow(x, c)", "[3]"), ValueRange::kFinite);
  EXPECT_EQ(range_of_y("y = Pow(x, c)", "[-1]"), ValueRange::kUnknown);
  EXPECT_EQ(range_of_y("y = Pow(x, c)", "[0.5]"), ValueRange::kUnknown);
  EXPECT_EQ(range_of_y("a = Relu(x)\ny = Pow(a, c)", "[0.5]"), ValueRange::kNonNegative);
  EXPECT_EQ(range_of_y("y = Sqrt(x)"), ValueRange::kUnknown);
  EXPECT_EQ(range_of_y("a = Sigmoid(x)\ny = Sqrt(a)"), ValueRange::kNonNegative);
  EXPECT_EQ(range_of_y("y = Log(x)"), ValueRange::kUnknown);
  EXPECT_EQ(range_of_y("y = Exp(x)"), ValueRange::kUnknown);
}

/// A product of two positive numbers may be too small for its type.
TEST(ValueRange, AProductIsNotKnownToBePositive) {
  EXPECT_EQ(range_of_y("y = Mul(c, c)"), ValueRange::kNonNegative);
  EXPECT_EQ(range_of_y("a = Mul(c, c)\ny = Div(x, a)"), ValueRange::kUnknown);
}

/// The second one would take a terabyte.
TEST(ValueRange, AnIdentityIsNotBuiltForIt) {
  for (const int64_t extent : {3, 1 << 19})
    EXPECT_EQ(range_of(*Weight::identity_kernel({DType::kFloat32, {extent, extent}})),
              ValueRange::kNonNegative)
        << extent;
}

TEST(ValueRange, InfinitiesAreHandedOn) {
  EXPECT_EQ(range_of_y("a = Reciprocal(x)\ny = Relu(a)"), ValueRange::kUnknown);
  EXPECT_EQ(range_of_y("y = Add(x, c)", "[inf]"), ValueRange::kUnknown);
  EXPECT_EQ(range_of_y("y = MaxPool(x) {kernel_shape=[3, 3], pads=[1, 1, 1, 1]}"),
            ValueRange::kFinite);
  EXPECT_EQ(range_of_y("y = MaxPool(x) {kernel_shape=[2, 2], pads=[2, 0, 0, 0]}"),
            ValueRange::kUnknown);
  EXPECT_EQ(range_of_y("y = Clip(x) {min=0.5}"), ValueRange::kPositive);
  EXPECT_EQ(range_of_y("y = Clip(x) {max=0.5}"), ValueRange::kFinite);
}

/// What follows, as far as it changes, is handed to whom keeps what depends on ranges.
TEST(ValueRange, FollowsAReplacement) {
  Graph graph = parse_graph(
      "x = Input : float32 4\na = Reciprocal(x)\nb = Relu(a)\ny = Tanh(b)\noutput y = y\n");
  const NodeId last = graph.producer(graph.outputs()[0].value);
  const ValueId a = graph.inputs(graph.producer(graph.inputs(last)[0]))[0];
  EXPECT_EQ(graph.range(last), ValueRange::kUnknown);
  std::vector<NodeId> touched;
  graph.replace_all_uses(a, graph.output(graph.inputs()[0]), &touched);
  graph.erase_dead();
  graph.validate();
  EXPECT_EQ(graph.range(last), ValueRange::kFinite);
  EXPECT_NE(std::find(touched.begin(), touched.end(), last), touched.end());
}

}  // namespace
}  // namespace reverie
