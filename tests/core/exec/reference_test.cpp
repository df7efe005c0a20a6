#include "core/exec/reference/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/exec/reference/kernels.h"

namespace reverie {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using List = std::vector<int64_t>;

constexpr ReferenceOptions kPoisoned{.poison = true};

Tensor floats(Shape shape, std::initializer_list<float> values) {
  return Tensor::of<float>(std::move(shape), values);
}
Tensor integers(Shape shape, std::initializer_list<int64_t> values) {
  return Tensor::of<int64_t>(std::move(shape), values);
}

Tensor random_tensor(Shape shape, uint64_t seed) {
  Tensor tensor({DType::kFloat64, std::move(shape)});
  Rng rng(seed);
  for (double& x : tensor.data<double>()) x = rng.normal();
  return tensor;
}

Tensor evaluate(std::string_view op, std::vector<Tensor> inputs, Attributes attributes = {}) {
  return evaluate_node(op_named(op), attributes, inputs, kPoisoned).at(0);
}

TEST(Reference, IntegersWithoutAMeaningAreNoCrash) {
  EXPECT_THROW(evaluate("ReduceMean", {integers({2, 0}, {})}, {{"axes", List{1}}}), InputError);
  const Tensor clipped = evaluate("Clip", {integers({2}, {-5, 7})}, {{"max", 0x1.0p63}});
  EXPECT_THAT(clipped.data<int64_t>(), ElementsAre(-5, 7));
}

/// What the specification says of a convolution of one image in two dimensions.
double convolved(const Tensor& x, const Tensor& filter, int64_t groups, int64_t stride, int64_t pad,
                 int64_t dilation, int64_t f, int64_t row, int64_t column) {
  const Shape &in = x.shape(), &of = filter.shape();
  const int64_t group = f / (of[0] / groups);
  double sum = 0;
  for (int64_t c = 0; c < of[1]; ++c)
    for (int64_t h = 0; h < of[2]; ++h)
      for (int64_t w = 0; w < of[3]; ++w) {
        const int64_t y = row * stride - pad + h * dilation,
                      z = column * stride - pad + w * dilation;
        if (y < 0 || y >= in[2] || z < 0 || z >= in[3]) continue;
        sum +=
            filter.data<double>()[static_cast<size_t>(((f * of[1] + c) * of[2] + h) * of[3] + w)] *
            x.data<double>()[static_cast<size_t>(((group * of[1] + c) * in[2] + y) * in[3] + z)];
      }
  return sum;
}

/// Few filters in a group are convolved tap by tap, many by a product of matrices.
TEST(Reference, ConvolutionsOfFewAndOfManyFiltersAreTheSums) {
  const Tensor x = random_tensor({1, 6, 9, 41}, 1);
  for (const int64_t groups : {1, 3, 6})
    for (const int64_t filters : {1, 3, 5})
      for (const int64_t stride : {1, 2, 3})
        for (const int64_t pad : {0, 2, 7})
          for (const int64_t dilation : {1, 2}) {
            const Tensor filter = random_tensor({filters * groups, 6 / groups, 3, 3}, 2);
            const Tensor y = evaluate("Conv", {x, filter},
                                      {{"group", groups},
                                       {"strides", List{stride, stride}},
                                       {"pads", List{pad, pad, pad, pad}},
                                       {"dilations", List{dilation, dilation}}});
            const Shape& out = y.shape();
            for (int64_t at = 0; at < y.elements(); ++at)
              ASSERT_NEAR(y.data<double>()[static_cast<size_t>(at)],
                          convolved(x, filter, groups, stride, pad, dilation,
                                    at / (out[2] * out[3]), at / out[3] % out[2], at % out[3]),
                          1e-12)
                  << filters << " filters in " << groups << " groups, stride " << stride << ", pad "
                  << pad;
          }
}

TEST(Reference, IntegersWrapAround) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const auto result = [](std::string_view op, std::vector<Tensor> inputs) {
    return evaluate(op, std::move(inputs)).to_integers();
  };
  const Tensor one = integers({1, 1}, {1}), two = integers({1, 1}, {2});
  const Tensor most = integers({1, 1}, {kMost});
  for (const char* op : {"Abs", "Neg"})
    EXPECT_THAT(result(op, {integers({1}, {kLeast})}), ElementsAre(kLeast)) << op;
  EXPECT_THAT(result("ReduceSum", {integers({2}, {kMost, 1})}), ElementsAre(kLeast));
  for (const char* op : {"MatMul", "Gemm"}) {
    EXPECT_THAT(result(op, {most, two}), ElementsAre(-2)) << op;
    EXPECT_THAT(result(op, {most, one, one}), ElementsAre(kLeast)) << op;
    EXPECT_THAT(result(op, {integers({1, 2}, {kMost, 1}), integers({2, 1}, {1, 1})}),
                ElementsAre(kLeast))
        << op;
  }
}

