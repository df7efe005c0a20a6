#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/exec/compare.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/lower.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::IsEmpty;
using testing::parse;

class Names : public ::testing::Test {
 protected:
  ImportedModel import(const onnx::ModelProto& model) {
    testing::write_message(model, folder_ / "model.onnx");
    return import_onnx(folder_ / "model.onnx");
  }
  ImportedModel written(const ImportedModel& model) {
    export_onnx(model.graph, model.info, folder_ / "copy.onnx");
    return import_onnx(folder_ / "copy.onnx");
  }
  onnx::ModelProto copy() { return testing::read_message<onnx::ModelProto>(folder_ / "copy.onnx"); }

  TemporaryDirectory folder_;
};

/// Gives the If at `node` two branches whose output is called y.
void add_branches(onnx::ModelProto* model, int node) {
  const auto add = [&](const char* name, const char* body) {
    auto* attribute = model->mutable_graph()->mutable_node(node)->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    *attribute->mutable_g() =
        parse(std::string("<ir_version: 8, opset_import: [\"\" : 17]> ") + body).graph();
  };
  add("then_branch", "t () => (float[2] y) { h = Neg(x) y = Exp(h) }");
  add("else_branch", "e () => (float[2] y) { y = Exp(x) }");
}

TEST_F(Names, OfAnOutputMayBeThoseOfBranches) {
  onnx::ModelProto proto = parse(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[2] x) => (float[2] y) { y = If(c) })");
  add_branches(&proto, 0);
  const ImportedModel model = import(proto);
  EXPECT_TRUE(isomorphic(written(model).graph, lower(model.graph)));
  EXPECT_EQ(copy().graph().node(0).output(0), "y");
}

/// Relu comes to stand before the If, in whose branches its name means something else.
TEST_F(Names, OfBranchesGiveWayToThoseAroundThem) {
  onnx::ModelProto proto = parse(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[2] x) => (float[2] y, float[2] z) {
      z = If(c)
      y = Relu(x)
    })");
  add_branches(&proto, 0);
  const ImportedModel model = import(proto);
  written(model);
  const onnx::ModelProto result = copy();
  ASSERT_EQ(result.graph().node_size(), 2);
  EXPECT_EQ(result.graph().node(0).output(0), "y");
  for (const auto& branch : result.graph().node(1).attribute()) {
    const onnx::GraphProto& graph = branch.g();
    EXPECT_NE(graph.output(0).name(), "y");
    EXPECT_EQ(graph.output(0).name(), graph.node().rbegin()->output(0));
  }
}

/// Both Shrinks are alike; which of them comes first depends on the order of the sum.
TEST_F(Names, TellUnnamedOpaqueNodesApart) {
  const auto sum = [&](const char* last) {
    return import(parse(R"(
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x) => (float[2] y) {
          a = Relu(x) b = Tanh(x) p = Shrink(a) q = Shrink(b) )" +
                        std::string(last) + "}"));
  };
  const ImportedModel original = sum("y = Add(p, q)");
  const Agreement swapped = compare(original.graph, sum("y = Add(q, p)").graph);
  EXPECT_TRUE(swapped.agree) << swapped.reason;
  const Agreement again = compare(original.graph, written(original).graph);
  EXPECT_TRUE(again.agree) << again.reason;
  EXPECT_FALSE(compare(original.graph, sum("y = Sub(q, p)").graph).agree);
}

TEST_F(Names, OfTheStandardDomainMayBeSpelledOut) {
  onnx::ModelProto proto = parse(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[2] x) => (float[2] y) {
      r = Relu(x)
      s = Shrink(r)
      i = If(c)
      y = Add(s, i)
    })");
  add_branches(&proto, 2);
  proto.mutable_opset_import(0)->set_domain("ai.onnx");
  for (auto& node : *proto.mutable_graph()->mutable_node()) node.set_domain("ai.onnx");
  for (auto& branch : *proto.mutable_graph()->mutable_node(2)->mutable_attribute())
    for (auto& node : *branch.mutable_g()->mutable_node()) node.set_domain("ai.onnx");
  const ImportedModel model = import(proto);
  EXPECT_TRUE(isomorphic(written(model).graph, lower(model.graph)));
  const onnx::ModelProto result = copy();
  for (const auto& node : result.graph().node()) {
    EXPECT_THAT(node.domain(), IsEmpty()) << node.op_type();
    for (const auto& branch : node.attribute())
      for (const auto& inner : branch.g().node()) EXPECT_THAT(inner.domain(), IsEmpty());
  }
}

}  // namespace
}  // namespace reverie
