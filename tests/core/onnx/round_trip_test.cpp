#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/defs/parser.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "core/exec/compare.h"
#include "core/exec/reference/reference.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/lower.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/random_graph.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

std::vector<Tensor> random_inputs(const Graph& graph, uint64_t seed) {
  Rng rng(seed);
  std::vector<Tensor> inputs;
  for (const NodeId id : graph.inputs()) {
    Tensor tensor(graph.type(graph.output(id)));
    for (float& value : tensor.data<float>()) value = static_cast<float>(rng.normal());
    inputs.push_back(tensor);
  }
  return inputs;
}

void expect_same_values(const Graph& a, const Graph& b, uint64_t seed) {
  const std::vector<Tensor> inputs = random_inputs(a, seed);
  ReferenceExecutor executor({.precision = Precision::kDouble});
  const std::vector<Tensor> x = executor.run(a, inputs);
  const std::vector<Tensor> y = executor.run(b, inputs);
  ASSERT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const std::vector<double> left = x[i].to_doubles();
    const std::vector<double> right = y[i].to_doubles();
    double scale = 1;
    for (const double value : left) scale = std::max(scale, std::abs(value));
    EXPECT_THAT(right, Pointwise(DoubleNear(1e-5 * scale), left)) << "output " << i;
  }
}

class RandomRoundTrip : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomRoundTrip, KeepsStructureAndValues) {
  const TemporaryDirectory folder;
  const Graph graph = RandomGraph::make(GetParam());
  const Graph lowered = lower(graph);
  lowered.validate();
  EXPECT_TRUE(isomorphic(lower(lowered), lowered));
  expect_same_values(graph, lowered, GetParam());
  export_onnx(graph, {}, folder / "model.onnx");
  const ImportedModel again = import_onnx(folder / "model.onnx");
  EXPECT_TRUE(again.warnings.empty());
  EXPECT_TRUE(isomorphic(again.graph, lowered));
}

TEST_P(RandomRoundTrip, HasTheShapesThatOnnxInfers) {
  const TemporaryDirectory folder;
  const Graph graph = RandomGraph::make(GetParam());
  export_onnx(graph, {}, folder / "model.onnx");
  auto model = testing::read_message<onnx::ModelProto>(folder / "model.onnx");
  for (auto& output : *model.mutable_graph()->mutable_output())
    output.mutable_type()->mutable_tensor_type()->clear_shape();
  onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                     onnx::ShapeInferenceOptions(true, 1, true));
  for (int i = 0; i < model.graph().output_size(); ++i) {
    const auto inferred = proto::tensor_type(model.graph().output(i).type());
    ASSERT_TRUE(inferred.has_value()) << model.graph().output(i).name();
    EXPECT_EQ(*inferred, graph.type(graph.outputs()[static_cast<size_t>(i)].value));
  }
}

TEST_P(RandomRoundTrip, KeepsWeightsInAFileBeside) {
  const TemporaryDirectory folder;
  const Graph graph = RandomGraph::make(GetParam());
  export_onnx(graph, {}, folder / "model.onnx", {.max_inline_bytes = 0});
  const Graph again = import_onnx(folder / "model.onnx").graph;
  EXPECT_TRUE(isomorphic(again, lower(graph)));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRoundTrip, ::testing::Range<uint64_t>(0, 60));

TEST(Export, RefusesAConstantThatItsTypeCannotHold) {
  const TemporaryDirectory folder;
  Graph graph;
  const TensorType half = {DType::kFloat16, {2}};
  const ValueId x = graph.add_input("x", half),
                c = graph.add_constant(Weight::fill(half, -43616, "c"));
  graph.add_output("y", graph.add("Add", {x, graph.add("Add", {c, c})}));
  try {
    export_onnx(graph, {}, folder / "model.onnx");
    ADD_FAILURE() << "float16 ends at 65504";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(),
                ::testing::HasSubstr("a constant of the result is -87232, too large for float16"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "model.onnx"));
}

