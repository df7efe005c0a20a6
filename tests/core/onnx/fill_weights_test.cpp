#include "core/onnx/fill_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include <algorithm>
#include <cmath>

#include "core/exec/reference/reference.h"
#include "core/ir/structural_hash.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/light_models.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;

std::vector<std::string> operators(const onnx::ModelProto& model) {
  std::vector<std::string> names;
  for (const auto& node : model.graph().node()) names.push_back(node.op_type());
  return names;
}

std::vector<double> initializer(const onnx::ModelProto& model, const std::string& name) {
  for (const auto& tensor : model.graph().initializer())
    if (tensor.name() == name) return testing::tensor_of(tensor).to_doubles();
  return {};
}

double mean_square(const std::vector<double>& values) {
  double sum = 0;
  for (const double x : values) sum += x * x;
  return sum / static_cast<double>(values.size());
}

class FillWeights : public ::testing::Test {
 protected:
  void SetUp() override {
    onnx::ModelProto model;
    const auto status = onnx::OnnxParser::Parse(model, R"(
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[4,128] x) => (float[4,100] y)
        {
          shape = Constant <value = int64[2] {128, 100}> ()
          row = Constant <value = int64[1] {100}> ()
          w = ConstantOfShape <value = float[1] {0.001}> (shape)
          v = ConstantOfShape <value = float[1] {4.0}> (row)
          b = ConstantOfShape <value = float[1] {0.0}> (row)
          p = MatMul(x, w)
          q = Add(p, b)
          r = Sqrt(v)
          s = Div(q, r)
          y = Identity(s)
        })");
    ASSERT_TRUE(status.IsOK()) << status.ErrorMessage();
    testing::write_message(model, folder_ / "light.onnx");
  }
  onnx::ModelProto filled(uint64_t seed) {
    EXPECT_EQ(fill_weights(folder_ / "light.onnx", folder_ / "full.onnx", seed), 3);
    return testing::read_message<onnx::ModelProto>(folder_ / "full.onnx");
  }
  TemporaryDirectory folder_;
};

TEST_F(FillWeights, LeavesTheOtherNodesAsTheyAre) {
  EXPECT_THAT(operators(filled(1)),
              ElementsAre("Constant", "Constant", "MatMul", "Add", "Sqrt", "Div", "Identity"));
}

TEST_F(FillWeights, DrawsForTheUse) {
  const onnx::ModelProto model = filled(1);
  const std::vector<double> w = initializer(model, "w");
  ASSERT_EQ(w.size(), 12800u);
  EXPECT_NEAR(mean_square(w), 1.0 / 128, 0.05 / 128);
  EXPECT_THAT(initializer(model, "v"), Each(Gt(1.9)));
  const std::vector<double> b = initializer(model, "b");
  EXPECT_GT(mean_square(b), 0);
  EXPECT_LT(mean_square(b), 0.01);
}

TEST_F(FillWeights, IsSeeded) {
  const std::vector<double> w = initializer(filled(1), "w");
  EXPECT_EQ(initializer(filled(1), "w"), w);
  EXPECT_NE(initializer(filled(2), "w"), w);
}

/// An extent that is an output as well, and one that branches use.
TEST_F(FillWeights, KeepsShapesThatHaveOtherUses) {
  onnx::ModelProto light = testing::parse(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (bool c, float[4,128] x) => (float[4,100] y, int64[2] shape)
      <int64[2] shape = {128, 100}, int64[1] row = {100}>
      {
        w = ConstantOfShape <value = float[1] {0.001}> (shape)
        b = ConstantOfShape <value = float[1] {0.5}> (row)
        p = MatMul(x, w)
        y = Add(p, b)
        unused = If(c)
      })");
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto* attribute = light.mutable_graph()->mutable_node(4)->add_attribute();
    attribute->set_name(branch);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    *attribute->mutable_g() = testing::parse(R"(
        <ir_version: 8, opset_import: ["" : 13]>
        branch () => (int64[1] same) { same = Identity(row) })")
                                  .graph();
  }
  testing::write_message(light, folder_ / "light.onnx");
  EXPECT_EQ(fill_weights(folder_ / "light.onnx", folder_ / "full.onnx", 1), 2);
  const auto model = testing::read_message<onnx::ModelProto>(folder_ / "full.onnx");
  EXPECT_THAT(initializer(model, "shape"), ElementsAre(128, 100));
  EXPECT_THAT(initializer(model, "row"), ElementsAre(100));
  EXPECT_NO_THROW(import_onnx(folder_ / "full.onnx"));
}

/// The copy lies elsewhere than the file with the original's data.
TEST_F(FillWeights, BringsDataThatLieOutside) {
  onnx::ModelProto light = testing::parse(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[4,100] x) => (float[4,100] y)
      <int64[1] row = {100}>
      {
        w = ConstantOfShape <value = float[1] {0.5}> (row)
        p = Add(x, w)
        y = Mul(p, beside)
      })");
  auto* beside = light.mutable_graph()->add_initializer();
  beside->set_name("beside");
  beside->set_data_type(onnx::TensorProto::FLOAT);
  beside->add_dims(100);
  beside->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* location = beside->add_external_data();
  location->set_key("location");
  location->set_value("light.data");
  const std::vector<float> data(100, 3);
  std::ofstream(folder_ / "light.data", std::ios::binary)
      .write(reinterpret_cast<const char*>(data.data()), 400);
  testing::write_message(light, folder_ / "light.onnx");
  const TemporaryDirectory elsewhere;
  EXPECT_EQ(fill_weights(folder_ / "light.onnx", elsewhere / "full.onnx", 1), 1);
  EXPECT_THAT(
      initializer(testing::read_message<onnx::ModelProto>(elsewhere / "full.onnx"), "beside"),
      Each(3.0));
  EXPECT_NO_THROW(import_onnx(elsewhere / "full.onnx"));
}

class FillWeightsOfALightModel : public ::testing::TestWithParam<std::string> {};

TEST_P(FillWeightsOfALightModel, KeepsActivationsInRange) {
  const auto path = testing::light_model(GetParam());
  const TemporaryDirectory folder;
  EXPECT_GT(fill_weights(path, folder / "full.onnx", 1), 10);
  const Graph graph = import_onnx(folder / "full.onnx").graph;
  std::vector<Tensor> inputs;
  for (const NodeId input : graph.inputs()) {
    inputs.emplace_back(graph.type(graph.output(input)));
    std::ranges::fill(inputs.back().bytes(), std::byte{0});
  }
  ReferenceExecutor executor({.precision = Precision::kDouble});
  for (const Tensor& output : executor.run(graph, inputs)) {
    const double size = std::sqrt(mean_square(output.to_doubles()));
    EXPECT_GT(size, 1e-3);
    EXPECT_LT(size, 1e3);
  }
}

INSTANTIATE_TEST_SUITE_P(Some, FillWeightsOfALightModel,
                         ::testing::Values("bert_tiny", "squeezenet1_1"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace reverie
