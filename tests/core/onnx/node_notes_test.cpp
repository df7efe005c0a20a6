#include "core/onnx/node_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/files.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/symbols.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Pair;

class NodeNotesOfFiles : public ::testing::Test {
 protected:
  /// Gives each node a note with its operator, and one that an earlier run wrote.
  static onnx::ModelProto noted(const std::string& text) {
    onnx::ModelProto model = parse(text);
    for (auto& node : *model.mutable_graph()->mutable_node())
      proto::set_notes({{"of", node.op_type()}, {"reverie.cost_us", "1.000"}}, &node);
    return model;
  }

  ImportedModel import(const onnx::ModelProto& model) {
    write_message(model, folder_ / "model.onnx");
    return import_onnx(folder_ / "model.onnx", {.carried = ImportOptions::Carried::kAll});
  }

  onnx::ModelProto copy() const { return read_message<onnx::ModelProto>(folder_ / "copy.onnx"); }

  TemporaryDirectory folder_;
};

/// As newer libraries write it, field by field.
TEST_F(NodeNotesOfFiles, AreField9) {
  onnx::NodeProto node;
  ASSERT_TRUE(node.ParseFromString(std::string("\x4a\x06\x0a\x01k\x12\x01v", 8)));
  EXPECT_THAT(proto::notes_of(node), ElementsAre(Pair("k", "v")));
  const std::string bytes = node.SerializeAsString();
  proto::set_notes({{"k", "v"}}, &node);
  EXPECT_EQ(node.SerializeAsString(), bytes);
  proto::set_notes({}, &node);
  EXPECT_THAT(node.SerializeAsString(), IsEmpty());
}

TEST_F(NodeNotesOfFiles, StayWhereNodesDo) {
  const ImportedModel model = import(noted(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y) { a = Relu(x)  b = Identity(a)  y = Shrink(b) })"));
  export_onnx(model.graph, model.info, folder_ / "copy.onnx");
  const onnx::ModelProto written = copy();
  EXPECT_EQ(written.ir_version(), 8);
  ASSERT_EQ(written.graph().node_size(), 2);
  for (const onnx::NodeProto& node : written.graph().node()) {
    EXPECT_THAT(proto::notes_of(node), ElementsAre(Pair("of", node.op_type())));
    EXPECT_EQ(node.unknown_fields().field_count(), 1) << "an earlier run's are left out";
  }
}

TEST_F(NodeNotesOfFiles, StayWhereShapesAreWrittenBack) {
  const ImportedModel model = import(noted(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[n, 6] x, float[1] w) => (float[n, 2, 3] y, float[m] z)
      <int64[2] two = {2, 3}, int64[1] zero = {0}, int64[1] one = {1}> {
        s = Shape(x)  n = Slice(s, zero, one)  to = Concat<axis = 0>(n, two)  r = Reshape(x, to)
        y = Exp(r)  square = Mul(n, n)  z = Expand(w, square)
      })"));
  export_untried(model, model.graph, folder_ / "copy.onnx");
  std::vector<std::string> noted;
  const onnx::ModelProto written = copy();
  for (const onnx::NodeProto& node : written.graph().node())
    if (proto::notes_of(node) == NodeNotes{{"of", node.op_type()}}) noted.push_back(node.op_type());
  EXPECT_THAT(noted, IsSupersetOf({"Reshape", "Exp", "Mul", "Expand"}));
}

TEST_F(NodeNotesOfFiles, AreNoPartOfWhatAGraphMeans) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2] x) => (float[2] y) { a = Relu(x)  y = Shrink(a) })";
  const Graph graph = import(noted(text)).graph;
  EXPECT_TRUE(isomorphic(graph, import(parse(text)).graph));
}

TEST_F(NodeNotesOfFiles, ChangeNothingOfAModelThatIsCopied) {
  const onnx::ModelProto model = noted(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[n] x) => (float[n] y) { a = Relu(x)  y = Shrink(a) })");
  const ImportedModel imported = import(model);
  export_with_symbols(folder_ / "model.onnx", imported, imported.graph, folder_ / "copy.onnx");
  EXPECT_EQ(read_file(folder_ / "copy.onnx"), model.SerializeAsString());
}

}  // namespace
}  // namespace reverie::testing