std::vector<double> numbers(std::string_view op, std::vector<Tensor> inputs,
                            Attributes attributes = {}) {
  return evaluate(op, std::move(inputs), std::move(attributes)).to_doubles();
}

TEST(Reference, EveryRowHasAKernel) {
  const std::set<std::string> without = {"Input", "Constant", "Opaque"};
  for (const OpSchema& row : all_ops())
    EXPECT_EQ(reference::find_kernel(row) == nullptr, without.count(row.name) == 1) << row.name;
}

TEST(Reference, Elementwise) {
  EXPECT_THAT(numbers("Add", {floats({2, 1}, {1, 2}), floats({3}, {10, 20, 30})}),
              ElementsAre(11, 21, 31, 12, 22, 32));
  EXPECT_THAT(numbers("Div", {integers({3}, {7, -7, 7}), integers({3}, {2, 2, -1})}),
              ElementsAre(3, -3, -7));
  EXPECT_THROW(numbers("Div", {integers({1}, {7}), integers({}, {0})}), InputError);
  EXPECT_THAT(numbers("Pow", {integers({3}, {2, -3, 5}), integers({3}, {10, 3, 0})}),
              ElementsAre(1024, -27, 1));
  EXPECT_THAT(numbers("Clip", {floats({3}, {-2, 0.5, 9})}, {{"min", 0.0}}), ElementsAre(0, 0.5, 9));
  EXPECT_THAT(numbers("Erf", {floats({1}, {0.5})}), ElementsAre(DoubleNear(0.5204998778, 1e-7)));
  EXPECT_THAT(numbers("HardSwish", {floats({3}, {-4, 1, 4})}),
              ElementsAre(0, DoubleNear(2.0 / 3, 1e-6), 4));
  EXPECT_THAT(numbers("Gelu", {floats({2}, {1, -3})}),
              ElementsAre(DoubleNear(0.8413447461, 1e-7), DoubleNear(-0.0040496941, 1e-7)));
  EXPECT_THAT(numbers("Gelu", {floats({1}, {1})}, {{"approximate", std::string("tanh")}}),
              ElementsAre(DoubleNear(0.8411919906, 1e-7)));
  EXPECT_THAT(numbers("Where", {Tensor::of<bool>({2}, {true, false}), floats({}, {1}),
                                floats({2, 1}, {5, 6})}),
              ElementsAre(1, 5, 1, 6));
  EXPECT_THAT(evaluate("Less", {floats({2}, {1, 3}), floats({}, {2})}).data<bool>(),
              ElementsAre(true, false));
  EXPECT_THAT(numbers("Cast", {floats({3}, {1.9F, -1.9F, NAN})}, {{"to", std::string("int32")}}),
              ElementsAre(1, -1, 0));
}

