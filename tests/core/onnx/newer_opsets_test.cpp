#include "core/onnx/newer_opsets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/exec/compare.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/lower.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/newer_opset_models.h"
#include "tests/support/temporary_directory.h"

namespace reverie::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class NewerOpsets : public ::testing::Test {
 protected:
  ImportedModel import(const onnx::ModelProto& model) {
    write_message(model, folder_ / "model.onnx");
    return import_onnx(folder_ / "model.onnx");
  }

  ImportedModel import_nodes(int opset, const std::string& nodes,
                             const std::string& declared = "") {
    onnx::ModelProto model = parse(newer_model(opset, nodes, declared.empty() ? "n" : declared));
    auto* output = model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type();
    if (declared.empty()) output->clear_shape();
    return import(model);
  }

  onnx::ModelProto written(const ImportedModel& model) {
    export_onnx(model.graph, model.info, folder_ / "copy.onnx");
    EXPECT_TRUE(isomorphic(import_onnx(folder_ / "copy.onnx").graph, lower(model.graph)));
    return read_message<onnx::ModelProto>(folder_ / "copy.onnx");
  }

  std::string refusal(const onnx::ModelProto& model) {
    try {
      import(model);
    } catch (const InputError& error) {
      return error.what();
    }
    return "none";
  }

  TemporaryDirectory folder_;
};

TEST_F(NewerOpsets, NodesMeanWhatTheyMeanAt17) {
  for (const NewerNodes& row : newer_nodes()) {
    SCOPED_TRACE(fmt::format("opset {}: {}", row.opset, row.nodes));
    const ImportedModel model = import_nodes(row.opset, row.nodes);
    EXPECT_THAT(model.warnings, IsEmpty());
    EXPECT_TRUE(isomorphic(model.graph, import_nodes(17, row.at_17).graph));
  }
}

TEST_F(NewerOpsets, ModelsAreWrittenAtTheirOwn) {
  for (const NewerNodes& row : newer_nodes()) {
    SCOPED_TRACE(fmt::format("opset {}: {}", row.opset, row.nodes));
    const onnx::ModelProto copy = written(import_nodes(row.opset, row.nodes));
    EXPECT_EQ(copy.opset_import(0).version(), row.opset);
    EXPECT_EQ(copy.ir_version(), row.opset <= 18   ? 8
                                 : row.opset <= 20 ? 9
                                 : row.opset <= 22 ? 10
                                                   : row.opset - 12);
    for (const auto& node : copy.graph().node())
      for (const auto& attribute : node.attribute())
        EXPECT_NE(attribute.name(), "axes") << node.op_type();
  }
}

TEST_F(NewerOpsets, NewerOperatorsHaveTheirMeaningAndAreWritten) {
  for (const NewerNodes& row : nodes_of_newer_operators()) {
    SCOPED_TRACE(fmt::format("opset {}: {}", row.opset, row.nodes));
    const ImportedModel model = import_nodes(row.opset, row.nodes);
    EXPECT_THAT(model.warnings, IsEmpty());
    const Agreement agreement = compare(import_nodes(17, row.at_17).graph, model.graph);
    EXPECT_TRUE(agreement.agree) << agreement.reason;
    EXPECT_EQ(written(model).opset_import(0).version(), row.opset);
  }
}

TEST_F(NewerOpsets, FactorsOfGroupsAreThoseOfTheOpset) {
  const std::string two = constant("g", "float[2]", "1, 2"),
                    four = constant("g", "float[4]", "1, 2, 3, 4");
  const std::string node = "y = GroupNormalization <num_groups = 2> (x, g, g)";
  EXPECT_THAT(import_nodes(20, four + node).untouched, ::testing::SizeIs(1));
  EXPECT_THAT(import_nodes(21, two + node).untouched, ::testing::SizeIs(1));
}

TEST_F(NewerOpsets, OlderOnesCannotSayThem) {
  ImportedModel model = import_nodes(21, "y = Gelu(x)");
  model.info.opset_imports[""] = 19;
  EXPECT_THROW(export_onnx(model.graph, model.info, folder_ / "copy.onnx"), InputError);
  model = import_nodes(18, nodes_of_newer_operators()[4].nodes);
  model.info.opset_imports[""] = 16;
  EXPECT_THROW(export_onnx(model.graph, model.info, folder_ / "copy.onnx"), InputError);
}

TEST_F(NewerOpsets, OtherNodesStayAndHaveTypes) {
  for (const UntouchedNodes& row : untouched_nodes()) {
    SCOPED_TRACE(fmt::format("opset {}: {}", row.opset, row.nodes));
    const ImportedModel model =
        import_nodes(row.opset, row.nodes, row.is_inferred ? "" : row.shape);
    ASSERT_EQ(model.warnings.size(), 1u);
    EXPECT_THAT(model.warnings[0], HasSubstr("untouched"));
    const TensorType& type = model.graph.type(model.graph.outputs()[0].value);
    EXPECT_EQ(fmt::format("{}", fmt::join(type.shape, ", ")), row.shape);
    EXPECT_EQ(type.dtype, DType::kFloat32);
    EXPECT_EQ(written(model).opset_import(0).version(), row.opset);
  }
}

