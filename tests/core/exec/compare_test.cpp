#include "core/exec/compare.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/base/error.h"
#include "core/exec/reference/reference.h"
#include "core/ir/text.h"

namespace reverie {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TensorType floats(Shape shape) { return {DType::kFloat32, std::move(shape)}; }

WeightPtr large(Shape shape, const std::string& name) {
  return Weight::fill(floats(std::move(shape)), 1, name);
}

/// y = x * (a + b) or y = x * a + x * b, with large weights whose stored values are all one.
Graph distributed(bool factored, const std::string& second = "b") {
  Graph graph;
  const ValueId x = graph.add_input("x", floats({4, 16}));
  const ValueId a = graph.add_constant(large({16, 32}, "a"));
  const ValueId b = graph.add_constant(large({16, 32}, second));
  graph.add_output(
      "y", factored ? graph.add("MatMul", {x, graph.add("Add", {a, b})})
                    : graph.add("Add", {graph.add("MatMul", {x, a}), graph.add("MatMul", {x, b})}));
  return graph;
}

TEST(Compare, EqualGraphsAgree) {
  const Agreement result = compare(distributed(false), distributed(true));
  EXPECT_TRUE(result.agree) << result.reason;
  EXPECT_EQ(result.inputs, 2);
  EXPECT_GT(result.max_rel_error, 0);
  EXPECT_LT(result.max_rel_error, 1e-12);
}

TEST(Compare, WeightsOfEqualContentButOtherIdentityAreToldApart) {
  const Graph original = distributed(false);
  const Graph swapped = distributed(true, "c");
  EXPECT_FALSE(compare(original, swapped).agree);
  EXPECT_TRUE(compare(original, swapped, {.redraw_weights = false}).agree);
}

TEST(Compare, SignaturesHaveToBeEqual) {
  const Graph original = distributed(false);
  Graph renamed;
  renamed.add_output("y", renamed.add_input("z", floats({4, 32})));
  EXPECT_THAT(compare(original, renamed).reason, HasSubstr("input 'x' is float32 4x16"));
  Graph more = distributed(false);
  more.add_output("second", more.outputs()[0].value);
  EXPECT_THAT(compare(original, more).reason, HasSubstr("output 'second' is absent"));
}

/// A mask of -3e38 beside numbers of about 1.
TEST(Compare, AMaskHidesNoDifference) {
  const auto masked = [](double factor, float mask) {
    Graph graph;
    const ValueId x = graph.add_input("x", floats({4}));
    const auto constant = [&](float value) {
      return graph.add_constant(Weight::dense(Tensor::of<float>({1}, {value})));
    };
    const ValueId scaled = graph.add("Mul", {x, constant(static_cast<float>(factor))});
    graph.add_output("y", graph.add("Concat", {scaled, constant(mask)}, {{"axis", int64_t{0}}}));
    return graph;
  };
  EXPECT_TRUE(compare(masked(1, -3e38f), masked(1, -3e38f)).agree);
  EXPECT_FALSE(compare(masked(1, -3e38f), masked(1.01, -3e38f)).agree);
  EXPECT_FALSE(compare(masked(1, -3e38f), masked(1, -2e38f)).agree);
  EXPECT_FALSE(compare(masked(1, -3e38f), masked(1, 0)).agree);
  EXPECT_FALSE(compare(masked(1, 0), masked(1, -3e38f)).agree);
}

/// The root of a square needs no positive numbers, so that negative ones are tried too.
TEST(Compare, NumbersUnderARootOfASquareHaveBothSigns) {
  const auto graph = [](bool keep_relu) {
    Graph graph;
    const ValueId x = graph.add_input("x", floats({16}));
    graph.add_output("norm", graph.add("Sqrt", {graph.add("Mul", {x, x})}));
    graph.add_output("y", graph.add("Mul", {keep_relu ? graph.add("Relu", {x}) : x, x}));
    return graph;
  };
  EXPECT_TRUE(compare(graph(true), graph(true)).agree);
  EXPECT_FALSE(compare(graph(true), graph(false)).agree);
}

/// Whether x is divided by itself or in a sum: a wrong `Relu(x)` -> `x` shows at negative x alone.
TEST(Compare, NumbersThatAreDividedByHaveBothSigns) {
  const auto graph = [](bool keep_relu, bool sum) {
    Graph graph;
    const ValueId x = graph.add_input("x", floats({16}));
    const ValueId y = graph.add_input("y", floats({16}));
    const ValueId divisor = sum ? graph.add("Add", {x, y}) : graph.add("Mul", {x, y});
    graph.add_output("quotient", graph.add("Div", {y, divisor}));
    graph.add_output("y", keep_relu ? graph.add("Relu", {x}) : x);
    return graph;
  };
  for (const bool sum : {false, true}) {
    const Agreement same = compare(graph(true, sum), graph(true, sum), {.inputs = 6});
    EXPECT_TRUE(same.agree) << same.reason;
    EXPECT_FALSE(compare(graph(true, sum), graph(false, sum)).agree) << sum;
  }
}

/// sqrt(x x) is |x|; sqrt(x) sqrt(x) is not, however much it likes its x positive.
TEST(Compare, ACandidateDoesNotChooseItsNumbers) {
  const auto graph = [](bool right) {
    Graph graph;
    const ValueId x = graph.add_input("x", floats({16}));
    const ValueId root = graph.add("Sqrt", {right ? graph.add("Mul", {x, x}) : x});
    graph.add_output("y", right ? root : graph.add("Mul", {root, root}));
    return graph;
  };
  EXPECT_TRUE(compare(graph(true), graph(true)).agree);
  EXPECT_FALSE(compare(graph(true), graph(false)).agree);
}

/// One NaN would make all of the sum NaN.
TEST(Compare, NumbersStayFiniteUnderRootsOfWhateverKind) {
  const auto sum_of = [](const std::function<ValueId(Graph&, ValueId, ValueId)>& root) {
    Graph graph;
    const ValueId x = graph.add_input("x", floats({64}));
    const ValueId y = graph.add_input("y", floats({64}));
    graph.add_output(
        "sum", graph.add("ReduceSum", {root(graph, x, y)}, {{"axes", std::vector<int64_t>{0}}}));
    return graph;
  };
  const auto broken_power = [](Graph& graph, ValueId x, ValueId) {
    const ValueId half = graph.add_constant(Weight::dense(Tensor::of<float>({}, {0.5f})));
    return graph.add("Pow", {x, half});
  };
  const auto quotient = [](Graph& graph, ValueId x, ValueId y) {
    return graph.add("Sqrt", {graph.add("Div", {x, y})});
  };
  const auto hidden_quotient = [](Graph& graph, ValueId x, ValueId) {
    return graph.add("Sqrt", {graph.add("Tanh", {graph.add("Reciprocal", {x})})});
  };
  for (const Graph& graph : {sum_of(broken_power), sum_of(quotient), sum_of(hidden_quotient)}) {
    const Agreement result = compare(graph, graph);
    EXPECT_TRUE(result.agree) << result.reason;
  }
}

TEST(Compare, CheckingNothingIsNoAgreement) {
  Graph none;
  none.add_input("x", floats({4}));
  EXPECT_THAT(compare(none, none).reason, HasSubstr("nothing was checked"));
  EXPECT_FALSE(compare(distributed(false), distributed(false), {.inputs = 0}).agree);

  Graph nan;
  const ValueId x = nan.add_input("x", floats({4}));
  const ValueId minus = nan.add_constant(Weight::dense(Tensor::of<float>({}, {-1}), ""));
  const ValueId below = nan.add("Sub", {minus, nan.add("Abs", {x})});
  nan.add_output("y", nan.add("Sqrt", {below}));
  const Agreement unknown = compare(nan, nan);
  EXPECT_THAT(unknown.reason, HasSubstr("nothing was checked: output 'y' holds no finite number"));
  EXPECT_FALSE(unknown.disagree());
}

/// Outputs log(-1 - |x|), which holds no number, by one of two routes, and factor * x.
Graph beside_no_number(bool rewritten, float factor) {
  Graph graph;
  const ValueId x = graph.add_input("x", floats({4}));
  const ValueId minus = graph.add_constant(Weight::dense(Tensor::of<float>({}, {-1}), ""));
  const ValueId scale = graph.add_constant(Weight::dense(Tensor::of<float>({}, {factor}), ""));
  const ValueId size = graph.add("Abs", {x});
  const ValueId below = rewritten ? graph.add("Neg", {graph.add("Sub", {size, minus})})
                                  : graph.add("Sub", {minus, size});
  graph.add_output("none", graph.add("Log", {below}));
  graph.add_output("y", graph.add("Mul", {x, scale}));
  return graph;
}

TEST(Compare, WhatHoldsNoNumberHasToBeComputedAsItWas) {
  const Agreement same = compare(beside_no_number(false, 2), beside_no_number(false, 2));
  EXPECT_TRUE(same.agree) << same.reason;
  EXPECT_THAT(same.left_out, ElementsAre(HasSubstr("'none' holds no finite number")));
  const Agreement rewritten = compare(beside_no_number(false, 2), beside_no_number(true, 2));
  EXPECT_THAT(rewritten.reason, HasSubstr("'none' holds no finite number"));
  EXPECT_THAT(compare(beside_no_number(false, 2), beside_no_number(false, 3)).reason,
              HasSubstr("'y' differs"));
}

TEST(Compare, TheFirstSetOfInputsIsRunWhateverTheTime) {
  const Agreement result =
      compare(distributed(false), distributed(true), {.inputs = 3, .seconds = 1e-9});
  EXPECT_TRUE(result.agree) << result.reason;
  EXPECT_EQ(result.inputs, 1);
  EXPECT_THAT(result.left_out, ElementsAre(HasSubstr("2 of 3 sets of random inputs"),
                                           HasSubstr("zeros"), HasSubstr("large numbers")));
  EXPECT_THAT(compare(distributed(false), distributed(true)).left_out, IsEmpty());
}

Graph shifted_abs(double shift) {
  Graph graph;
  const ValueId x = graph.add_input("x", floats({64}));
  const ValueId by =
      graph.add_constant(Weight::dense(Tensor::of<float>({}, {static_cast<float>(shift)}), ""));
  graph.add_output("y", graph.add("Add", {graph.add("Abs", {x}), by}));
  return graph;
}

TEST(Compare, SmallWeightsKeepTheirValues) {
  EXPECT_TRUE(compare(shifted_abs(2), shifted_abs(2)).agree);
  const Agreement result = compare(shifted_abs(2), shifted_abs(2.25));
  EXPECT_FALSE(result.agree);
  EXPECT_NEAR(result.max_abs_error, 0.25, 1e-9);
  EXPECT_TRUE(compare(shifted_abs(2), shifted_abs(2.25), {.tolerance = 0.2}).agree);
}

TEST(Compare, IntegersAreEqualOrNot) {
  const auto shifted = [](int64_t by) {
    Graph graph;
    const ValueId x = graph.add_input("x", {DType::kInt64, {8}});
    const ValueId number = graph.add_constant(Weight::dense(Tensor::of<int64_t>({}, {by})));
    graph.add_output("y", graph.add("Add", {x, number}));
    return graph;
  };
  constexpr int64_t kLarge = int64_t{1} << 60;
  EXPECT_TRUE(compare(shifted(kLarge), shifted(kLarge)).agree);
  EXPECT_FALSE(compare(shifted(1000000000), shifted(1000000001)).agree);
  const Agreement result = compare(shifted(kLarge), shifted(kLarge + 1));
  EXPECT_FALSE(result.agree);
  EXPECT_THAT(result.reason, HasSubstr("'y' holds other integers"));
}

/// 2^38 elements of 8 bytes are 2048 GiB.
TEST(Compare, ValuesBeyondTheMemoryAreRefusedByName) {
  Graph graph;
  const ValueId x = graph.add_input("x", floats({1 << 19}));
  const ValueId column = graph.add("Reshape", {x}, {{"shape", std::vector<int64_t>{1 << 19, 1}}});
  graph.add_output("y", graph.add("Mul", {x, column}));
  try {
    compare(graph, graph);
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("what Mul gives (float32 524288x524288) needs 2048 GiB"));
  }
}

