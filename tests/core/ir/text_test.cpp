#include "core/ir/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/ir/structural_hash.h"
#include "tests/support/random_graph.h"

namespace reverie {
namespace {

using testing::HasSubstr;

constexpr char kText[] =
    R"(x = Input : float32 2x4
"odd name" = Input : int64 scalar
%0 = Constant {value=[1, 2.5, -3, 1e-07], name="b"} : float32 4
%1 = Add(x, %0) : float32 2x4
%2 = Constant {fill=0.5, name="w"} : float32 4x100
%3 = MatMul(%1, %2, -, -) {activation="none"} : float32 2x100
%4 = MatMul(%1, %2) {activation="relu"} : float32 2x100
%5, %6 = Split(%4) {axis=1, split=[40, 60]} : float32 2x40, float32 2x60
%7 = Cast("odd name") {to="float32"} : float32 scalar
%8 = Opaque(%5, %7) {domain="d", op="Odd", proto="a\"\x00"} : unknown, float32 3
output y = %6
output "z z" = %7
)";

TEST(Text, PrintsAndReadsBack) {
  std::string text = kText;
  text.replace(text.find("%8 ="), 4, "%8, %9 =");
  text += "output u = %9\noutput n = %3\n";
  const Graph graph = parse_graph(text);
  graph.validate();
  const std::string printed = to_text(graph);
  EXPECT_THAT(printed, HasSubstr("{domain=\"d\", op=\"Odd\", opsets=\"\", proto=\"a\\\"\\x00\"}"));
  EXPECT_THAT(printed, HasSubstr("{value=[1, 2.5, -3, 1e-07], name=\"b\"} : float32 4\n"));
  EXPECT_THAT(printed, HasSubstr("\"odd name\" = Input : int64 scalar\n"));
  EXPECT_THAT(printed, HasSubstr("output \"z z\" = "));
  EXPECT_TRUE(isomorphic(parse_graph(printed), graph)) << printed;
  EXPECT_EQ(to_text(parse_graph(printed)), printed);
}

TEST(Text, DependsOnTheStructureAlone) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Graph graph = random_graph(seed);
    EXPECT_EQ(to_text(graph), to_text(graph.compacted()));
  }
}

TEST(Text, RandomGraphsReadBackWithLargeWeightsElided) {
  int elided = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = random_graph(seed);
    const std::string text = to_text(graph);
    const Graph read = parse_graph(text);
    EXPECT_TRUE(isomorphic(read, graph.compacted())) << text;
    EXPECT_EQ(to_text(read), text);
    elided += text.find("{weight=") != std::string::npos;
  }
  EXPECT_GT(elided, 5);
}

TEST(Text, AnElidedWeightHasAnIdentityButNoElements) {
  const Tensor elements({DType::kFloat32, {100}});
  Graph graph;
  graph.add_output("y", graph.add_constant(Weight::dense(elements, "w")));
  const Graph read = parse_graph(to_text(graph));
  const WeightPtr weight = read.weight(read.producer(read.outputs()[0].value));
  EXPECT_EQ(weight->identity(), Weight::dense(elements)->identity());
  EXPECT_EQ(weight->name(), "w");
  EXPECT_THROW(weight->materialize(), InputError);
}

std::string refusal(const std::string& text) {
  try {
    parse_graph(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Text, SaysWhatIsWrongAndWhere) {
  const std::string x = "# comment\n\nx = Input : float32 2\n";
  EXPECT_EQ(refusal(x), "accepted");
  EXPECT_THAT(refusal(x + "y = Odd(x)"), HasSubstr("line 4: no operator 'Odd'"));
  EXPECT_THAT(refusal(x + "y = Relu(z)"), HasSubstr("line 4: no value 'z'"));
  EXPECT_THAT(refusal(x + "x = Relu(x)"), HasSubstr("defined twice"));
  EXPECT_THAT(refusal(x + "y = Relu(x) : float32 3"), HasSubstr("Relu gives float32 2"));
  EXPECT_THAT(refusal(x + "y = Relu(x"), HasSubstr("end of the line"));
  EXPECT_THAT(refusal(x + "y = Relu(x) {alpha=1}"), HasSubstr("no attribute 'alpha'"));
  EXPECT_THAT(refusal(x + "y = Constant {value=[1]} : float32 2"), HasSubstr("1 elements"));
  EXPECT_THAT(refusal(x + "y = Constant {weight=12y} : float32 2"),
              HasSubstr("'12y' is no identity"));
  EXPECT_THAT(refusal(x + "y = Constant : float32 2"), HasSubstr("'fill' or 'weight'"));
  EXPECT_THAT(refusal(x + "y = Constant {formula=\"odd\"} : float32 2"),
              HasSubstr("no formula 'odd'"));
  EXPECT_THAT(refusal(x + "y = Constant {formula=\"identity kernel\"} : float32 2"),
              HasSubstr("first two extents must be equal"));
  EXPECT_THAT(refusal(x + "y = Constant {value=[1]} : float99 1"), HasSubstr("float99"));
  EXPECT_THAT(refusal(x + "y, z = Relu(x)"), HasSubstr("1 outputs, 2 names"));
  EXPECT_THAT(refusal(x + "y = Relu(x) )"), HasSubstr("not ')'"));
  EXPECT_THAT(refusal("x = Input : float32 2x"), HasSubstr("no shape"));
  EXPECT_THAT(refusal("x = Input : float32 \"2"), HasSubstr("closing quote"));
}

TEST(Text, EveryKindOfWeightReadsBackAsItself) {
  const TensorType large{DType::kFloat32, {40, 40}};
  const Tensor signs = Tensor::of<float>({2}, {-0.0F, 0.0F});
  const Tensor tiny = Tensor::of<double>({2}, {5e-324, 1e-310});
  Tensor numbers({DType::kInt64, {100}});
  for (int64_t i = 0; i < 100; ++i) numbers.data<int64_t>()[static_cast<size_t>(i)] = i;
  for (const WeightPtr& weight :
       {Weight::constant(large, 0.5), Weight::constant(large, -0.0),
        Weight::constant(large, 1.0 / 9), Weight::identity_kernel(large),
        Weight::identity_kernel({DType::kFloat16, {9, 9, 3, 3}}), Weight::fill(large, 0.5, "w"),
        Weight::fill(large, 0.5, ""), Weight::fill(large, -0.0, "v"),
        Weight::constant({DType::kInt64, {100}}, 3), Weight::fill({DType::kInt64, {100}}, 3, "i"),
        Weight::identity_kernel({DType::kFloat32, {2, 2}}), Weight::dense(signs, "s"),
        Weight::dense(tiny), Weight::dense(numbers, "n"), Weight::dense(Tensor(large), "d")}) {
    Graph graph;
    graph.add_output("y", graph.add_constant(weight));
    const std::string text = to_text(graph);
    const Graph read = parse_graph(text);
    const WeightPtr& again = read.weight(read.producer(read.outputs()[0].value));
    EXPECT_TRUE(isomorphic(read, graph)) << text;
    EXPECT_EQ(to_text(read), text);
    EXPECT_EQ(again->name(), weight->name()) << text;
    EXPECT_EQ(again->is_small(), weight->is_small()) << text;
    EXPECT_EQ(again->is_fill(), weight->is_fill()) << text;
    if (text.find("weight=") == std::string::npos)
      EXPECT_EQ(again->materialize().to_doubles(), weight->materialize().to_doubles()) << text;
    else
      EXPECT_THROW(again->materialize(), InputError) << text;
  }
}

}  // namespace
}  // namespace reverie
