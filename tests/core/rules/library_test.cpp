#include <gtest/gtest.h>

#include "core/exec/compare.h"
#include "core/ir/text.h"
#include "core/rulekit/verify/example_check.h"
#include "core/rules/rewrite_state.h"
#include "core/rules/rule.h"

namespace reverie {
namespace {

std::vector<std::string> rule_names() {
  std::vector<std::string> names;
  for (int i = 0; i < RuleSet::builtin().size(); ++i) names.push_back(RuleSet::builtin().name(i));
  return names;
}

class BuiltinRule : public testing::TestWithParam<std::string> {};

TEST_P(BuiltinRule, BothSidesAgreeOnItsExamples) {
  const RuleSet& rules = RuleSet::builtin();
  const RuleCheck check = check_examples(rules[rules.find(GetParam())], 3, 7);
  EXPECT_EQ(check.failure, "");
  EXPECT_GT(check.examples, 0) << "a rule states at least one example";
  EXPECT_GE(check.compared, check.examples);
}

INSTANTIATE_TEST_SUITE_P(Library, BuiltinRule, testing::ValuesIn(rule_names()),
                         [](const auto& info) { return info.param; });

/// Places of a builtin rule in a graph given as text.
int places_of(const char* rule, const char* graph) {
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  const RewriteState state(parse_graph(graph), rules, make_cost_model("roofline:t4"));
  return state.location_count(rules->find(rule));
}

/// A window that sees the padding alone gives the lowest number, of which Relu makes 0.
TEST(MaxPoolRelu, LeavesAloneWindowsThatSeeThePaddingAlone) {
  EXPECT_EQ(places_of("max_pool_relu", R"(
x = Input : float32 1x1x4x4
r = Relu(x)
y = MaxPool(r) {kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]}
output y = y
)"),
            1);
  EXPECT_EQ(places_of("max_pool_relu", R"(
x = Input : float32 1x1x1x1
r = Relu(x)
y = MaxPool(r) {kernel_shape=[2, 2], dilations=[2, 2], pads=[1, 1, 1, 1]}
output y = y
)"),
            0);
  EXPECT_EQ(places_of("max_pool_relu", R"(
x = Input : float32 1x1x4x4
r = Relu(x)
y = MaxPool(r) {kernel_shape=[2, 2], pads=[2, 0, 0, 0]}
output y = y
)"),
            0);
}

/// ONNX computes the normalization of doubles in single precision.
TEST(LayerNormalizationRules, LeaveDoublesAlone) {
  const auto places = [](const char* rule, const char* square, const char* type) {
    const std::string text = fmt::format(R"(
x = Input : {0} 2x8
two = Constant {{value=[2]}} : {0} scalar
epsilon = Constant {{value=[1e-05]}} : {0} scalar
scale = Constant {{value=[1, 1, 1, 1, 1, 1, 1, 1]}} : {0} 8
m = ReduceMean(x) {{axes=[1], keepdims=1}}
d = Sub(x, m)
p = {1}
v = ReduceMean(p) {{axes=[1], keepdims=1}}
a = Add(v, epsilon)
s = Sqrt(a)
n = Div(d, s)
k = Mul(n, scale)
y = Add(k, scale)
output y = y
)",
                                         type, square);
    return places_of(rule, text.c_str());
  };
  for (const auto& [rule, square] : {std::pair{"layer_normalization_pow", "Pow(d, two)"},
                                     std::pair{"layer_normalization_mul", "Mul(d, d)"}}) {
    EXPECT_EQ(places(rule, square, "float32"), 1) << rule;
    EXPECT_EQ(places(rule, square, "float64"), 0) << rule;
  }
}

/// ../shared/faults/layer_norm_epsilon_zero.onnx: where all elements of a row are equal but their
/// mean is rounded, the original divides by a small number, and a runtime's LayerNormalization by
/// 0.
TEST(Faults, LayerNormEpsilonZero) {
  const auto places = [](const char* rule, const char* square, const char* epsilon) {
    const std::string text = fmt::format(R"(
x = Input : float32 2x4
two = Constant {{value=[2]}} : float32 scalar
epsilon = Constant {{value=[{}]}} : float32 scalar
scale = Constant {{value=[1, 1, 1, 1]}} : float32 4
m = ReduceMean(x) {{axes=[1], keepdims=1}}
d = Sub(x, m)
p = {}
v = ReduceMean(p) {{axes=[1], keepdims=1}}
a = Add(v, epsilon)
s = Sqrt(a)
n = Div(d, s)
k = Mul(n, scale)
y = Add(k, scale)
output y = y
)",
                                         epsilon, square);
    return places_of(rule, text.c_str());
  };
  for (const auto& [rule, square] : {std::pair{"layer_normalization_pow", "Pow(d, two)"},
                                     std::pair{"layer_normalization_mul", "Mul(d, d)"}}) {
    EXPECT_EQ(places(rule, square, "1e-12"), 1) << rule;
    EXPECT_EQ(places(rule, square, "0"), 0) << rule;
    EXPECT_EQ(places(rule, square, "-1e-05"), 0) << rule;
  }
}