TEST(Compare, VariancesAreDrawnPositive) {
  Graph graph;
  const ValueId x = graph.add_input("x", floats({1, 128, 4, 4}));
  const auto weight = [&](const char* name) { return graph.add_constant(large({128}, name)); };
  const ValueId normal = graph.add(
      "BatchNormalization", {x, weight("scale"), weight("bias"), weight("mean"), weight("var")});
  const ValueId spread = graph.add(
      "Sqrt",
      {graph.add("Reshape", {weight("spread")}, {{"shape", std::vector<int64_t>{128, 1, 1}}})});
  graph.add_output("y", graph.add("Add", {normal, spread}));
  Graph same = graph;
  same.add_output("again", same.outputs()[0].value);
  graph.add_output("again", graph.outputs()[0].value);
  EXPECT_TRUE(compare(graph, same).agree);
}

TEST(Compare, IndicesStayWithinTheirTable) {
  for (const int64_t extent : {1, 3, 50}) {
    Graph graph;
    const ValueId ids = graph.add_input("ids", {DType::kInt64, {2, 9}});
    const ValueId table = graph.add_constant(large({extent, 96}, "table"));
    const ValueId flat = graph.add("Reshape", {ids}, {{"shape", std::vector<int64_t>{18}}});
    graph.add_output("y", graph.add("Gather", {table, flat}));
    const Agreement result = compare(graph, graph, {.inputs = 5});
    EXPECT_TRUE(result.agree) << result.reason;
  }
}