TEST(Reference, DeclaredTypesWrapAndRound) {
  const Tensor bytes = Tensor::of<uint8_t>({1}, {200});
  EXPECT_THAT(numbers("Add", {bytes, bytes}), ElementsAre(400 - 256));
  const Tensor half = floats({1}, {1.0F}).cast(DType::kFloat16);
  const Tensor small = floats({1}, {0.0004F}).cast(DType::kFloat16);
  EXPECT_THAT(numbers("Add", {half, small}), ElementsAre(1.0));
  EXPECT_EQ(evaluate("Add", {half, small}).type().dtype, DType::kFloat16);
}

TEST(Reference, HalfPrecisionRoundsToNearestEven) {
  const auto through = [](DType dtype, double x) {
    return Tensor::of<double>({}, {x}).cast(dtype).to_doubles().at(0);
  };
  EXPECT_EQ(through(DType::kFloat16, 2049), 2048);
  EXPECT_EQ(through(DType::kFloat16, 2051), 2052);
  EXPECT_EQ(through(DType::kFloat16, 65504), 65504);
  EXPECT_EQ(through(DType::kFloat16, 65520), INFINITY);
  EXPECT_EQ(through(DType::kFloat16, std::ldexp(1, -24)), std::ldexp(1, -24));
  EXPECT_EQ(through(DType::kFloat16, std::ldexp(1, -26)), 0);
  EXPECT_EQ(through(DType::kBFloat16, -257), -256);
  EXPECT_TRUE(std::isnan(through(DType::kBFloat16, NAN)));
  EXPECT_EQ(Tensor::of<double>({}, {-1.5}).cast(DType::kFloat16).data<Float16>()[0].bits, 0xbe00);
}

TEST(Reference, MatMulBroadcastsAndAppliesItsEpilogue) {
  EXPECT_THAT(numbers("MatMul", {floats({2, 2}, {1, 2, 3, 4}), floats({2}, {1, -1})}),
              ElementsAre(-1, -1));
  EXPECT_THAT(numbers("MatMul", {floats({2, 1, 2}, {1, 2, 3, 4}), floats({2, 1}, {1, 10})}),
              ElementsAre(21, 43));
  EXPECT_THAT(numbers("MatMul",
                      {floats({1, 2}, {1, 2}), floats({2, 2}, {1, 0, 0, 1}), floats({2}, {-5, 1}),
                       floats({1, 2}, {1, 1})},
                      {{"activation", std::string("relu")}}),
              ElementsAre(0, 4));
  EXPECT_THAT(numbers("MatMul", {integers({1, 2}, {1, 2}), integers({2, 1}, {3, 4})}),
              ElementsAre(11));
}

TEST(Reference, GemmTransposesAndScales) {
  const Attributes attributes = {
      {"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", 2.0}, {"beta", 0.5}};
  EXPECT_THAT(
      numbers("Gemm",
              {floats({2, 1}, {1, 2}), floats({3, 2}, {1, 0, 0, 1, 1, 1}), floats({3}, {2, 4, 6})},
              attributes),
      ElementsAre(3, 6, 9));
}

/// Convolution by its definition.
std::vector<double> direct_conv(const Tensor& x, const Tensor& filter, const Shape& out,
                                const Attributes& a) {
  const auto in = x.data<double>();
  const auto w = filter.data<double>();
  const auto at = [&](const char* name, size_t i) { return a.integers(name)[i]; };
  const Shape& xs = x.shape();
  const Shape& ws = filter.shape();
  const int64_t per_group = ws[0] / a.integer("group");
  std::vector<double> result;
  for (int64_t n = 0; n < out[0]; ++n)
    for (int64_t m = 0; m < out[1]; ++m)
      for (int64_t i = 0; i < out[2]; ++i)
        for (int64_t j = 0; j < out[3]; ++j) {
          double sum = 0;
          for (int64_t c = 0; c < ws[1]; ++c)
            for (int64_t u = 0; u < ws[2]; ++u)
              for (int64_t v = 0; v < ws[3]; ++v) {
                const int64_t row = i * at("strides", 0) + u * at("dilations", 0) - at("pads", 0);
                const int64_t column =
                    j * at("strides", 1) + v * at("dilations", 1) - at("pads", 1);
                if (row < 0 || row >= xs[2] || column < 0 || column >= xs[3]) continue;
                const int64_t channel = m / per_group * ws[1] + c;
                sum += in[((n * xs[1] + channel) * xs[2] + row) * xs[3] + column] *
                       w[((m * ws[1] + c) * ws[2] + u) * ws[3] + v];
              }
          result.push_back(sum);
        }
  return result;
}

