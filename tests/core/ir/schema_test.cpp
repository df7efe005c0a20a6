#include "core/ir/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/base/error.h"
#include "core/ir/tensor.h"

namespace reverie {
namespace {

using testing::HasSubstr;
using List = std::vector<int64_t>;

TensorType floats(Shape shape) { return {DType::kFloat32, std::move(shape)}; }
TensorType integers(Shape shape) { return {DType::kInt64, std::move(shape)}; }
TensorType bools(Shape shape) { return {DType::kBool, std::move(shape)}; }

std::vector<TensorType> infer(std::string_view op, std::vector<TensorType> inputs,
                              Attributes attributes = {}) {
  const OpSchema& row = op_named(op);
  const Attributes resolved = row.resolve(std::move(attributes), inputs);
  EXPECT_EQ(row.resolve(resolved, inputs), resolved) << op << ": normalising twice changes it";
  return row.infer({inputs, {}, resolved});
}

Shape shape_of(std::string_view op, std::vector<TensorType> inputs, Attributes attributes = {}) {
  return infer(op, std::move(inputs), std::move(attributes)).at(0).shape;
}

std::string refusal(std::string_view op, std::vector<TensorType> inputs,
                    Attributes attributes = {}) {
  try {
    infer(op, std::move(inputs), std::move(attributes));
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

int64_t flops(std::string_view op, std::vector<TensorType> inputs, Attributes attributes = {}) {
  const OpSchema& row = op_named(op);
  const Attributes resolved = row.resolve(std::move(attributes), inputs);
  const auto outputs = row.infer({inputs, {}, resolved});
  return row.flops({inputs, outputs, resolved});
}

TEST(Schema, RowsAreNumberedAndNamedOnce) {
  for (const OpSchema& row : all_ops()) {
    EXPECT_EQ(&all_ops()[static_cast<size_t>(row.id)], &row);
    EXPECT_EQ(find_op(row.name), &row);
    EXPECT_LE(row.min_inputs, row.max_inputs);
  }
  EXPECT_EQ(find_op("NoSuchOperator"), nullptr);
}

/// Environments number the types of nodes by row, without these.
TEST(Schema, FusedRowsAreTheLast) {
  EXPECT_TRUE(op_named("Pointwise").fused);
  const std::span<const OpSchema> rows = all_ops();
  EXPECT_TRUE(std::ranges::is_sorted(rows, {}, &OpSchema::fused));
}

TEST(Schema, HoldsEveryOperatorOfTheRealModels) {
  for (const char* name : {"Add",        "AveragePool", "BatchNormalization",
                           "Concat",     "Constant",    "ConstantOfShape",
                           "Conv",       "Div",         "Equal",
                           "Erf",        "Expand",      "Flatten",
                           "Gather",     "Gemm",        "GlobalAveragePool",
                           "Identity",   "MatMul",      "MaxPool",
                           "Mul",        "Pad",         "Pow",
                           "ReduceMean", "Relu",        "Reshape",
                           "Shape",      "Sigmoid",     "Slice",
                           "Softmax",    "Sqrt",        "Sub",
                           "Tanh",       "Transpose",   "Where"})
    EXPECT_NE(find_op(name), nullptr) << name;
}

TEST(Schema, AttributesAreCompletedAndChecked) {
  EXPECT_THAT(refusal("Relu", {floats({2})}, {{"alpha", 0.1}}), HasSubstr("no attribute 'alpha'"));
  EXPECT_THAT(refusal("Concat", {floats({2})}), HasSubstr("needs attribute 'axis'"));
  EXPECT_EQ(op_named("Elu").complete({{"alpha", int64_t{2}}}), (Attributes{{"alpha", 2.0}}));
  EXPECT_THAT(refusal("Add", {floats({2}), TensorType{}}), HasSubstr("input 1 is absent"));
}

TEST(Schema, Elementwise) {
  EXPECT_EQ(shape_of("Add", {floats({4, 1}), floats({3, 1, 5})}), (Shape{3, 4, 5}));
  EXPECT_THAT(refusal("Add", {floats({2}), floats({3})}), HasSubstr("do not broadcast"));
  EXPECT_THAT(refusal("Add", {floats({2}), integers({2})}), HasSubstr("mixes element types"));
  EXPECT_EQ(infer("Equal", {integers({3}), integers({})}).at(0), bools({3}));
  EXPECT_EQ(infer("Pow", {floats({3}), integers({})}).at(0), floats({3}));
  EXPECT_EQ(shape_of("Where", {bools({4}), floats({3, 1}), floats({})}), (Shape{3, 4}));
  EXPECT_THAT(refusal("Where", {floats({4}), floats({4}), floats({4})}), HasSubstr("condition"));
  EXPECT_EQ(infer("Cast", {floats({2})}, {{"to", std::string("int64")}}).at(0), integers({2}));
  EXPECT_THAT(refusal("Sigmoid", {integers({2})}), HasSubstr("floating-point"));
  EXPECT_EQ(flops("Mul", {floats({4, 1}), floats({3, 1, 5})}), 60);
}

TEST(Schema, MatMul) {
  EXPECT_EQ(shape_of("MatMul", {floats({5, 1, 2, 3}), floats({7, 3, 4})}), (Shape{5, 7, 2, 4}));
  EXPECT_EQ(shape_of("MatMul", {floats({3}), floats({3, 4})}), (Shape{4}));
  EXPECT_EQ(shape_of("MatMul", {floats({2, 3}), floats({3})}), (Shape{2}));
  EXPECT_EQ(shape_of("MatMul", {floats({3}), floats({3})}), Shape{});
  EXPECT_EQ(shape_of("MatMul", {floats({2, 3}), floats({3, 4}), floats({4}), floats({2, 4})}),
            (Shape{2, 4}));
  EXPECT_THAT(refusal("MatMul", {floats({2, 3}), floats({4, 5})}), HasSubstr("inner extents 3"));
  EXPECT_THAT(refusal("MatMul", {floats({2, 3}), floats({3, 4}), floats({3, 2, 4})}),
              HasSubstr("the bias"));
  EXPECT_THAT(refusal("MatMul", {floats({2, 3}), floats({3, 4}), TensorType{}, floats({4})}),
              HasSubstr("the residual"));
  EXPECT_THAT(
      refusal("MatMul", {floats({2, 3}), floats({3, 4})}, {{"activation", std::string("gelu")}}),
      HasSubstr("'gelu'"));
  EXPECT_EQ(flops("MatMul", {floats({2, 3}), floats({3, 4}), floats({4})},
                  {{"activation", std::string("relu")}}),
            2 * 2 * 3 * 4 + 8 + 8);
}

TEST(Schema, ConvTranspose) {
  const TensorType x = floats({2, 6, 5, 4});
  EXPECT_EQ(shape_of("ConvTranspose", {x, floats({6, 4, 3, 3})}), (Shape{2, 4, 7, 6}));
  EXPECT_EQ(shape_of("ConvTranspose", {x, floats({6, 4, 3, 2}), floats({8})},
                     {{"group", int64_t{2}},
                      {"strides", List{2, 3}},
                      {"pads", List{1, 0, 1, 2}},
                      {"dilations", List{2, 1}},
                      {"output_padding", List{1, 0}}}),
            (Shape{2, 8, 12, 9}));
  EXPECT_THAT(refusal("ConvTranspose", {x, floats({4, 6, 3, 3})}), HasSubstr("filters for 4"));
  EXPECT_THAT(refusal("ConvTranspose", {x, floats({6, 4, 3, 3}), floats({6})}),
              HasSubstr("the bias"));
  EXPECT_THAT(refusal("ConvTranspose", {x, floats({6, 4, 1, 1})}, {{"pads", List{3, 0, 2, 0}}}),
              HasSubstr("an extent of 0"));
  EXPECT_THAT(refusal("ConvTranspose", {floats({1, 1, int64_t{1} << 39}), floats({1, 1, 1})},
                      {{"strides", List{int64_t{1} << 40}}}),
              HasSubstr("too many"));
  EXPECT_EQ(flops("ConvTranspose", {x, floats({6, 4, 3, 3})}), 2 * 2 * 6 * 5 * 4 * 4 * 9);
}

TEST(Schema, Resize) {
  const TensorType x = floats({1, 3, 5, 4});
  EXPECT_EQ(shape_of("Resize", {x}, {{"sizes", List{1, 3, 7, 2}}}), (Shape{1, 3, 7, 2}));
  EXPECT_EQ(shape_of("Resize", {x}, {{"scales", std::vector<double>{1, 1, 0.5, 1.6}}}),
            (Shape{1, 3, 2, 6}));
  // A list of whole numbers, as the text form has it.
  EXPECT_EQ(shape_of("Resize", {x}, {{"scales", List{1, 1, 2, 2}}}), (Shape{1, 3, 10, 8}));
  EXPECT_THAT(refusal("Resize", {x}), HasSubstr("scales or sizes"));
  EXPECT_THAT(refusal("Resize", {x}, {{"scales", std::vector<double>{1, 1, 2}}}),
              HasSubstr("3 scales for 4 axes"));
  EXPECT_THAT(refusal("Resize", {x}, {{"scales", std::vector<double>{1, 1, 2, -1}}}),
              HasSubstr("by -1"));
  EXPECT_THAT(refusal("Resize", {x}, {{"sizes", List{1, 3, 7, 2}}, {"mode", std::string("area")}}),
              HasSubstr("'area'"));
  EXPECT_THAT(
      refusal("Resize", {integers({4})}, {{"sizes", List{7}}, {"mode", std::string("linear")}}),
      HasSubstr("floating-point"));
}

TEST(Schema, Recurrent) {
  const TensorType x = floats({7, 2, 3});
  const auto types = infer("LSTM", {x, floats({2, 16, 3}), floats({2, 16, 4})},
                           {{"direction", std::string("bidirectional")}});
  EXPECT_THAT(types,
              ::testing::ElementsAre(floats({7, 2, 2, 4}), floats({2, 2, 4}), floats({2, 2, 4})));
  EXPECT_THAT(infer("GRU", {x, floats({1, 12, 3}), floats({1, 12, 4})}, {{"layout", int64_t{1}}}),
              ::testing::ElementsAre(floats({7, 2, 1, 4}), floats({7, 1, 4})));
  EXPECT_THAT(refusal("RNN", {x, floats({1, 12, 3}), floats({1, 4, 4})}), HasSubstr("1x4x3"));
  EXPECT_THAT(
      refusal("RNN", {x, floats({1, 4, 3}), floats({1, 4, 4})}, {{"hidden_size", int64_t{5}}}),
      HasSubstr("hidden_size"));
  EXPECT_THAT(refusal("RNN", {x, floats({1, 4, 3}), floats({1, 4, 4})},
                      {{"activations", std::vector<std::string>{"Affine"}}}),
              HasSubstr("'Affine'"));
  EXPECT_THAT(
      refusal("LSTM", {x, floats({1, 16, 3}), floats({1, 16, 4}), TensorType{}, floats({2})}),
      HasSubstr("input 4 cannot be float32"));
  const Attributes usual = op_named("LSTM").resolve(
      {{"activations", std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}}},
      std::vector{x, floats({1, 16, 3}), floats({1, 16, 4})});
  EXPECT_FALSE(usual.has("activations"));
  EXPECT_EQ(usual.integer("hidden_size"), 4);
  EXPECT_EQ(flops("RNN", {x, floats({1, 4, 3}), floats({1, 4, 4})}), 7 * 2 * 4 * (2 * (3 + 4) + 3));
}

TEST(Schema, Quantization) {
  const auto bytes = [](Shape shape) { return TensorType{DType::kInt8, std::move(shape)}; };
  EXPECT_EQ(infer("QuantizeLinear", {floats({2, 3}), floats({})}).at(0).dtype, DType::kUInt8);
  EXPECT_EQ(infer("QuantizeLinear", {floats({2, 3}), floats({3}), bytes({3})}).at(0),
            bytes({2, 3}));
  EXPECT_EQ(infer("DequantizeLinear", {bytes({2, 3}), floats({2})}, {{"axis", int64_t{-2}}}).at(0),
            floats({2, 3}));
  EXPECT_THAT(refusal("DequantizeLinear", {bytes({2, 3}), floats({2})}),
              HasSubstr("one number or 3"));
  EXPECT_THAT(refusal("QuantizeLinear", {floats({2, 3}), floats({3}), bytes({})}),
              HasSubstr("the zero point"));
  EXPECT_THAT(refusal("DequantizeLinear", {floats({2, 3}), floats({})}),
              HasSubstr("int8 or uint8"));
  const std::vector<TensorType> whole = {bytes({2, 3}), floats({1})};
  EXPECT_EQ(op_named("DequantizeLinear").resolve({{"axis", int64_t{0}}}, whole).integer("axis"), 1)
      << "one scale for all has no axis";
  EXPECT_EQ(infer("MatMulInteger", {bytes({2, 3}), bytes({3, 4})}).at(0),
            (TensorType{DType::kInt32, {2, 4}}));
}

TEST(Schema, Gemm) {
  EXPECT_EQ(shape_of("Gemm", {floats({3, 2}), floats({4, 3}), floats({4})},
                     {{"transA", int64_t{1}}, {"transB", int64_t{1}}}),
            (Shape{2, 4}));
  EXPECT_THAT(refusal("Gemm", {floats({3, 2}), floats({4, 3})}), HasSubstr("inner extents 2"));
  EXPECT_THAT(refusal("Gemm", {floats({3}), floats({4, 3})}), HasSubstr("matrices"));
}

TEST(Schema, Conv) {
  const TensorType x = floats({2, 6, 10, 8});
  EXPECT_EQ(shape_of("Conv", {x, floats({4, 6, 3, 3})}), (Shape{2, 4, 8, 6}));
  EXPECT_EQ(shape_of("Conv", {x, floats({4, 3, 3, 1}), floats({4}), floats({2, 4, 5, 4})},
                     {{"group", int64_t{2}}, {"strides", List{2, 2}}, {"pads", List{1, 0, 1, 0}}}),
            (Shape{2, 4, 5, 4}));
  EXPECT_EQ(shape_of("Conv", {x, floats({4, 6, 3, 3})}, {{"dilations", List{2, 3}}}),
            (Shape{2, 4, 6, 2}));
  EXPECT_EQ(shape_of("Conv", {floats({1, 2, 9}), floats({5, 2, 3})}), (Shape{1, 5, 7}));
  EXPECT_EQ(shape_of("Conv", {floats({1, 2, 9, 8, 7}), floats({5, 2, 3, 3, 3})}),
            (Shape{1, 5, 7, 6, 5}));
  EXPECT_THAT(refusal("Conv", {x, floats({4, 5, 3, 3})}), HasSubstr("6 input channels"));
  EXPECT_THAT(refusal("Conv", {x, floats({4, 6, 3})}), HasSubstr("rank 4"));
  EXPECT_THAT(refusal("Conv", {x, floats({4, 6, 11, 3})}), HasSubstr("does not fit"));
  EXPECT_THAT(refusal("Conv", {x, floats({4, 6, 3, 3})}, {{"strides", List{0, 1}}}),
              HasSubstr("at least 1"));
  EXPECT_THAT(refusal("Conv", {x, floats({4, 6, 3, 3})}, {{"pads", List{1, 1}}}),
              HasSubstr("expected 4"));
  EXPECT_THAT(refusal("Conv", {x, floats({4, 6, 3, 3}), floats({3})}), HasSubstr("the bias"));
  EXPECT_EQ(flops("Conv", {x, floats({4, 6, 3, 3})}), 2 * (2 * 4 * 8 * 6) * 6 * 9);
}

TEST(Schema, Pools) {
  const TensorType x = floats({1, 3, 13, 13});
  const Attributes window = {{"kernel_shape", List{3, 3}}, {"strides", List{2, 2}}};
  EXPECT_EQ(shape_of("MaxPool", {floats({1, 3, 12, 12})}, window), (Shape{1, 3, 5, 5}));
  Attributes ceil = window;
  ceil.set("ceil_mode", int64_t{1});
  EXPECT_EQ(shape_of("MaxPool", {floats({1, 3, 12, 12})}, ceil), (Shape{1, 3, 6, 6}));
  EXPECT_EQ(shape_of("AveragePool", {x}, window), (Shape{1, 3, 6, 6}));
  EXPECT_EQ(shape_of("GlobalAveragePool", {x}), (Shape{1, 3, 1, 1}));
  EXPECT_THAT(refusal("MaxPool", {floats({3, 3})}, window), HasSubstr("rank 2"));
}

TEST(Schema, Reductions) {
  EXPECT_EQ(shape_of("ReduceMean", {floats({2, 3, 4})}, {{"axes", List{-1, 0}}}), (Shape{1, 3, 1}));
  EXPECT_EQ(shape_of("ReduceSum", {floats({2, 3})}, {{"keepdims", int64_t{0}}}), Shape{});
  EXPECT_THAT(refusal("ReduceMax", {floats({2, 3})}, {{"axes", List{0, -2}}}),
              HasSubstr("an axis twice"));
  EXPECT_THAT(refusal("Softmax", {floats({2, 3})}, {{"axis", int64_t{2}}}),
              HasSubstr("out of range"));
  EXPECT_THAT(refusal("BatchNormalization",
                      {floats({1, 3, 2, 2}), floats({3}), floats({3}), floats({3}), floats({2})}),
              HasSubstr("per channel"));
  EXPECT_EQ(shape_of("LayerNormalization", {floats({2, 3, 4}), floats({4})}), (Shape{2, 3, 4}));
}

TEST(Schema, Movement) {
  const TensorType x = floats({2, 3, 4});
  EXPECT_EQ(shape_of("Transpose", {x}), (Shape{4, 3, 2}));
  EXPECT_EQ(shape_of("Transpose", {x}, {{"perm", List{0, 2, 1}}}), (Shape{2, 4, 3}));
  EXPECT_THAT(refusal("Transpose", {x}, {{"perm", List{0, 2, 2}}}), HasSubstr("no permutation"));
  EXPECT_EQ(shape_of("Concat", {x, floats({2, 5, 4})}, {{"axis", int64_t{-2}}}), (Shape{2, 8, 4}));
  EXPECT_THAT(refusal("Concat", {x, floats({2, 5, 3})}, {{"axis", int64_t{1}}}),
              HasSubstr("beyond axis 1"));
  const auto parts = infer("Split", {x}, {{"axis", int64_t{2}}, {"split", List{1, 3}}});
  EXPECT_EQ(parts.at(1).shape, (Shape{2, 3, 3}));
  EXPECT_THAT(refusal("Split", {x}, {{"split", List{1, 3}}}), HasSubstr("add up"));
  EXPECT_EQ(shape_of("Gather", {x, integers({5, 1})}, {{"axis", int64_t{1}}}), (Shape{2, 5, 1, 4}));
  EXPECT_THAT(refusal("Gather", {x, floats({5})}), HasSubstr("int32 or int64"));
  EXPECT_EQ(shape_of("Pad", {x}, {{"pads", List{0, 1, 0, 0, 2, -1}}}), (Shape{2, 6, 3}));
  const Attributes edge = {{"pads", List{1, 0, 0, 0}}, {"mode", std::string("edge")}};
  EXPECT_EQ(shape_of("Pad", {floats({2, 0})}, edge), (Shape{3, 0}));
  EXPECT_THAT(refusal("Pad", {floats({0, 2})}, edge), HasSubstr("the edge of an extent of 0"));
  EXPECT_EQ(shape_of("Tile", {x}, {{"repeats", List{1, 2, 3}}}), (Shape{2, 6, 12}));
  EXPECT_EQ(shape_of("Expand", {floats({3, 1})}, {{"shape", List{2, 1, 4}}}), (Shape{2, 3, 4}));
}

/// What overflows must not pass for something small.
TEST(Schema, ExtentsBeyondAllMeasureAreRefused) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  EXPECT_THAT(refusal("Tile", {floats({4})}, {{"repeats", List{kHuge}}}),
              HasSubstr("out of bounds"));
  EXPECT_THAT(refusal("Tile", {floats({1 << 20, 1 << 20})}, {{"repeats", List{1 << 20, 1 << 20}}}),
              HasSubstr("too large"));
  EXPECT_THAT(refusal("Tile", {floats({int64_t{1} << 40})}, {{"repeats", List{1 << 24}}}),
              HasSubstr("repeated 16777216 times is too large"));
  EXPECT_THAT(refusal("Pad", {floats({4})}, {{"pads", List{kHuge, kHuge}}}),
              HasSubstr("out of bounds"));
  EXPECT_THAT(refusal("Expand", {floats({1})}, {{"shape", List{kHuge, 4}}}),
              ::testing::AnyOf(HasSubstr("too large"), HasSubstr("out of bounds")));
  EXPECT_THAT(refusal("MaxPool", {floats({1, 1, 8, 8})},
                      {{"kernel_shape", List{3, 3}}, {"dilations", List{kHuge, kHuge}}}),
              HasSubstr("out of bounds"));
  EXPECT_THAT(refusal("MaxPool", {floats({1, 1, 8})},
                      {{"kernel_shape", List{int64_t{1} << 40}}, {"dilations", List{1 << 24}}}),
              HasSubstr("does not fit"));
  EXPECT_THROW(element_count({kHuge, 4}), InputError);
  EXPECT_THROW(Tensor({DType::kFloat64, {kHuge, 4}}), InputError);
}

TEST(Schema, LongStepsOfASliceTakeOneElement) {
  constexpr int64_t kLongest = std::numeric_limits<int64_t>::max();
  const auto extent = [](int64_t start, int64_t end, int64_t step) {
    return shape_of("Slice", {floats({10})},
                    {{"starts", List{start}},
                     {"ends", List{end}},
                     {"axes", List{0}},
                     {"steps", List{step}}})[0];
  };
  EXPECT_EQ(extent(2, 10, kLongest), 1);
  EXPECT_EQ(extent(0, 10, 11), 1);
  EXPECT_EQ(extent(9, -kLongest, -kLongest - 1), 1);
  EXPECT_EQ(extent(5, 5, kLongest), 0);
}

TEST(Schema, NoFiltersCostNothing) {
  EXPECT_EQ(flops("Conv", {floats({1, 3, 8, 8}), floats({0, 3, 3, 3})}), 0);
}

TEST(Schema, AveragesAreOfFloats) {
  EXPECT_THAT(refusal("AveragePool", {integers({1, 1, 8, 8})}, {{"kernel_shape", List{3, 3}}}),
              HasSubstr("floating"));
}

TEST(Schema, SliceClampsAndCounts) {
  const auto sliced = [](int64_t start, int64_t end, int64_t step) {
    return shape_of("Slice", {floats({10})},
                    {{"starts", List{start}}, {"ends", List{end}}, {"steps", List{step}}})
        .at(0);
  };
  EXPECT_EQ(sliced(0, std::numeric_limits<int64_t>::max(), 1), 10);
  EXPECT_EQ(sliced(-3, 100, 1), 3);
  EXPECT_EQ(sliced(1, 8, 3), 3);
  EXPECT_EQ(sliced(7, 3, 1), 0);
  EXPECT_EQ(sliced(9, 0, -1), 9);
  EXPECT_EQ(sliced(-1, std::numeric_limits<int64_t>::min(), -1), 10);
  EXPECT_EQ(sliced(100, -100, -4), 3);
}

TEST(Schema, Views) {
  const TensorType x = floats({2, 1, 6});
  EXPECT_EQ(shape_of("Reshape", {x}, {{"shape", List{0, -1, 3}}}), (Shape{2, 2, 3}));
  EXPECT_THAT(refusal("Reshape", {x}, {{"shape", List{5, -1}}}), HasSubstr("do not divide"));
  EXPECT_THAT(refusal("Reshape", {x}, {{"shape", List{5}}}), HasSubstr("12 elements"));
  EXPECT_EQ(shape_of("Flatten", {x}, {{"axis", int64_t{-1}}}), (Shape{2, 6}));
  EXPECT_EQ(shape_of("Squeeze", {x}), (Shape{2, 6}));
  EXPECT_THAT(refusal("Squeeze", {x}, {{"axes", List{0}}}), HasSubstr("is not 1"));
  EXPECT_EQ(shape_of("Unsqueeze", {x}, {{"axes", List{-1, 0}}}), (Shape{1, 2, 1, 6, 1}));
  EXPECT_EQ(infer("Shape", {x}, {{"start", int64_t{-2}}}).at(0), integers({2}));
}

TEST(Schema, ValueShapedOperatorsStandInNoGraph) {
  EXPECT_THAT(refusal("ConstantOfShape", {integers({2})}), HasSubstr("evaluated at import"));
  EXPECT_THAT(refusal("Range", {integers({}), integers({}), integers({})}),
              HasSubstr("evaluated at import"));
}

TEST(Schema, Indexing) {
  const TensorType x = floats({4, 3, 2});
  EXPECT_EQ(shape_of("GatherElements", {x, integers({9, 1, 2})}), (Shape{9, 1, 2}));
  EXPECT_THAT(refusal("GatherElements", {x, integers({1, 9, 2})}), HasSubstr("do not fit"));
  EXPECT_EQ(shape_of("GatherND", {x, integers({7, 2})}), (Shape{7, 2}));
  EXPECT_EQ(shape_of("GatherND", {x, integers({4, 1})}, {{"batch_dims", int64_t{1}}}),
            (Shape{4, 2}));
  EXPECT_THAT(refusal("GatherND", {x, floats({7, 2})}), HasSubstr("int32 or int64"));
  EXPECT_EQ(shape_of("ScatterND", {x, integers({5, 1}), floats({5, 3, 2})}), x.shape);
  EXPECT_THAT(refusal("ScatterND", {x, integers({5, 1}), integers({5, 3, 2})}),
              HasSubstr("updates"));
  EXPECT_THAT(refusal("ScatterND", {x, integers({5, 1}), floats({5, 3, 2})},
                      {{"reduction", std::string("mean")}}),
              HasSubstr("'mean'"));
  EXPECT_EQ(infer("OneHot", {integers({5}), bools({2})}, {{"depth", int64_t{7}}}).at(0),
            bools({5, 7}));
  EXPECT_EQ(shape_of("OneHot", {integers({5}), floats({2})},
                     {{"depth", int64_t{7}}, {"axis", int64_t{-2}}}),
            (Shape{7, 5}));
  EXPECT_THAT(refusal("NonZero", {x}), HasSubstr("evaluated at import"));
}

TEST(Schema, OrdersAndSumsAlongAnAxis) {
  const TensorType x = floats({4, 3, 2});
  const auto best = infer("TopK", {x}, {{"k", int64_t{2}}, {"axis", int64_t{-2}}});
  EXPECT_EQ(best.at(0), floats({4, 2, 2}));
  EXPECT_EQ(best.at(1), integers({4, 2, 2}));
  EXPECT_EQ(infer("ArgMax", {x}, {{"axis", int64_t{-1}}}).at(0), integers({4, 3, 1}));
  EXPECT_EQ(shape_of("ArgMin", {x}, {{"keepdims", int64_t{0}}}), (Shape{3, 2}));
  EXPECT_EQ(shape_of("CumSum", {x}, {{"axis", int64_t{-3}}}), x.shape);
  EXPECT_THAT(refusal("CumSum", {x}, {{"axis", int64_t{3}}}), HasSubstr("3"));
}

TEST(Schema, Rearranging) {
  const TensorType x = floats({1, 8, 4, 6});
  const Attributes two = {{"blocksize", int64_t{2}}};
  EXPECT_EQ(shape_of("DepthToSpace", {x}, two), (Shape{1, 2, 8, 12}));
  EXPECT_EQ(shape_of("SpaceToDepth", {x}, two), (Shape{1, 32, 2, 3}));
  for (const char* op : {"DepthToSpace", "SpaceToDepth"}) {
    EXPECT_THAT(refusal(op, {x}, {{"blocksize", int64_t{0}}}), HasSubstr("blocksize 0"));
    EXPECT_THAT(refusal(op, {x}, {{"blocksize", int64_t{1} << 40}}), HasSubstr("blocksize"));
    EXPECT_THAT(refusal(op, {floats({4, 4})}, two), HasSubstr("height and width"));
  }
  EXPECT_EQ(shape_of("ReverseSequence", {floats({5, 3, 2}), integers({3})}), (Shape{5, 3, 2}));
  EXPECT_THAT(refusal("ReverseSequence", {floats({5, 3}), integers({5})}), HasSubstr("lengths"));
}

TEST(Schema, EinsteinSums) {
  const auto canonical = [](const std::string& equation, std::vector<TensorType> inputs) {
    return op_named("Einsum").resolve({{"equation", equation}}, inputs).text("equation");
  };
  const TensorType a = floats({2, 3, 4}), b = floats({4, 5});
  EXPECT_EQ(canonical("b i k, k j", {a, b}), "bik,kj->bij");
  EXPECT_EQ(canonical("...k,kj->...j", {a, b}), "abk,kj->abj");
  EXPECT_EQ(canonical("ii", {floats({3, 3})}), "ii->");
  EXPECT_EQ(shape_of("Einsum", {a, b}, {{"equation", std::string("bik,kj")}}), (Shape{2, 3, 5}));
  EXPECT_EQ(flops("Einsum", {a, b}, {{"equation", std::string("bik,kj->bij")}}), 2 * 2 * 3 * 4 * 5);
  EXPECT_THAT(refusal("Einsum", {a, b}, {{"equation", std::string("bik,kj->bb")}}),
              HasSubstr("twice"));
}

}  // namespace
}  // namespace reverie