/// y = Odd(x * scale) + x, or Odd(x * scale) itself where its type is unknown.
Graph with_opaque(const std::string& proto, double scale, bool typed = true) {
  Graph graph;
  const ValueId x = graph.add_input("x", floats({8}));
  const ValueId by =
      graph.add_constant(Weight::dense(Tensor::of<float>({}, {static_cast<float>(scale)}), ""));
  const ValueId in = graph.add("Mul", {x, by});
  const auto attributes = std::make_shared<const Attributes>(
      Attributes{{"op", std::string("Odd")}, {"domain", std::string("custom")}, {"proto", proto}});
  const std::vector<TensorType> types = {typed ? floats({8}) : TensorType{}};
  const NodeId odd = graph.add_node(opaque_op(), std::span(&in, 1), attributes, types);
  graph.add_output("y", typed ? graph.add("Add", {graph.output(odd), x}) : graph.output(odd));
  return graph;
}

TEST(Compare, CutsAtOpaqueNodes) {
  const Graph original = with_opaque("p", 2);
  const Agreement same = compare(original, with_opaque("p", 2));
  EXPECT_TRUE(same.agree) << same.reason;
  EXPECT_EQ(same.unverified_nodes, 1);
  EXPECT_THAT(compare(original, with_opaque("p", 3)).reason, HasSubstr("input 0 of Odd"));
  EXPECT_THAT(compare(original, with_opaque("q", 2)).reason, HasSubstr("only one of the graphs"));
  EXPECT_FALSE(compare(original, shifted_abs(1)).agree);
}