TEST(Reference, ConvolutionIsItsDefinition) {
  struct Case {
    int64_t group;
    List strides, pads, dilations;
    Shape filter;
  };
  for (const Case& c : {Case{1, {1, 1}, {0, 0, 0, 0}, {1, 1}, {4, 6, 1, 1}},
                        Case{1, {2, 1}, {1, 2, 0, 1}, {1, 2}, {4, 6, 3, 2}},
                        Case{2, {1, 2}, {1, 1, 1, 1}, {2, 1}, {4, 3, 3, 3}},
                        Case{6, {1, 1}, {2, 2, 2, 2}, {1, 1}, {6, 1, 5, 5}}}) {
    const Attributes attributes = {{"group", c.group},
                                   {"strides", c.strides},
                                   {"pads", c.pads},
                                   {"dilations", c.dilations},
                                   {"activation", std::string("none")}};
    const Tensor x = random_tensor({2, 6, 9, 8}, 1);
    const Tensor filter = random_tensor(c.filter, 2);
    const Tensor result = evaluate("Conv", {x, filter}, attributes);
    EXPECT_THAT(result.to_doubles(),
                Pointwise(DoubleNear(1e-12), direct_conv(x, filter, result.shape(), attributes)));
  }
}

TEST(Reference, ConvolutionAddsBiasAndResidualThenActivates) {
  EXPECT_THAT(numbers("Conv",
                      {floats({1, 1, 1, 2}, {1, 2}), floats({2, 1, 1, 1}, {1, -1}),
                       floats({2}, {10, 0}), floats({1, 2, 1, 2}, {0.5, 0, 0, 5})},
                      {{"activation", std::string("relu")}}),
              ElementsAre(11.5, 12, 0, 3));
}

TEST(Reference, ConvolutionOfOneAndThreeAxes) {
  EXPECT_THAT(numbers("Conv", {floats({1, 1, 4}, {1, 2, 3, 4}), floats({1, 1, 2}, {1, -1})}),
              ElementsAre(-1, -1, -1));
  const Tensor x = random_tensor({1, 2, 3, 4, 5}, 3);
  const Tensor filter = random_tensor({3, 2, 3, 1, 1}, 4);
  Tensor flat = evaluate("Conv", {x.reshaped({1, 2, 3, 20}), filter.reshaped({3, 2, 3, 1})});
  EXPECT_THAT(numbers("Conv", {x, filter}), Pointwise(DoubleNear(1e-12), flat.to_doubles()));
}

TEST(Reference, LargeConvolutionIsUnfoldedInBlocks) {
  const Tensor x = random_tensor({1, 16, 192, 192}, 5);
  const Tensor filter = random_tensor({1, 16, 3, 3}, 6);
  const Attributes same = {{"pads", List{1, 1, 1, 1}}};
  const Attributes full = {{"group", int64_t{1}},
                           {"strides", List{1, 1}},
                           {"dilations", List{1, 1}},
                           {"pads", List{1, 1, 1, 1}}};
  const Tensor result = evaluate("Conv", {x, filter}, same);
  EXPECT_THAT(result.to_doubles(),
              Pointwise(DoubleNear(1e-11), direct_conv(x, filter, result.shape(), full)));
}