/// Unsigned numbers have no -1; differences wrap around.
TEST(SubConstant, HoldsForEveryIntegerType) {
  for (const char* type : {"uint8", "int8", "uint64", "int64", "int32"}) {
    const std::string text = fmt::format(
        "x = Input : {0} 3\nc = Constant {{value=[1, 2, 3]}} : {0} 3\n"
        "y = Sub(x, c)\noutput y = y\n",
        type);
    const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
    const Graph graph = parse_graph(text);
    RewriteState state(graph, rules, make_cost_model("roofline:t4"));
    const auto& places = state.locations(rules->find("sub_constant"));
    ASSERT_EQ(places.size(), 1u) << type;
    state.commit(state.propose(places[0]));
    const Agreement agreement = compare(graph, state.graph());
    EXPECT_TRUE(agreement.agree) << type << ": " << agreement.reason;
  }
}

std::string failure_of(const char* text) {
  const RuleSet rules = RuleSet::parse(text, "planted");
  return check_examples(rules[0], 3, 7).failure;
}

TEST(PlantedRule, WrongSplitPointIsCaught) {
  EXPECT_NE(failure_of(R"(
rule planted
match
  y1 = Conv(x, w1)
  y2 = Conv(x, w2)
where
  dim(w1, 0) == dim(w2, 0)
replace
  y2, y1 = Split(Conv(x, Concat(w1, w2; axis = 0)); axis = 1, split = [dim(w1, 0), dim(w2, 0)])
example x: [1, 2, 4, 4], w1: const [3, 2, 1, 1], w2: const [3, 2, 1, 1]
)"),
            "");
}

TEST(PlantedRule, WrongAxisIsCaught) {
  EXPECT_NE(failure_of(R"(
rule planted
match
  y = Concat(Transpose(a; perm = [1, 0]), Transpose(b; perm = [1, 0]); axis = k)
replace
  y = Transpose(Concat(a, b; axis = k); perm = [1, 0])
example a: [4, 4], b: [4, 4], y.axis = 1
)"),
            "");
  EXPECT_NE(failure_of(R"(
rule planted
match
  y = Softmax(Transpose(x; perm = [1, 0]); axis = k)
replace
  y = Transpose(Softmax(x; axis = k); perm = [1, 0])
example x: [4, 4], y.axis = 1
)"),
            "");
}

TEST(PlantedRule, ActivationMovedAcrossAnAddIsCaught) {
  EXPECT_NE(failure_of(R"(
rule planted
match
  y = Relu(Add(a, b))
replace
  y = Add(Relu(a), Relu(b))
example a: [4, 4], b: [4, 4]
)"),
            "");
}

TEST(PlantedRule, DroppedMultiplierIsCaught) {
  EXPECT_NE(failure_of(R"(
rule planted
match
  y = Mul(Conv(x, w), m)
replace
  y = Conv(x, w)
example x: [1, 2, 4, 4], w: const [3, 2, 1, 1], m: const [1, 3, 4, 1]
)"),
            "");
}

TEST(PlantedRule, AnExampleInWhichTheRuleDoesNotApplyIsAFailure) {
  EXPECT_NE(failure_of(R"(
rule planted
match
  y = Relu(x)
where
  rank(x) == 3
replace
  y = Relu(Relu(x))
example x: [4, 4]
)"),
            "");
}

TEST(PlantedRule, ASoundRulePassesTheSameMachinery) {
  EXPECT_EQ(failure_of(R"(
rule sound
match
  c = Concat(xs...; axis = k)
  y = Relu(c)
replace
  y = Concat(Relu(xs)...; axis = k)
example xs: ([2, 3], [2, 4], [2, 1]), c.axis = 1
)"),
            "");
}

/// float16 makes 0 of 1e-8, and a variance of 0 NaN of the filter.
TEST(ConvBatchnorm, LeavesAloneTypesThatDoNotHoldTheEpsilon) {
  const auto places = [](const char* type) {
    return places_of("conv_batchnorm", fmt::format(R"(
x = Input : {0} 1x2x4x4
w = Constant {{fill=0.5, name="w"}} : {0} 3x2x1x1
s = Constant {{fill=0, name="s"}} : {0} 3
c = Conv(x, w)
y = BatchNormalization(c, s, s, s, s) {{epsilon=1e-8}}
output y = y
)",
                                                   type)
                                           .c_str());
  };
  EXPECT_EQ(places("float32"), 1);
  EXPECT_EQ(places("float64"), 1);
  EXPECT_EQ(places("float16"), 0);
  EXPECT_EQ(places("bfloat16"), 1);  // its range is that of float32
}

/// A runtime computes with the bytes; a filter that rules had computed with would be four times
/// larger.
TEST(ConvBatchnorm, LeavesDequantizedFiltersAlone) {
  const auto places = [](const char* filter) {
    return places_of("conv_batchnorm", fmt::format(R"(
x = Input : float32 1x2x4x4
b = Constant {{fill=1, name="b"}} : int8 3x2x1x1
f = Constant {{fill=0.5, name="f"}} : float32 3x2x1x1
s = Constant {{fill=0.5, name="s"}} : float32 3
u = Constant {{value=[0.1]}} : float32 scalar
d = DequantizeLinear(b, u)
c = Conv(x, {})
y = BatchNormalization(c, s, s, s, s)
output y = y
output d = d
output f = f
)",
                                                   filter)
                                           .c_str());
  };
  EXPECT_EQ(places("f"), 1);
  EXPECT_EQ(places("d"), 0);
}

}  // namespace
}  // namespace reverie
