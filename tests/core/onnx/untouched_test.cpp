#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/lower.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::parse;

class Untouched : public ::testing::Test {
 protected:
  ImportedModel import(const onnx::ModelProto& model) {
    testing::write_message(model, folder_ / "model.onnx");
    return import_onnx(folder_ / "model.onnx");
  }
  ImportedModel import(const std::string& body, const std::string& imports = "\"\" : 17") {
    return import(parse("<ir_version: 8, opset_import: [" + imports + "]> g " + body));
  }
  onnx::ModelProto written(const Graph& graph, const ModelInfo& info) {
    export_onnx(graph, info, folder_ / "copy.onnx");
    return testing::read_message<onnx::ModelProto>(folder_ / "copy.onnx");
  }
  TemporaryDirectory folder_;
};

std::string line(const UntouchedNode& node) {
  return node.name + " " + node.op + ": " + node.reason;
}

TEST_F(Untouched, NodesAreNamedWithTheReason) {
  const ImportedModel model = import(
      "(float[2] x, int64[1] n) => (float[2] y, float[2] z) { s = Shrink(x) y = Reshape(s, n) "
      "m = com.example.Magic(x) z = Relu(m) }",
      "\"\" : 17, \"com.example\" : 3");
  ASSERT_EQ(model.untouched.size(), 4u);
  EXPECT_EQ(line(model.untouched[0]), "s Shrink: no such operator in the table");
  EXPECT_EQ(line(model.untouched[1]), "y Reshape: input 1 is not constant");
  EXPECT_EQ(line(model.untouched[2]), "m com.example::Magic: no such operator in the table");
  EXPECT_EQ(line(model.untouched[3]),
            "z Relu: type of input 0 is unknown: it depends on com.example::Magic at m");
}

/// Versions of ONNX and its runtimes disagree on whether elements are changed.
TEST_F(Untouched, ReductionsAlongNoAxisMayChangeElements) {
  for (const char* op : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceSumSquare"}) {
    const ImportedModel model =
        import("(float[2, 3] x) => (float[2, 3] y) { z = " + std::string(op) +
                   " <noop_with_empty_axes = 1> (x) y = Neg(z) }",
               "\"\" : 18");
    ASSERT_EQ(model.untouched.size(), 1u) << op;
    EXPECT_EQ(model.untouched[0].reason,
              "what it means without axes depends on the runtime's version");
    for (const NodeId node : model.graph.nodes())
      EXPECT_EQ(model.graph.type(model.graph.output(node)).shape, (Shape{2, 3})) << op;
  }
  EXPECT_THAT(import("(float[2, 3] x) => (float[2, 3] y) { z = ReduceMean <noop_with_empty_axes = "
                     "1> (x) y = Neg(z) }",
                     "\"\" : 18")
                  .untouched,
              IsEmpty());
}

/// A name that the table keeps for itself.
TEST_F(Untouched, FusedOperatorsComeFromNoFile) {
  const ImportedModel model = import(
      "(float[2] x) => (float[2] y) { y = com.microsoft.Pointwise <program = \"y = Relu(x0)\"> (x) "
      "}",
      "\"\" : 17, \"com.microsoft\" : 1");
  ASSERT_EQ(model.untouched.size(), 1u);
  EXPECT_EQ(model.untouched[0].reason, "no such operator in the table");
}

TEST_F(Untouched, NodesOnWhichNothingDependsAreNotListed) {
  EXPECT_THAT(import("(float[2] x) => (float[2] y) { s = Shrink(x) y = Relu(x) }").untouched,
              IsEmpty());
}

TEST_F(Untouched, NodesAndValuesKeepTheirNames) {
  onnx::ModelProto proto = parse(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y) { hidden = Relu(x) deep = Shrink(hidden) y = Tanh(deep) })");
  const std::vector<std::string> names = {"first", "second", "third"};
  for (int i = 0; i < 3; ++i)
    proto.mutable_graph()->mutable_node(i)->set_name(names[static_cast<size_t>(i)]);
  const ImportedModel model = import(proto);
  const onnx::ModelProto copy = written(model.graph, model.info);
  ASSERT_EQ(copy.graph().node_size(), 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(copy.graph().node(i).name(), names[static_cast<size_t>(i)]);
    EXPECT_EQ(copy.graph().node(i).output(0), proto.graph().node(i).output(0));
  }
  EXPECT_EQ(described(model.graph, model.graph.producer(model.graph.outputs()[0].value)),
            "Tanh at third");
}

TEST_F(Untouched, NewNodesGetFreshNames) {
  onnx::ModelProto proto = parse(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y, float[2] z) { y = Relu(x) z = Relu(x) })");
  proto.mutable_graph()->mutable_node(0)->set_name("node_relu_0");
  proto.mutable_graph()->mutable_node(1)->set_name("node_relu_0");
  const ImportedModel model = import(proto);
  const onnx::ModelProto copy = written(model.graph, model.info);
  EXPECT_EQ(copy.graph().node(0).name(), "node_relu_0");
  EXPECT_NE(copy.graph().node(1).name(), "node_relu_0");
}

TEST_F(Untouched, NodesSayForWhichOpsetsTheyWereWritten) {
  const ImportedModel model =
      import("(float[2] x) => (float[2] y) { s = RandomNormalLike(x) y = com.example.Magic(s) }",
             "\"\" : 12, \"com.example\" : 3");
  const ModelInfo info = info_for(model.graph);
  EXPECT_EQ(info.opset_imports, (std::map<std::string, int64_t>{{"", 7}, {"com.example", 3}}));
  const onnx::ModelProto copy = written(model.graph, info);
  EXPECT_EQ(copy.opset_import_size(), 2);
  EXPECT_EQ(info_for(Graph()).opset_imports, ModelInfo().opset_imports);
}

}  // namespace
}  // namespace reverie