TEST(Reference, Pooling) {
  const Tensor x = floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_THAT(numbers("MaxPool", {x}, {{"kernel_shape", List{2, 2}}}), ElementsAre(5, 6, 8, 9));
  EXPECT_THAT(
      numbers("MaxPool", {x},
              {{"kernel_shape", List{2, 2}}, {"strides", List{2, 2}}, {"ceil_mode", int64_t{1}}}),
      ElementsAre(5, 6, 8, 9));
  const Attributes padded = {
      {"kernel_shape", List{2, 2}}, {"strides", List{3, 3}}, {"pads", List{1, 1, 0, 0}}};
  EXPECT_THAT(numbers("AveragePool", {x}, padded), ElementsAre(1));
  Attributes counted = padded;
  counted.set("count_include_pad", int64_t{1});
  EXPECT_THAT(numbers("AveragePool", {x}, counted), ElementsAre(0.25));
  EXPECT_THAT(numbers("GlobalAveragePool", {x}), ElementsAre(5));
  EXPECT_THAT(numbers("GlobalMaxPool", {x}), ElementsAre(9));
}

TEST(Reference, Reductions) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 9});
  EXPECT_THAT(numbers("ReduceMean", {x}, {{"axes", List{1}}}), ElementsAre(2, 6));
  EXPECT_THAT(numbers("ReduceSum", {x}, {{"axes", List{0}}}), ElementsAre(5, 7, 12));
  EXPECT_THAT(numbers("ReduceMax", {x}), ElementsAre(9));
  EXPECT_THAT(numbers("ReduceMin", {x}, {{"axes", List{0}}}), ElementsAre(1, 2, 3));
  const auto soft = numbers("Softmax", {floats({2, 2}, {0, 1000, 0, 0})}, {{"axis", int64_t{0}}});
  EXPECT_THAT(soft, ElementsAre(0.5, 1, 0.5, 0));
  EXPECT_THAT(numbers("BatchNormalization",
                      {floats({1, 2, 1, 1}, {3, 3}), floats({2}, {2, 1}), floats({2}, {1, 0}),
                       floats({2}, {1, 3}), floats({2}, {4, 1})},
                      {{"epsilon", 0.0}}),
              ElementsAre(3, 0));
  EXPECT_THAT(numbers("LayerNormalization",
                      {floats({1, 2}, {1, 3}), floats({2}, {2, 2}), floats({2}, {0, 1})},
                      {{"epsilon", 0.0}}),
              ElementsAre(-2, 3));
}