TEST(Compare, ValuesOfUnknownTypeAreComparedByPairing) {
  const Graph original = with_opaque("p", 2, false);
  EXPECT_TRUE(compare(original, with_opaque("p", 2, false)).agree);
  EXPECT_FALSE(compare(original, with_opaque("p", 3, false)).agree);
  EXPECT_FALSE(compare(original, with_opaque("q", 2, false)).agree);
}

/// label = Odd(x, words) and same = words, which are strings, beside y = x * scale.
Graph with_strings(int64_t words, double scale, bool swapped = false) {
  Graph graph;
  const ValueId x = graph.add_input("x", floats({8}));
  const TensorType strings = {DType::kString, {words}};
  const ValueId inputs[] = {x, graph.add_input("words", strings)};
  const auto attributes = std::make_shared<const Attributes>(Attributes{
      {"op", std::string("Odd")}, {"domain", std::string("custom")}, {"proto", std::string("p")}});
  const ValueId label =
      graph.output(graph.add_node(opaque_op(), inputs, attributes, {&strings, 1}));
  const ValueId by =
      graph.add_constant(Weight::dense(Tensor::of<float>({}, {static_cast<float>(scale)}), ""));
  graph.add_output("y", graph.add("Mul", {x, by}));
  graph.add_output(swapped ? "same" : "label", label);
  graph.add_output(swapped ? "label" : "same", inputs[1]);
  return graph;
}

