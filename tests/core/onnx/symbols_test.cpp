#include "core/onnx/symbols.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Symbols : public ::testing::Test {
 protected:
  ImportedModel import_model(const std::string& text, const std::vector<std::string>& shapes) {
    onnx::ModelProto model;
    const auto status = onnx::OnnxParser::Parse(model, text.c_str());
    EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
    testing::write_message(model, original_);
    return import_onnx(original_, {shapes});
  }
  onnx::ModelProto written() { return testing::read_message<onnx::ModelProto>(written_); }
  static std::vector<std::string> dimensions(const onnx::ValueInfoProto& value) {
    std::vector<std::string> result;
    for (const auto& dim : value.type().tensor_type().shape().dim())
      result.push_back(dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param());
    return result;
  }

  TemporaryDirectory folder_;
  std::filesystem::path original_ = folder_ / "original.onnx";
  std::filesystem::path written_ = folder_ / "written.onnx";
};

/// Reshape to what Shape says, as exporters write a view with a dynamic batch.
constexpr const char* kDynamic = R"(
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[batch,6,4] x) => (float[batch,3,8] y, float[rows,4] z)
    {
      s = Shape(x)
      first = Constant <value = int64 {0}> ()
      b = Gather(s, first)
      axes = Constant <value = int64[1] {0}> ()
      b1 = Unsqueeze(b, axes)
      rest = Constant <value = int64[2] {3, 8}> ()
      shape = Concat <axis = 0> (b1, rest)
      r = Relu(x)
      y = Reshape(r, shape)
      flat = Constant <value = int64[2] {-1, 4}> ()
      z = Reshape(r, flat)
    })";

TEST_F(Symbols, StayWhereTheGraphHoldsForOtherExtents) {
  const ImportedModel model = import_model(kDynamic, {"x=2,6,4"});
  EXPECT_THAT(symbols_of(model), ElementsAre("batch"));
  EXPECT_THAT(shapes_with(model, {"batch"}, 3), ElementsAre("x=5,6,4"));
  EXPECT_THAT(export_with_symbols(original_, model, model.graph, written_), IsEmpty());
  EXPECT_THAT(dimensions(written().graph().input(0)), ElementsAre("batch", "6", "4"));
  EXPECT_THAT(dimensions(written().graph().output(0)), ElementsAre("batch", "3", "8"));
  EXPECT_THAT(dimensions(written().graph().output(1)), ElementsAre("rows", "4"));
  const Graph larger = import_onnx(written_, {{"x=7,6,4"}}).graph;
  EXPECT_TRUE(compare(import_onnx(original_, {{"x=7,6,4"}}).graph, larger).agree);
}

/// A rewrite that is true of the bound extent alone: with one row, the sum over rows is the row.
TEST_F(Symbols, AreReplacedWhereTheRewriteHoldsForTheBoundExtentAlone) {
  const ImportedModel model = import_model(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[batch,n] x) => (float[1,n] y)
      {
        axes = Constant <value = int64[1] {0}> ()
        s = ReduceSum <keepdims = 1> (x, axes)
        y = Relu(s)
      })", {"x=1,4"});
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {1, 4}});
  graph.add_output("y", graph.add("Relu", {x}));
  EXPECT_TRUE(compare(model.graph, graph).agree);
  EXPECT_THAT(export_with_symbols(original_, model, graph, written_), ElementsAre("batch"));
  EXPECT_THAT(dimensions(written().graph().input(0)), ElementsAre("1", "n"));
  EXPECT_THAT(dimensions(written().graph().output(0)), ElementsAre("1", "n"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2);
}

TEST_F(Symbols, AreNoneWhereAllExtentsAreNumbers) {
  const ImportedModel model = import_model(
      "<ir_version: 8, opset_import: [\"\" : 13]> g (float[2] x) => (float[2] y) { y = Relu(x) }", {});
  EXPECT_THAT(symbols_of(model), IsEmpty());
  EXPECT_THAT(export_with_symbols(original_, model, model.graph, written_), IsEmpty());
}

}  // namespace
}  // namespace reverie
