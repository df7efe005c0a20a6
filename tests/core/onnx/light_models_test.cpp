#include "tests/support/light_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <fstream>
#include <map>

#include "core/ir/structural_hash.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/lower.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::IsEmpty;

/// Multisets of the shapes of work nodes' outputs by operator, as ONNX and as the graph see them.
using ShapesByOp = std::map<std::string, std::multiset<Shape>>;

ShapesByOp shapes_by_onnx(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromIstream(&stream));
  onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                     onnx::ShapeInferenceOptions(true, 1, true));
  std::map<std::string, Shape> shapes;
  const auto note = [&](const onnx::ValueInfoProto& value) {
    Shape& shape = shapes[value.name()];
    shape.clear();
    for (const auto& dim : value.type().tensor_type().shape().dim())
      shape.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  };
  for (const auto& value : model.graph().value_info()) note(value);
  for (const auto& value : model.graph().output()) note(value);
  ShapesByOp result;
  for (const auto& node : model.graph().node())
    if (node.op_type() != "ConstantOfShape" && node.op_type() != "Identity")
      for (const auto& output : node.output()) result[node.op_type()].insert(shapes.at(output));
  return result;
}

ShapesByOp shapes_of(const Graph& graph) {
  ShapesByOp result;
  for (const NodeId node : graph.nodes())
    if (graph.is_work(node))
      for (const ValueId output : graph.outputs(node))
        result[graph.op(node).name].insert(graph.type(output).shape);
  return result;
}

class LightModel : public ::testing::TestWithParam<std::string> {
 protected:
  std::filesystem::path path_ = testing::light_model(GetParam());
  TemporaryDirectory folder_;
};

TEST_P(LightModel, ImportsWithoutOpaqueNodes) {
  const ImportedModel model = import_onnx(path_);
  EXPECT_THAT(model.warnings, IsEmpty());
  model.graph.validate();
  const ShapesByOp work = shapes_of(model.graph);
  EXPECT_FALSE(work.empty());
  for (const char* op : {"Constant", "Identity", "Shape", "Opaque"}) EXPECT_EQ(work.count(op), 0u);
}

TEST_P(LightModel, SurvivesARoundTrip) {
  const ImportedModel model = import_onnx(path_);
  const std::string copy = folder_ / "copy.onnx";
  export_onnx(model.graph, model.info, copy);
  const ImportedModel again = import_onnx(copy);
  const Graph lowered = lower(model.graph);
  EXPECT_TRUE(isomorphic(again.graph, lowered));
  EXPECT_EQ(again.info.opset_imports, model.info.opset_imports);
  EXPECT_LT(std::filesystem::file_size(copy), 4 * std::filesystem::file_size(path_));
}

TEST_P(LightModel, HasTheShapesThatOnnxInfers) {
  const ImportedModel model = import_onnx(path_);
  const std::string copy = folder_ / "copy.onnx";
  export_onnx(model.graph, model.info, copy);
  EXPECT_EQ(shapes_by_onnx(copy), shapes_of(lower(model.graph)));
}

INSTANTIATE_TEST_SUITE_P(All, LightModel, ::testing::ValuesIn(testing::light_models()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace reverie