TEST(Export, PutsWeightsBesideTheModelWhereTheyAreTooLarge) {
  const TemporaryDirectory folder;
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {1, 64}});
  Tensor weight({DType::kFloat32, {64, 64}});
  Rng rng(1);
  for (float& value : weight.data<float>()) value = static_cast<float>(rng.normal());
  graph.add_output("y", graph.add("MatMul", {x, graph.add_constant(Weight::dense(weight, "w"))}));
  export_onnx(graph, {}, folder / "model.onnx", {.max_inline_bytes = 1000});
  EXPECT_EQ(std::filesystem::file_size(folder / "model.onnx.data"), 64u * 64 * 4);
  EXPECT_LT(std::filesystem::file_size(folder / "model.onnx"), 1000u);
  const Graph again = import_onnx(folder / "model.onnx").graph;
  EXPECT_TRUE(isomorphic(again, lower(graph)));
  export_onnx(again, {}, folder / "model.onnx", {.max_inline_bytes = 1000});  // over its own source
  expect_same_values(import_onnx(folder / "model.onnx").graph, graph, 1);
}

TEST(Export, LeavesNothingWhereItFails) {
  const TemporaryDirectory folder;
  Graph graph;
  graph.add_output("y", graph.add("Relu", {graph.add_input("x", {DType::kFloat32, {2}})}));
  EXPECT_THROW(export_onnx(graph, {}, folder / "absent/model.onnx"), InputError);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Export, KeepsTheOriginalsOpsetUnlessNodesNeedANewerOne) {
  const TemporaryDirectory folder;
  ModelInfo info;
  info.opset_imports[""] = 9;
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {2, 3, 4}});
  const ValueId clipped = graph.add("Clip", {x}, {{"min", 0.5}, {"max", 6.0}});
  const ValueId sliced = graph.add("Slice", {clipped},
                                   {{"starts", std::vector<int64_t>{1}},
                                    {"ends", std::vector<int64_t>{3}},
                                    {"axes", std::vector<int64_t>{2}}});
  const ValueId summed = graph.add("ReduceSum", {sliced}, {{"axes", std::vector<int64_t>{1}}});
  graph.add_output("y", graph.add("Softmax", {summed}));
  export_onnx(graph, info, folder / "old.onnx");
  const ImportedModel old = import_onnx(folder / "old.onnx");
  EXPECT_EQ(old.info.opset_imports.at(""), 9);
  EXPECT_TRUE(isomorphic(old.graph, lower(graph)));
  graph.add_output("z", graph.add("Softmax", {x}, {{"axis", int64_t{1}}}));
  export_onnx(graph, info, folder / "new.onnx");
  const ImportedModel raised = import_onnx(folder / "new.onnx");
  EXPECT_EQ(raised.info.opset_imports.at(""), 13);
  EXPECT_TRUE(isomorphic(raised.graph, lower(graph)));
}

TEST(Export, ExpandsEpiloguesAndFoldsConstants) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {2, 3}});
  Tensor values({DType::kFloat32, {3, 3}});
  Rng rng(2);
  for (float& value : values.data<float>()) value = static_cast<float>(rng.normal());
  const ValueId w = graph.add_constant(Weight::dense(values, "w"));
  const ValueId folded = graph.add("MatMul", {w, w});
  const ValueId bias = graph.add_constant(Weight::dense(Tensor::of<float>({3}, {1, 2, 3}), "b"));
  const ValueId y =
      graph.add("MatMul", {x, folded, bias, x}, {{"activation", std::string("relu")}});
  graph.add_output("y", y);
  const Graph lowered = lower(graph);
  int work = 0;
  for (const NodeId node : lowered.nodes()) work += lowered.is_work(node);
  EXPECT_EQ(work, 4);  // MatMul, two Adds, Relu
  for (const NodeId node : lowered.nodes())
    EXPECT_TRUE(!lowered.is_constant(node) || lowered.weight(node) != nullptr);
  expect_same_values(graph, lowered, 3);
}

/// In single precision 1 is lost beside 1e8.
TEST(Export, FoldsInDoublePrecisionAndStoresTheModelsType) {
  const TemporaryDirectory folder;
  Graph graph;
  const auto constant = [&](float value) {
    const std::vector<float> values(100, value);
    return graph.add_constant(Weight::dense(Tensor::of<float>({100}, values)));
  };
  const ValueId large = constant(1e8F);
  const ValueId sum = graph.add("Add", {large, constant(1)});
  const ValueId x = graph.add_input("x", {DType::kFloat32, {100}});
  graph.add_output("y", graph.add("Mul", {x, graph.add("Sub", {sum, large})}));
  export_onnx(graph, {}, folder / "model.onnx");
  const auto model = testing::read_message<onnx::ModelProto>(folder / "model.onnx");
  ASSERT_EQ(model.graph().initializer_size(), 1);
  const Tensor folded = testing::tensor_of(model.graph().initializer(0));
  EXPECT_EQ(folded.type(), (TensorType{DType::kFloat32, {100}}));
  EXPECT_THAT(folded.to_doubles(), ::testing::Each(1.0));
}