TEST(Compare, StringsAreComparedByPairing) {
  const Graph original = with_strings(3, 2);
  const Agreement same = compare(original, with_strings(3, 2));
  EXPECT_TRUE(same.agree) << same.reason;
  EXPECT_FALSE(compare(original, with_strings(3, 2.5)).agree);
  EXPECT_FALSE(compare(original, with_strings(3, 2, true)).agree);
  EXPECT_THAT(compare(original, with_strings(4, 2)).reason,
              HasSubstr("input 'words' of type string"));
}

/// Every layer cubes its input, so that weights of usual size lead beyond the largest double.
TEST(Compare, WeightsAreMadeSmallerWhereNumbersWouldOverflow) {
  const auto cubes = [](bool wrong) {
    Graph graph;
    ValueId x = graph.add_input("x", floats({16, 16}));
    for (int layer = 0; layer < 9; ++layer) {
      const ValueId w = graph.add_constant(large({16, 16}, fmt::format("w{}", layer)));
      const ValueId q = graph.add("MatMul", {x, w});
      x = graph.add("MatMul", {graph.add("MatMul", {q, q}), wrong && layer == 2 ? x : q});
    }
    graph.add_output("y", x);
    return graph;
  };
  const Agreement result = compare(cubes(false), cubes(false));
  EXPECT_TRUE(result.agree) << result.reason;
  EXPECT_FALSE(compare(cubes(false), cubes(true)).agree);
}

/// y = table[ids] + x * factor, where `index` makes the indices of `ids`.
Graph looked_up(const std::string& index, const std::string& factor = "2") {
  return parse_graph(
      "ids = Input : int64 6\nx = Input : float32 6x2\n"
      "t = Constant {value=[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]} : float32 5x2\n"
      "f = Constant {value=[" +
      factor + "]} : float32 1\n" + index +
      "\nr = Gather(t, i)\nm = Mul(x, f)\ny = Add(r, m)\noutput y = y\n");
}

TEST(Compare, WhatCannotBeRunIsNoDisagreement) {
  const std::string far = "h = Constant {value=[100]} : int64 1\na = Mul(ids, h)\ni = Add(a, h)";
  const Agreement result = compare(looked_up(far), looked_up(far));
  EXPECT_TRUE(result.agree) << result.reason;
  EXPECT_FALSE(result.disagree());
  EXPECT_EQ(result.unverified_nodes, 1);
  EXPECT_THAT(result.not_run, HasSubstr("Gather (computed from 'ids'): "));
  EXPECT_THAT(result.not_run, HasSubstr("out of range"));
  const Agreement other = compare(looked_up(far), looked_up(far, "3"));
  EXPECT_TRUE(other.disagree());  // the rest is still compared
  const Agreement none = compare(looked_up(far), looked_up("i = Identity(ids)"));
  EXPECT_FALSE(none.agree);
}

