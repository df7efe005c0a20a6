#include "core/rules/value_policy.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/exec/reference/reference.h"
#include "core/ir/text.h"
#include "core/rules/rewrite_state.h"

namespace reverie {
namespace {

RewriteState state_of(const std::string& graph, const RuleSet& rules = RuleSet::builtin()) {
  return {parse_graph(graph), std::make_shared<const RuleSet>(rules),
          make_cost_model("roofline:t4")};
}

int places_of(const RewriteState& state, const char* rule) {
  return state.location_count(state.rules().find(rule));
}

void take_first(RewriteState& state, const char* rule) {
  const int index = state.rules().find(rule);
  ASSERT_GT(state.location_count(index), 0) << rule;
  state.commit(state.propose(state.location(index, 0)));
}

std::string two_terms(const std::string& first, const std::string& second, const char* op = "Add") {
  return fmt::format(
      "x = Input : float32 4\nc = Constant {{value=[{}]}} : float32 1\n"
      "d = Constant {{value=[{}]}} : float32 1\na = {}(x, c)\ny = {}(a, d)\noutput y = y\n",
      first, second, op, op);
}

/// ../shared/faults/cancelling_constants.onnx: (x + 1e8) - 1e8 is not x in float32.
TEST(Faults, CancellingConstants) {
  EXPECT_EQ(places_of(state_of(two_terms("1e8", "-1e8")), "add_add_constant"), 0);
  EXPECT_EQ(places_of(state_of(two_terms("1e8", "1e8")), "add_add_constant"), 1);
  EXPECT_EQ(places_of(state_of(two_terms("1", "-1")), "add_add_constant"), 1);
}

/// The constant of a difference becomes a sum first, and then is computed, not stored.
TEST(ValuePolicy, ComputedConstantsAreLookedAtToo) {
  for (const auto& [second, places] : {std::pair{"1e8", 0}, std::pair{"-1e8", 1}}) {
    RewriteState state = state_of(fmt::format(
        "x = Input : float32 4\nc = Constant {{value=[1e8]}} : float32 1\n"
        "d = Constant {{value=[{}]}} : float32 1\na = Add(x, c)\ny = Sub(a, d)\noutput y = y\n",
        second));
    take_first(state, "sub_constant");
    EXPECT_EQ(places_of(state, "add_add_constant"), places);
  }
}

/// Whatever rule it is that brings constants together. Its other match adds d to x, which it may.
TEST(ValuePolicy, HoldsForRulesOfEveryFile) {
  const RuleSet rules = RuleSet::parse(R"(
rule associate
match
  y = Add(Add(a, b), c)
replace
  y = Add(a, Add(b, c))
)",
                                       "planted");
  const auto graph = [](const char* last) {
    return fmt::format(
        "x = Input : float32 4\nc = Constant {{value=[3e9, 1, 1, 1]}} : float32 4\n"
        "d = Constant {{value=[{}, 1, 1, 1]}} : float32 4\na = Add(x, c)\ny = Add(a, d)\n"
        "output y = y\n",
        last);
  };
  EXPECT_EQ(places_of(state_of(graph("-3e9"), rules), "associate"), 1);
  EXPECT_EQ(places_of(state_of(graph("1"), rules), "associate"), 2);
}

TEST(ValuePolicy, ProductsOfConstantsStayInTheRangeOfTheirType) {
  EXPECT_EQ(places_of(state_of(two_terms("2", "0.5", "Mul")), "mul_mul_constant"), 1);
  EXPECT_EQ(places_of(state_of(two_terms("1e18", "1e18", "Mul")), "mul_mul_constant"), 1);
  EXPECT_EQ(places_of(state_of(two_terms("1e30", "1e30", "Mul")), "mul_mul_constant"), 0);
  EXPECT_EQ(places_of(state_of(two_terms("1e-30", "1e30", "Mul")), "mul_mul_constant"), 0);
  EXPECT_EQ(places_of(state_of(two_terms("0", "1e30", "Mul")), "mul_mul_constant"), 1);
  const auto quotient = [](const char* divisor) {
    return places_of(
        state_of(fmt::format("x = Input : float32 4\nc = Constant {{value=[{}]}} : float32 1\n"
                             "y = Div(x, c)\noutput y = y\n",
                             divisor)),
        "div_constant");
  };
  EXPECT_EQ(quotient("3"), 1);
  EXPECT_EQ(quotient("0"), 0);
  EXPECT_EQ(quotient("1e-39"), 0);
}

std::string convolutions(const std::string& x) {
  return R"(
i = Input : float32 1x2x4x4
e = Constant {value=[-1]} : float32 1
w = Constant {value=[1, 1, 1, 1]} : float32 2x2x1x1
v = Constant {value=[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]} : float32 1x2x3x3
u = Constant {value=[1, 2]} : float32 2x1x1x1
)" + x + R"(
a = Conv(x, w)
b = Conv(x, v) {pads=[1, 1, 1, 1]}
g = Conv(x, u) {group=2}
output a = a
output b = b
output g = g
)";
}