/// 2147483647 is no float.
TEST(Export, BoundsOfIntegersStayExact) {
  const TemporaryDirectory folder;
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kInt32, {2}});
  const ValueId clipped = graph.add("Clip", {x}, {{"min", -16777217.0}, {"max", 2147483647.0}});
  graph.add_output("y", graph.add("Pad", {clipped},
                                  {{"pads", std::vector<int64_t>{1, 0}}, {"value", 16777217.0}}));
  export_onnx(graph, {}, folder / "model.onnx");
  const Graph again = import_onnx(folder / "model.onnx").graph;
  EXPECT_TRUE(isomorphic(again, graph));
}

TEST(Export, GivesOutputsTheirNamesWhateverTheyAre) {
  const TemporaryDirectory folder;
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {2}});
  graph.add_input("unused", {DType::kInt64, {1}});
  const ValueId y = graph.add("Relu", {x});
  graph.add_output("first", y);
  graph.add_output("second", y);
  graph.add_output("x", x);
  graph.add_output("alias", x);
  graph.add_output("constant",
                   graph.add_constant(Weight::dense(Tensor::of<float>({1}, {3}), "other")));
  graph.add_output("fill", graph.add_constant(Weight::fill({DType::kFloat32, {100}}, 2, "w")));
  export_onnx(graph, {}, folder / "model.onnx");
  EXPECT_TRUE(isomorphic(import_onnx(folder / "model.onnx").graph, lower(graph)));
}

/// ONNX's checker takes an output that is listed again, so that such a model is valid.
TEST(Export, ListsAnOutputAsOftenAsTheModelDid) {
  const TemporaryDirectory folder;
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser::Parse(model, R"(
      <ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y, float[2] a, float[2] x, float[2] y, float[2] x, float[2] a)
      { y = Relu(x) a = Identity(x) })");
  ASSERT_TRUE(status.IsOK()) << status.ErrorMessage();
  onnx::checker::check_model(model);
  testing::write_message(model, folder / "model.onnx");
  const ImportedModel imported = import_onnx(folder / "model.onnx");
  export_onnx(imported.graph, imported.info, folder / "again.onnx");
  const auto written = testing::read_message<onnx::ModelProto>(folder / "again.onnx");
  ASSERT_EQ(written.graph().output_size(), model.graph().output_size());
  for (int i = 0; i < model.graph().output_size(); ++i)
    EXPECT_EQ(written.graph().output(i).name(), model.graph().output(i).name());
  const Graph again = import_onnx(folder / "again.onnx").graph;
  EXPECT_TRUE(isomorphic(again, imported.graph));
  const Agreement agreement = compare(imported.graph, again);
  EXPECT_TRUE(agreement.agree) << agreement.reason;
}

/// Large weights of every kind, each multiplied by an input of its type.
Graph graph_of_weights(const std::vector<WeightPtr>& weights) {
  Graph graph;
  for (size_t i = 0; i < weights.size(); ++i) {
    const ValueId x = graph.add_input(fmt::format("x{}", i), weights[i]->type());
    const ValueId product = graph.add("Mul", {x, graph.add_constant(weights[i])});
    graph.add_output(fmt::format("y{}", i), product);
  }
  return graph;
}

std::vector<WeightPtr> weights_of(const Graph& graph) {
  std::vector<WeightPtr> weights;
  for (const NodeId node : graph.nodes())
    if (graph.weight(node) != nullptr) weights.push_back(graph.weight(node));
  return weights;
}

class Formulas : public ::testing::TestWithParam<std::pair<int, int64_t>> {};