TEST_F(NewerOpsets, WhatFollowsAnUntouchedNodeIsConverted) {
  const ImportedModel model = import_nodes(20, "g = Mish(x) y = Relu(g)");
  EXPECT_THAT(model.warnings[0], HasSubstr("1 Mish"));
  EXPECT_TRUE(model.graph.op(model.graph.producer(model.graph.outputs()[0].value)).is("Relu"));
}

TEST_F(NewerOpsets, AnOperatorThatTheOpsetLacksIsUntouched) {
  const ImportedModel early = import_nodes(19, "y = Gelu(x)");
  ASSERT_EQ(early.untouched.size(), 1u);
  EXPECT_EQ(early.untouched[0].reason, "opset 19 has no such operator");
  EXPECT_EQ(written(early).graph().node(0).op_type(), "Gelu");
  EXPECT_EQ(import_nodes(21, "y = Geluu(x)").untouched.size(), 1u);
}

TEST_F(NewerOpsets, AWrongFormAndAnOpsetBeyondTheRangeAreRefused) {
  EXPECT_THAT(refusal(parse(newer_model(20, "y = Relu <alpha = 1.0> (x)"))), HasSubstr("alpha"));
  EXPECT_THAT(refusal(parse(newer_model(25, "y = Relu(x)"))),
              AllOf(HasSubstr("opset 25"), HasSubstr("1 to 24")));
}

TEST_F(NewerOpsets, WrongNodesAreRefused) {
  const std::string three = list("s", "1, 3, 1", 3);
  EXPECT_NE(refusal(parse(newer_model(18, three + "b, y = Split <axis = 1> (x, s)"))), "none");
  EXPECT_NE(refusal(parse(newer_model(20, "t = Transpose <perm = [0, 1, 2, 7]> (x) y = Gelu(t)"))),
            "none");
}

TEST_F(NewerOpsets, BranchesMayHoldNewNodes) {
  onnx::ModelProto model = parse(
      "<ir_version: 9, opset_import: [\"\" : 20]> g (bool c, float[2] x) => (float[2] y) "
      "{ d = If(c) y = Relu(d) }");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = model.mutable_graph()->mutable_node(0)->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    *attribute->mutable_g() =
        parse(
            "<ir_version: 9, opset_import: [\"\" : 20]> b () => (float[2] out) "
            "{ out = Gelu(x) }")
            .graph();
  }
  const ImportedModel imported = import(model);
  EXPECT_THAT(imported.warnings[0], HasSubstr("1 If"));
  EXPECT_EQ(written(imported).graph().node(0).attribute(0).g().node(0).op_type(), "Gelu");
}

/// Weights of four bits in blocks of two, two a byte.
onnx::ModelProto with_narrow_weights() {
  onnx::ModelProto model = parse(
      "<ir_version: 10, opset_import: [\"\" : 21]> g (float[1, 2] x) => (float[1, 4] y) { "
      "s = Constant <value = float[1, 4] {1, 2, 3, 4}> () "
      "d = DequantizeLinear <axis = 0, block_size = 2> (w, s) y = MatMul(x, d) }");
  auto* weight = model.mutable_graph()->add_initializer();
  weight->set_name("w");
  weight->set_data_type(22);
  weight->add_dims(2);
  weight->add_dims(4);
  weight->set_raw_data("\x12\x34\x56\x71");
  return model;
}

TEST_F(NewerOpsets, NarrowWeightsAreCarried) {
  const ImportedModel imported = import(with_narrow_weights());
  EXPECT_THAT(imported.warnings[0], HasSubstr("1 DequantizeLinear"));
  EXPECT_THAT(imported.warnings[0], Not(HasSubstr("MatMul")));
  const onnx::ModelProto copy = written(imported);
  bool found = false;
  for (const auto& node : copy.graph().node())
    for (const auto& attribute : node.attribute())
      found = found ||
              (attribute.t().data_type() == 22 && attribute.t().raw_data() == "\x12\x34\x56\x71");
  EXPECT_TRUE(found);
}

TEST_F(NewerOpsets, InputsOfNarrowTypesPassThrough) {
  onnx::ModelProto model = parse(
      "<ir_version: 9, opset_import: [\"\" : 19]> g (float[2] x) => (float[2] y) { y = Cast <to = "
      "1> (x) }");
  auto* type = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
  type->set_elem_type(17);
  const onnx::ModelProto copy = written(import(model));
  EXPECT_EQ(copy.graph().input(0).type().tensor_type().elem_type(), 17);
  type->set_elem_type(99);
  EXPECT_THAT(refusal(model), HasSubstr("type 99"));
}

TEST_F(NewerOpsets, WhatIsDequantizedHasTheTypeOfItsScale) {
  const ImportedModel model = import(
      parse("<ir_version: 9, opset_import: [\"\" : 19]> g (int8[2] x, float16 s) => (float16[2] y) "
            "{ y = DequantizeLinear(x, s) }"));
  EXPECT_EQ(model.graph.type(model.graph.outputs()[0].value).dtype, DType::kFloat16);
}

}  // namespace
}  // namespace reverie::testing