TEST(Compare, WhatCannotBeRunIsNamedAsInTheFile) {
  Graph graph = looked_up("h = Constant {value=[100]} : int64 1\na = Mul(ids, h)\ni = Add(a, h)");
  for (const NodeId node : graph.nodes())
    if (graph.op(node).is("Gather"))
      graph.set_names(node, std::make_shared<const NodeNames>(NodeNames{"lookup", {"rows"}}));
  EXPECT_THAT(compare(graph, graph).not_run,
              HasSubstr("Gather at lookup (output 'rows', computed from 'ids'): index"));
}

TEST(Compare, RangesAndInputsCanBeGiven) {
  const std::string scaled = "h = Constant {value=[10]} : int64 1\ni = Div(ids, h)";
  const std::string clipped =
      "h = Constant {value=[10]} : int64 1\nj = Div(ids, h)\ni = Clip(j) {max=3}";
  CompareOptions options;
  options.ranges["ids"] = {30, 39};
  EXPECT_TRUE(compare(looked_up(scaled), looked_up(clipped), options).agree);
  options.ranges["ids"] = {30, 49};
  EXPECT_FALSE(compare(looked_up(scaled), looked_up(clipped), options).agree);
  options.given["ids"] = Tensor::of<int64_t>({6}, {0, 9, 12, 31, 38, 39});
  EXPECT_TRUE(compare(looked_up(scaled), looked_up(clipped), options).agree);
  options.given["ids"] = Tensor::of<int64_t>({6}, {0, 9, 12, 31, 38, 40});
  EXPECT_FALSE(compare(looked_up(scaled), looked_up(clipped), options).agree);
}

DrawRole role_of_ids(const std::string& nodes, const std::string& output = "y") {
  const Graph graph = parse_graph(
      "ids = Input : int64 6\nc = Constant {value=[2]} : int64 1\n"
      "one = Constant {value=[1]} : float32 1\n"
      "t = Constant {value=[1, 2, 3, 4, 5]} : float32 5\n" +
      nodes + "\noutput y = " + output + "\n");
  const Graph* graphs[] = {&graph};
  return DrawPlan(graphs).input("ids");
}

TEST(Draw, IntegersAreSuchAsTheGraphTakes) {
  EXPECT_EQ(role_of_ids("y = Gather(t, ids)").index_limit, 5);
  EXPECT_EQ(role_of_ids("a = Add(ids, c)\ny = Gather(t, a)").index_limit, 3);
  EXPECT_EQ(role_of_ids("a = Sub(ids, c)\ny = Gather(t, a)").index_limit, 5);
  EXPECT_EQ(role_of_ids("e = Equal(ids, c)\na = Where(e, c, ids)\ny = Gather(t, a)").index_limit,
            5);
  EXPECT_EQ(role_of_ids("a = Cast(ids) {to=\"int32\"}\nb = Clip(a) {min=0}\ny = Gather(t, b)")
                .index_limit,
            5);
  EXPECT_EQ(role_of_ids("y = Mul(ids, c)").index_limit, 0);
}

TEST(Draw, MasksAreZeroOrOne) {
  EXPECT_TRUE(role_of_ids("f = Cast(ids) {to=\"float32\"}\ny = Sub(one, f)").is_truth);
  EXPECT_TRUE(role_of_ids("y = Cast(ids) {to=\"bool\"}").is_truth);
  EXPECT_FALSE(role_of_ids("y = Equal(ids, c)").is_truth);
  EXPECT_FALSE(role_of_ids("f = Cast(ids) {to=\"float32\"}\ny = Mul(one, f)").is_truth);
}

TEST(Compare, NanWhereTheReferenceHasNoneIsADisagreement) {
  const auto root_of = [](bool broken) {
    Graph graph;
    const ValueId x = graph.add_input("x", floats({64}));
    const ValueId nothing = graph.add("Sub", {x, x});
    graph.add_output("y", broken ? graph.add("Div", {x, nothing}) : x);
    return graph;
  };
  EXPECT_FALSE(compare(root_of(false), root_of(true)).agree);
}