/// At any opset, inside of the model or beside it.
TEST_P(Formulas, AreReadBackAsWhatTheyAre) {
  const auto [opset, max_inline_bytes] = GetParam();
  const TensorType matrix{DType::kFloat32, {200, 200}};
  const Graph graph = graph_of_weights(
      {Weight::constant(matrix, 1.0 / 9), Weight::constant({DType::kFloat32, {65}}, -0.0),
       Weight::constant({DType::kFloat16, {300, 300}}, 0.1),
       Weight::constant({DType::kInt64, {100}}, 7), Weight::identity_kernel(matrix),
       Weight::identity_kernel({DType::kFloat64, {9, 9, 3, 2}})});
  const TemporaryDirectory folder;
  ModelInfo info;
  info.opset_imports[""] = opset;
  export_onnx(graph, info, folder / "model.onnx", {.max_inline_bytes = max_inline_bytes});
  const ImportedModel again = import_onnx(folder / "model.onnx");
  EXPECT_EQ(again.info.opset_imports.at(""), opset);
  EXPECT_TRUE(isomorphic(again.graph, lower(graph)));
  for (const WeightPtr& weight : weights_of(again.graph))
    EXPECT_TRUE(weight->is_small()) << weight->name();
  const Agreement agreement = compare(graph, again.graph);
  EXPECT_TRUE(agreement.agree) << agreement.reason;
}

INSTANTIATE_TEST_SUITE_P(OpsetsAndPlaces, Formulas,
                         ::testing::Values(std::pair{7, int64_t{1} << 30},
                                           std::pair{13, int64_t{1} << 30},
                                           std::pair{17, int64_t{1} << 30},
                                           std::pair{17, int64_t{0}}));

TEST(Export, StoresALargeFillAsAnExpandAndASmallerOneWithItsElements) {
  const TemporaryDirectory folder;
  const Graph graph = graph_of_weights({Weight::constant({DType::kFloat32, {2000, 1000}}, 1),
                                        Weight::constant({DType::kFloat32, {100}}, 1)});
  export_onnx(graph, {}, folder / "model.onnx");
  EXPECT_TRUE(isomorphic(import_onnx(folder / "model.onnx").graph, graph));
  EXPECT_LT(std::filesystem::file_size(folder / "model.onnx"), 2000u);
  const auto model = testing::read_message<onnx::ModelProto>(folder / "model.onnx");
  int expands = 0;
  for (const auto& node : model.graph().node()) expands += node.op_type() == "Expand";
  EXPECT_EQ(expands, 1);
}

/// Both hold the same numbers, yet one is drawn anew where graphs are compared.
TEST(Export, KeepsAFormulaApartFromAWeightThatIsLeftOut) {
  const TemporaryDirectory folder;
  const TensorType type{DType::kFloat32, {200, 200}};
  const Graph graph =
      graph_of_weights({Weight::constant(type, 0.5), Weight::fill(type, 0.5, "left out")});
  export_onnx(graph, {}, folder / "model.onnx");
  const Graph again = import_onnx(folder / "model.onnx").graph;
  EXPECT_TRUE(isomorphic(again, graph));
  expect_same_values(graph, again, 1);
  for (const WeightPtr& weight : weights_of(again))
    EXPECT_EQ(weight->is_small(), weight->name() != "left out");
}

/// What comes from a weight that is left out is left out, too.
TEST(Export, FoldsFormulasToAFormulaAndFillsToAFill) {
  const TensorType type{DType::kFloat32, {20, 20}};
  Graph graph;
  const ValueId known = graph.add_constant(Weight::constant(type, 2));
  const ValueId left_out = graph.add_constant(Weight::fill(type, 2, "w"));
  graph.add_output("a", graph.add("Mul", {known, known}));
  graph.add_output("b", graph.add("Mul", {known, left_out}));
  const Graph lowered = lower(graph);
  const std::vector<WeightPtr> weights = weights_of(lowered);
  ASSERT_EQ(weights.size(), 2u);
  for (const WeightPtr& weight : weights) EXPECT_EQ(weight->fill_value(), 4);
  EXPECT_NE(weights[0]->is_small(), weights[1]->is_small());
}

/// A dense weight of a model that happens to hold ones or an identity is as any other.
TEST(Import, DoesNotLookForFormulasInWeights) {
  const TemporaryDirectory folder;
  const TensorType type{DType::kFloat32, {20, 20}};
  export_onnx(
      graph_of_weights({Weight::dense(Weight::constant(type, 1)->materialize(), "ones"),
                        Weight::dense(Weight::identity_kernel(type)->materialize(), "eye")}),
      {}, folder / "model.onnx");
  for (const WeightPtr& weight : weights_of(import_onnx(folder / "model.onnx").graph))
    EXPECT_FALSE(weight->is_small()) << weight->name();
}

}  // namespace
}  // namespace reverie