/// ../shared/faults/zero_times_infinity.onnx: a power is infinite at 0, and a filter that is filled
/// up with zeros makes NaN of that at its neighbours.
TEST(Faults, ZeroTimesInfinity) {
  const RewriteState infinite = state_of(convolutions("x = Pow(i, e)"));
  EXPECT_EQ(places_of(infinite, "conv_enlarge"), 0);
  EXPECT_EQ(places_of(infinite, "conv_merge_groups"), 0);
  const RewriteState finite = state_of(convolutions("x = Tanh(i)"));
  EXPECT_EQ(places_of(finite, "conv_enlarge"), 1);
  EXPECT_EQ(places_of(finite, "conv_merge_groups"), 1);
}

/// Locations follow what comes to be known of a value further up.
TEST(ValuePolicy, LocationsAreThoseOfTheGraphAfterEveryStep) {
  const RuleSet planted = RuleSet::parse(R"(
rule forget
match
  y = Reciprocal(x)
replace
  y = Tanh(x)
rule recall
match
  y = Tanh(x)
replace
  y = Reciprocal(x)
)",
                                         "planted");
  RuleSet rules = RuleSet::builtin();
  rules.append(planted);
  RewriteState state = state_of(convolutions("r = Reciprocal(i)\ns = Abs(r)\nx = Relu(s)"), rules);
  EXPECT_EQ(places_of(state, "conv_enlarge"), 0);
  take_first(state, "forget");
  EXPECT_EQ(places_of(state, "conv_enlarge"), 1);
  EXPECT_EQ(places_of(state, "conv_merge_groups"), 1);
  take_first(state, "recall");
  EXPECT_EQ(places_of(state, "conv_enlarge"), 0);
  EXPECT_EQ(places_of(state, "conv_merge_groups"), 0);
}

/// A convolution and a batch normalization of float16 with filters of 72 elements, which are not
/// known.
std::string folded(double weight, double variance, const char* epsilon = "1e-05") {
  return fmt::format(R"(
x = Input : float16 1x2x4x4
e = Constant {{value=[{0}, {0}, {0}, {0}]}} : float16 4
o = Constant {{value=[1, 1, 1, 1]}} : float16 4
z = Constant {{value=[0, 0, 0, 0]}} : float16 4
one = Constant {{value=[{1}]}} : float16 1
w = Expand(one) {{shape=[4, 2, 3, 3]}}
c = Conv(x, w) {{pads=[1, 1, 1, 1]}}
y = BatchNormalization(c, o, z, z, e) {{epsilon={2}}}
output y = y
)",
                     variance, weight, epsilon);
}

TEST(Float16, BatchNormalizationIsFoldedWhereTheFiltersFit) {
  EXPECT_EQ(places_of(state_of(folded(0.5, 1)), "conv_batchnorm"), 1);
  EXPECT_EQ(places_of(state_of(folded(1000, 1e-4)), "conv_batchnorm"), 0);  // 1e5 is beyond 65504
  EXPECT_EQ(places_of(state_of(folded(1e-4, 1e4)), "conv_batchnorm"), 0);   // 1e-6 loses its digits
}

/// 1e-8 is 0 in float16, and what is divided by would be its root.
TEST(Float16, AnEpsilonThatVanishesIsNotFolded) {
  EXPECT_EQ(places_of(state_of(folded(0.5, 1, "1e-08")), "conv_batchnorm"), 0);
  EXPECT_EQ(places_of(state_of(folded(0.5, 1, "0.001")), "conv_batchnorm"), 1);
}

TEST(Float16, WhatIsFoldedIsRoundedOnce) {
  RewriteState state = state_of(folded(0.3, 0.7));
  take_first(state, "conv_batchnorm");
  const NodeId conv = state.graph().producer(state.graph().outputs()[0].value);
  const Tensor filter = fold(state.graph(), state.graph().inputs(conv)[1]);
  const double weight = static_cast<double>(Float16(0.3)),
               variance = static_cast<double>(Float16(0.7));
  const double epsilon = static_cast<double>(Float16(1e-5));
  EXPECT_EQ(filter.to_doubles()[0],
            static_cast<double>(Float16(weight / std::sqrt(variance + epsilon))));
}

}  // namespace
}  // namespace reverie