/// Of two integers of type `dtype`, and 3.
Graph of_integers(DType dtype,
                  const std::function<ValueId(Graph&, ValueId, ValueId, ValueId)>& build) {
  Graph graph;
  const ValueId a = graph.add_input("a", {dtype, {8}}), b = graph.add_input("b", {dtype, {8}});
  graph.add_output("y", build(graph, a, b, graph.add_constant(Weight::constant({dtype, {8}}, 3))));
  return graph;
}

/// 0 and 1 alone would not tell a square from its root, nor a sum of quotients from the quotient of
/// the sum.
TEST(Compare, IntegersThatAreComputedWithAreNotOnlyZeroAndOne) {
  for (const DType dtype : {DType::kInt8, DType::kInt64, DType::kUInt8}) {
    const auto by = [&](const char* op) {
      return of_integers(dtype, [op](Graph& graph, ValueId a, ValueId b, ValueId) {
        return graph.add(op, {a, b});
      });
    };
    EXPECT_TRUE(compare(by("Add"), by("Add")).agree);
    EXPECT_TRUE(compare(by("Div"), by("Div")).agree) << "nothing is divided by 0";
    EXPECT_FALSE(compare(of_integers(dtype,
                                     [](Graph& g, ValueId a, ValueId, ValueId) {
                                       return g.add("Mul", {a, a});
                                     }),
                         of_integers(dtype, [](Graph&, ValueId a, ValueId, ValueId) { return a; }))
                     .agree);
    EXPECT_FALSE(
        compare(
            of_integers(dtype,
                        [](Graph& g, ValueId a, ValueId b, ValueId three) {
                          return g.add("Add", {g.add("Div", {a, three}), g.add("Div", {b, three})});
                        }),
            of_integers(dtype,
                        [](Graph& g, ValueId a, ValueId b, ValueId three) {
                          return g.add("Div", {g.add("Add", {a, b}), three});
                        }))
            .agree);
  }
}

RunGraph by(Executor& executor) {
  return [&executor](const Graph& graph, std::span<const Tensor> inputs,
                     const WeightSource& weights) { return executor.run(graph, inputs, weights); };
}

/// Of single precision for graphs of the candidate's form: large weights are drawn, and equal on
/// both sides.
TEST(RoundingErrors, AreThoseOfTheExecutorAlone) {
  const std::vector<Graph> graphs = {distributed(false), distributed(true)};
  ReferenceExecutor single({.precision = Precision::kDeclared});
  for (const double error : rounding_errors(by(single), graphs[0], graphs)) {
    EXPECT_GT(error, 1e-9);
    EXPECT_LT(error, 1e-5);
  }
  ReferenceExecutor exact({.precision = Precision::kDouble, .cast_back = false});
  EXPECT_EQ(rounding_errors(by(exact), graphs[0], graphs)[0], 0);
  EXPECT_LT(rounding_errors(by(exact), graphs[0], graphs)[1], 1e-12);
}

TEST(RoundingErrors, AreOfTheModelsOwnNumbers) {
  const auto scaled_by = [](float number) {
    std::vector<float> numbers(100, number);
    Graph graph;
    const ValueId x = graph.add_input("x", floats({100}));
    const auto w = graph.add_constant(Weight::dense(Tensor::of<float>({100}, numbers)));
    graph.add_output("y", graph.add("Add", {graph.add("Sub", {x, w}), w}));
    return graph;
  };
  ReferenceExecutor single({.precision = Precision::kDeclared});
  const std::vector<Graph> graphs = {scaled_by(1e6F)};
  EXPECT_GT(rounding_errors(by(single), graphs[0], graphs)[0], 1e-3)
      << "a large number takes all digits";
}

}  // namespace
}  // namespace reverie
