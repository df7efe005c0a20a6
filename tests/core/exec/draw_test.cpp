#include "core/exec/draw.h"

#include <gtest/gtest.h>

#include "tests/core/exec/operator_cases.h"

namespace reverie {
namespace {

using testing::CaseBuilder;
using testing::f32;
using testing::OperatorCase;

/// The role of the input or weight that stands at `index` of the only node.
DrawRole role_of(const OperatorCase& one, size_t index) {
  const Graph& graph = one.graph;
  const Graph* graphs[] = {&graph};
  const NodeId node = graph.producer(graph.outputs()[0].value);
  const NodeId source = graph.producer(graph.inputs(node)[index]);
  const DrawPlan plan(graphs);
  return graph.weight(source) ? plan.weight(graph.weight(source)->identity())
                              : plan.input(graph.input_name(source));
}

/// So that results are about as large as what goes in.
TEST(Draw, WeightsOfProductsHaveVariancesOfTheirFanIn) {
  const OperatorCase spread = CaseBuilder("ConvTranspose", {f32({1, 8, 6, 6}), f32({8, 16, 4, 4})})
                                  .constant(1)
                                  .with("strides", testing::Ints{2, 2});
  EXPECT_DOUBLE_EQ(role_of(spread, 1).variance, 1.0 / (8 * 16 / 4 / 2));
  const OperatorCase lstm = CaseBuilder("LSTM", {f32({5, 2, 3}), f32({1, 16, 3}), f32({1, 16, 4})})
                                .constant(1)
                                .constant(2);
  EXPECT_DOUBLE_EQ(role_of(lstm, 1).variance, 1.0 / 3);
  EXPECT_DOUBLE_EQ(role_of(lstm, 2).variance, 1.0 / 4);
}

TEST(Draw, ScalesArePositiveAndSequencesNoLongerThanTheyCanBe) {
  const OperatorCase quantizer =
      CaseBuilder("QuantizeLinear", {f32({4, 5}), f32({}), testing::of(DType::kUInt8, {})});
  EXPECT_EQ(role_of(quantizer, 1).signs, Signs::kPositive);
  EXPECT_EQ(role_of(quantizer, 0).signs, Signs::kBoth);
  const OperatorCase gru = CaseBuilder(
      "GRU",
      {f32({5, 2, 3}), f32({1, 12, 3}), f32({1, 12, 4}), {}, testing::of(DType::kInt32, {2})});
  EXPECT_EQ(role_of(gru, 4).index_limit, 6);
}

TEST(Draw, WeightsAreNumbersOfTheirType) {
  for (const DType dtype : {DType::kFloat64, DType::kFloat32, DType::kFloat16}) {
    const TensorType type = {dtype, {3, 5000}};
    const Tensor drawn = draw_weight(type, {.variance = 0.1}, Rng(1));
    EXPECT_EQ(drawn.type(), type);
    EXPECT_EQ(drawn.to_doubles(), draw(type, {.variance = 0.1}, Rng(1)).cast(dtype).to_doubles());
  }
}

}  // namespace
}  // namespace reverie
