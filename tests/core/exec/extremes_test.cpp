#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/exec/compare.h"
#include "core/ir/text.h"

namespace reverie {
namespace {

using testing::HasSubstr;

Graph from_text(const std::string& body) {
  return parse_graph("x = Input : float32 1x2x4x4\n" + body + "\noutput y = y\n");
}

/// A filter that is filled up with zeros makes NaN of infinity beside it. Random numbers are hardly
/// ever 0.
TEST(Extremes, InfinitiesShowWhereZerosAreMultiplied) {
  const auto graph = [](bool enlarged) {
    return from_text(enlarged ? R"(
r = Reciprocal(x)
w = Constant {value=[0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]} : float32 1x2x3x3
y = Conv(r, w) {pads=[1, 1, 1, 1]})"
                              : R"(
r = Reciprocal(x)
w = Constant {value=[1, 1]} : float32 1x2x1x1
y = Conv(r, w))");
  };
  EXPECT_TRUE(compare(graph(false), graph(false)).agree);
  const Agreement result = compare(graph(false), graph(true));
  EXPECT_THAT(result.reason, HasSubstr("on zeros, computed in float32, 'y' is NaN"));
  EXPECT_TRUE(result.disagree());
  EXPECT_TRUE(compare(graph(false), graph(true), {.extremes = false}).agree);
}

TEST(Extremes, WhatCancelsInFloat32Shows) {
  const Graph sum = from_text(R"(
c = Constant {value=[1e8]} : float32 1
a = Add(x, c)
y = Sub(a, c))");
  const Graph nothing = from_text("y = Identity(x)");
  EXPECT_TRUE(compare(sum, sum).agree);
  EXPECT_THAT(compare(sum, nothing).reason, HasSubstr("computed in float32"));
  EXPECT_TRUE(compare(sum, nothing, {.extremes = false}).agree);
}

/// The stored content counts there: what is drawn in double precision never cancels.
TEST(Extremes, LargeWeightsAreTheModelsOwn) {
  const auto terms = [](float first, float second) {
    const auto weight = [](float value) {
      return Weight::dense(Tensor::of<float>({128}, std::vector<float>(128, value)));
    };
    return std::pair(weight(first), weight(second));
  };
  const auto graphs = [&](float first, float second) {
    const auto [c, d] = terms(first, second);
    std::pair<Graph, Graph> pair;
    for (Graph* graph : {&pair.first, &pair.second}) {
      const ValueId x = graph->add_input("x", {DType::kFloat32, {128}});
      const ValueId a = graph->add_constant(c), b = graph->add_constant(d);
      graph->add_output("y", graph == &pair.first
                                 ? graph->add("Add", {graph->add("Add", {x, a}), b})
                                 : graph->add("Add", {x, graph->add("Add", {a, b})}));
    }
    return pair;
  };
  const auto [harmless, same] = graphs(1, -1);
  EXPECT_TRUE(compare(harmless, same).agree);
  const auto [far, cancelled] = graphs(1e8, -1e8);
  EXPECT_FALSE(compare(far, cancelled).agree);
}

/// Where the original gives nothing finite nothing is asked of the candidate, and steps are left
/// out.
TEST(Extremes, NoFalseAlarm) {
  const Graph nan = from_text(R"(
z = Sub(x, x)
q = Div(z, x)
y = Exp(q))");
  const Graph finite = from_text(R"(
z = Sub(x, x)
q = Div(z, x)
s = Identity(q)
y = Exp(s))");
  EXPECT_TRUE(compare(nan, finite).agree);
  const auto step = [](const char* terms) {
    return from_text(fmt::format(R"(
c = Constant {{value=[1e7]}} : float32 1
a = {}
y = Floor(a))",
                                 terms));
  };
  const Agreement result = compare(step("Mul(x, c)"), step("Mul(c, x)"));
  EXPECT_TRUE(result.agree) << result.reason;
}

/// In float16 a large summand leaves of x what lies on one side of a threshold or on the other.
TEST(Extremes, AThresholdIsAStep) {
  const auto cut = [](const std::string& terms) {
    return parse_graph("x = Input : float16 1024\n" + terms +
                       "\ny = ThresholdedRelu(s) {alpha=1}\noutput y = y\n");
  };
  const Agreement result =
      compare(cut("c = Constant {value=[100]} : float16 1\nl = Add(x, c)\ns = Sub(l, c)"),
              cut("s = Identity(x)"));
  EXPECT_TRUE(result.agree) << result.reason;
}

/// Layer normalization in float16, as exporters spelled it and as one operator. A square is
/// infinite from 256 on.
Graph normalized(bool one_operator, float factor = 1) {
  const std::string spelled = R"(
two = Constant {value=[2]} : float16 1
eps = Constant {value=[0.00001]} : float16 1
mean = ReduceMean(x) {axes=[1], keepdims=1}
d = Sub(x, mean)
p = Pow(d, two)
v = ReduceMean(p) {axes=[1], keepdims=1}
ve = Add(v, eps)
r = Sqrt(ve)
y = Div(d, r))";
  const std::string sizes = "x = Input : float16 4x64\n";
  const std::string scale =
      fmt::format("\nscale = Constant {{constant={}}} : float16 64\n", factor);
  return parse_graph(sizes +
                     (one_operator
                          ? scale + "y = LayerNormalization(x, scale) {axis=1, epsilon=0.00001}"
                          : spelled) +
                     "\noutput y = y\n");
}

TEST(Extremes, WhereTheOriginalOverflowsACandidateMayBeCloserToTheTruth) {
  const Agreement result = compare(normalized(false), normalized(true));
  EXPECT_TRUE(result.agree) << result.reason;
  EXPECT_THAT(compare(normalized(true), normalized(false)).reason, HasSubstr("on large numbers"))
      << "a rewrite that overflows where the original does not";
}

}  // namespace
}  // namespace reverie