TEST(Reference, Movement) {
  const Tensor x = integers({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(numbers("Transpose", {x}), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(numbers("Concat", {x, integers({2, 1}, {7, 8})}, {{"axis", int64_t{1}}}),
              ElementsAre(1, 2, 3, 7, 4, 5, 6, 8));
  const std::vector<Tensor> one = {x};
  const auto parts = evaluate_node(op_named("Split"), {{"axis", int64_t{1}}, {"split", List{1, 2}}},
                                   one, kPoisoned);
  EXPECT_THAT(parts.at(0).to_integers(), ElementsAre(1, 4));
  EXPECT_THAT(parts.at(1).to_integers(), ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(
      numbers("Slice", {x},
              {{"starts", List{-1}}, {"ends", List{-100}}, {"axes", List{1}}, {"steps", List{-2}}}),
      ElementsAre(3, 1, 6, 4));
  EXPECT_THAT(numbers("Gather", {x, integers({2}, {-1, 0})}, {{"axis", int64_t{1}}}),
              ElementsAre(3, 1, 6, 4));
  EXPECT_THROW(numbers("Gather", {x, integers({1}, {2})}), InputError);
  EXPECT_THAT(numbers("Pad", {x}, {{"pads", List{0, 1, 0, -1}}, {"value", 9.0}}),
              ElementsAre(9, 1, 2, 9, 4, 5));
  EXPECT_THAT(numbers("Pad", {x}, {{"pads", List{0, 2, 0, 1}}, {"mode", std::string("reflect")}}),
              ElementsAre(3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5));
  EXPECT_THAT(numbers("Pad", {x}, {{"pads", List{1, 0, 0, 0}}, {"mode", std::string("edge")}}),
              ElementsAre(1, 2, 3, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(numbers("Tile", {integers({1, 2}, {1, 2})}, {{"repeats", List{2, 2}}}),
              ElementsAre(1, 2, 1, 2, 1, 2, 1, 2));
  EXPECT_THAT(numbers("Expand", {integers({2, 1}, {1, 2})}, {{"shape", List{2, 2}}}),
              ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(numbers("Flatten", {x}, {{"axis", int64_t{0}}}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(numbers("Shape", {x}, {{"start", int64_t{1}}}), ElementsAre(3));
}

TEST(Reference, ValueShapedOperatorsGiveWhatTheirInputsSay) {
  const Tensor filled = evaluate("ConstantOfShape", {integers({2}, {2, 3})},
                                 {{"value", 7.0}, {"dtype", std::string("int32")}});
  EXPECT_EQ(filled.type(), (TensorType{DType::kInt32, {2, 3}}));
  EXPECT_THAT(filled.to_integers(), testing::Each(7));
  EXPECT_THAT(numbers("Range", {integers({}, {5}), integers({}, {0}), integers({}, {-2})}),
              ElementsAre(5, 3, 1));
}

Graph small_graph() {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {2}});
  const ValueId a = graph.add_constant(Weight::dense(floats({2}, {1e8F, 3}), "a"));
  const ValueId b = graph.add_constant(Weight::dense(floats({2}, {1, 4}), "b"));
  const ValueId sum = graph.add("Add", {a, b});
  graph.add_output("y", graph.add("Sub", {graph.add("Add", {x, sum}), a}));
  graph.add_output("sum", sum);
  return graph;
}

TEST(Reference, RunsGraphsInEitherPrecision) {
  const Graph graph = small_graph();
  const std::vector<Tensor> inputs = {floats({2}, {0.5, 1})};
  auto results = ReferenceExecutor(kPoisoned).run(graph, inputs);
  EXPECT_THAT(results.at(0).to_doubles(), ElementsAre(0, 5));
  ReferenceOptions options{.precision = Precision::kDouble, .poison = true};
  results = ReferenceExecutor(options).run(graph, inputs);
  EXPECT_THAT(results.at(0).to_doubles(), ElementsAre(1.5, 5));
  EXPECT_EQ(results.at(0).type().dtype, DType::kFloat32);
  options.cast_back = false;
  EXPECT_EQ(ReferenceExecutor(options).run(graph, inputs).at(1).type().dtype, DType::kFloat64);
}

/// Whatever the order in which a product names its inputs.
TEST(Reference, TakesWeightsWhenTheyAreNeeded) {
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kFloat32, {9, 9}});
  for (const char* name : {"first", "second"}) {
    Tensor weight({DType::kFloat32, {9, 9}});
    std::ranges::fill(weight.data<float>(), *name == 'f' ? 1.0F : 2.0F);
    x = graph.add("MatMul", {graph.add_constant(Weight::dense(weight, name)), x});
  }
  graph.add_output("y", x);
  std::vector<std::string> order;
  ReferenceExecutor executor;
  executor.observe([&](NodeId, std::vector<Tensor>&) { order.emplace_back("product"); });
  Tensor input({DType::kFloat32, {9, 9}});
  std::ranges::fill(input.data<float>(), 1.0F);
  const Tensor inputs[] = {input};
  executor.run(graph, inputs, [&](const Weight& weight) {
    order.push_back(weight.name());
    return weight.materialize();
  });
  EXPECT_EQ(order, (std::vector<std::string>{"first", "product", "second", "product"}));
}

/// y = products of x with a weight, in all the ways in which it can stand there; and what it is
/// moved to.
Graph graph_of_weight(const WeightPtr& weight) {
  constexpr int64_t kRows = 3;
  const Shape& shape = weight->type().shape;
  const DType dtype = weight->type().dtype;
  Graph graph;
  const ValueId w = graph.add_constant(weight);
  const ValueId x = graph.add_input("x", {dtype, {2, kRows, shape[0]}});
  const ValueId row = graph.add_input("row", {dtype, {kRows, shape[1]}});
  const ValueId turned = graph.add("Transpose", {w}, {{"perm", List{1, 0}}});
  const Attributes trans_a = {{"transA", int64_t{1}}}, trans_b = {{"transB", int64_t{1}}};
  const ValueId column = graph.add("Transpose", {row}, {{"perm", List{1, 0}}});
  graph.add_output("right", graph.add("MatMul", {x, w}));
  graph.add_output("left", graph.add("MatMul", {w, column}));
  graph.add_output("moved", graph.add("MatMul", {row, turned}));
  graph.add_output("right of gemm", graph.add("Gemm", {row, w}, trans_b));
  graph.add_output("left of gemm", graph.add("Gemm", {turned, column}, trans_a));
  graph.add_output("joined", graph.add("Concat", {w, row}, {{"axis", int64_t{0}}}));
  graph.add_output("itself", turned);
  return graph;
}

/// Whether weights come as double or in their own type, in parts or at once, results are the same.
TEST(Reference, WeightsInTheirOwnTypeAreMultipliedInDouble) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    Rng rng(1);
    const auto drawn = [&](Shape shape) {
      Tensor tensor({DType::kFloat64, std::move(shape)});
      for (double& value : tensor.data<double>()) value = rng.uniform(-1, 1);
      return tensor.cast(dtype);
    };
    const Graph graph = graph_of_weight(Weight::dense(drawn({1200, 1500}), "w"));
    const std::vector<Tensor> inputs = {drawn({2, 3, 1200}), drawn({3, 1500})};
    ReferenceExecutor executor({.precision = Precision::kDouble, .cast_back = false});
    const auto own = executor.run(graph, inputs);
    const auto wide = executor.run(graph, inputs, [](const Weight& weight) {
      return weight.materialize().cast(DType::kFloat64);
    });
    for (size_t i = 0; i < own.size(); ++i) {
      ASSERT_EQ(own[i].type(), wide[i].type());
      ASSERT_EQ(own[i].type().dtype, DType::kFloat64);
      EXPECT_THAT(own[i].to_doubles(), Pointwise(DoubleNear(1e-10), wide[i].to_doubles()))
          << graph.outputs()[i].name;
    }
  }
}

TEST(Reference, FoldsConstantsInDouble) {
  Graph graph;
  const ValueId big = graph.add_constant(Weight::dense(floats({1}, {1e8F}), "big"));
  const ValueId one = graph.add_constant(Weight::dense(floats({1}, {1}), "one"));
  const ValueId difference = graph.add("Sub", {graph.add("Add", {big, one}), big});
  EXPECT_THAT(fold(graph, difference).data<float>(), ElementsAre(1.0F));
}

TEST(Fold, WhatIsOnlyMovedIsExactInItsOwnType) {
  Graph graph;
  const ValueId a = graph.add_constant(Weight::dense(Tensor::of<float>({2}, {1.5F, -2})));
  const ValueId moved = graph.add("Concat", {a, a}, {{"axis", 0}});
  const ValueId computed = graph.add("Add", {moved, moved});
  EXPECT_TRUE(is_only_moved(graph, moved));
  EXPECT_FALSE(is_only_moved(graph, computed));
  for (const ValueId value : {moved, computed}) {
    EXPECT_EQ(fold(graph, value).type().dtype, DType::kFloat32);
    EXPECT_EQ(fold_exactly(graph, value).type().dtype, DType::kFloat64);
  }
  EXPECT_THAT(fold(graph, moved).data<float>(), ElementsAre(1.5F, -2, 1.5F, -2));
}

/// 10 * 0.7F is 7 in single precision, and less in double.
class FoldedSteps : public testing::Test {
 protected:
  ValueId constant(float number) {
    return graph_.add_constant(Weight::dense(floats({1}, {number})));
  }
  double folded(ValueId value) { return fold(graph_, value).to_doubles().at(0); }

  Graph graph_;
  ValueId seven_ = graph_.add("Mul", {constant(10), constant(0.7F)});
};

TEST_F(FoldedSteps, AreTakenWhereTheDeclaredTypesLead) {
  EXPECT_EQ(folded(graph_.add("Floor", {seven_})), 7);
  EXPECT_EQ(folded(graph_.add("Cast", {seven_}, {{"to", std::string("int64")}})), 7);
  EXPECT_EQ(folded(graph_.add("GreaterOrEqual", {seven_, constant(7)})), 1);
  const ValueId below = graph_.add("Mul", {constant(-10), constant(0.7F)});
  EXPECT_EQ(folded(graph_.add("Ceil", {below})), -7);
}

/// The buckets of relative positions in T5, at distances 16, 32 and 64.
TEST_F(FoldedSteps, AreThoseOfRelativePositions) {
  const ValueId distances = graph_.add_constant(Weight::dense(integers({3}, {16, 32, 64})));
  const ValueId numbers = graph_.add("Cast", {distances}, {{"to", std::string("float32")}});
  const ValueId logarithms = graph_.add("Log", {graph_.add("Div", {numbers, constant(8)})});
  const ValueId scaled =
      graph_.add("Mul", {graph_.add("Div", {logarithms, constant(2.7725887F)}), constant(8)});
  const ValueId buckets = graph_.add("Cast", {scaled}, {{"to", std::string("int64")}});
  EXPECT_THAT(fold(graph_, buckets).data<int64_t>(), ElementsAre(2, 4, 6));
}

TEST_F(FoldedSteps, OfANarrowerTypeAreKeptThroughAWiderOne) {
  const ValueId half = graph_.add("Cast", {constant(0.1F)}, {{"to", std::string("float16")}});
  const ValueId back = graph_.add("Cast", {half}, {{"to", std::string("float32")}});
  EXPECT_EQ(folded(back), 0.0999755859375);
}

TEST_F(FoldedSteps, LeaveTheRestInDouble) {
  const ValueId step =
      graph_.add("Cast", {graph_.add("Floor", {seven_})}, {{"to", std::string("float64")}});
  const ValueId one =
      graph_.add("Cast", {graph_.add("Div", {step, step})}, {{"to", std::string("float32")}});
  const ValueId sum = graph_.add("Add", {constant(1e8F), one});
  EXPECT_EQ(folded(graph_.add("Sub", {sum, constant(1e8F)})), 1);
}

TEST(Reference, RefusesWhatDoesNotFit) {
  ReferenceExecutor executor;
  EXPECT_THROW(executor.run(small_graph(), {}), InputError);
  const std::vector<Tensor> wrong = {floats({3}, {1, 2, 3})};
  EXPECT_THROW(executor.run(small_graph(), wrong), InputError);

  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {2}});
  const auto attributes = std::make_shared<const Attributes>(Attributes{
      {"op", std::string("Odd")}, {"domain", std::string("")}, {"proto", std::string("")}});
  const std::vector<TensorType> types = {{DType::kFloat32, {2}}};
  const NodeId opaque = graph.add_node(opaque_op(), std::span(&x, 1), attributes, types);
  graph.add_output("y", graph.output(opaque));
  const std::vector<Tensor> inputs = {floats({2}, {1, 2})};
  EXPECT_FALSE(executor.supports(graph, opaque));
  EXPECT_THROW(executor.run(graph, inputs), InputError);
}

}  // namespace
}  // namespace reverie
