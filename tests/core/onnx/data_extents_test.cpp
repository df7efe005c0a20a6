#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/onnx/export.h"
#include "core/onnx/opaque_types.h"
#include "core/onnx/symbols.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::parse;

class DataExtents : public ::testing::Test {
 protected:
  ImportedModel import(const std::string& graph) {
    testing::write_message(parse("<ir_version: 8, opset_import: [\"\" : 13]> g " + graph),
                           original_);
    return import_onnx(original_, {.carried = ImportOptions::Carried::kAll});
  }
  void expect_agreement_at(const ImportedModel& model, int64_t extent) {
    std::map<std::string, int64_t> extents;
    for (const auto& [name, number] : model.info.data_extents) extents[name] = extent;
    const Graph a = import_onnx(original_, {.data_extents = extents}).graph;
    const Graph b = import_onnx(written_, {.data_extents = extents}).graph;
    const Agreement agreement = compare(a, b);
    EXPECT_TRUE(agreement.agree) << extent << ": " << agreement.reason;
  }
  TemporaryDirectory folder_;
  std::filesystem::path original_ = folder_ / "original.onnx";
  std::filesystem::path written_ = folder_ / "written.onnx";
};

/// What is computed of the places where x is not 0; the second axis of `found` depends on data.
constexpr const char* kFound = R"((float[6, 4] x) => (float[n, 8] y) {
    found = NonZero(x)
    number = Cast<to = 1>(found)
    turned = Transpose<perm = [1, 0]>(number)
    double = Concat<axis = 1>(turned, turned, turned, turned)
    shape = Shape(double)
    flat = Reshape(double, minus)
    active = Relu(flat)
    again = Reshape(active, shape)
    ones = ConstantOfShape(shape)
    y = Add(again, ones)
    })";

std::string found_graph() {
  std::string text = kFound;
  return text.insert(text.find("found = "), "minus = Constant<value_ints = [-1]>()\n    ");
}

TEST_F(DataExtents, WhatFollowsIsNotUntouched) {
  const ImportedModel model = import(found_graph());
  ASSERT_EQ(model.untouched.size(), 1u);
  EXPECT_EQ(model.untouched[0].op, "NonZero");
  EXPECT_EQ(model.info.data_extents, (std::map<std::string, int64_t>{{"found[1]", 11}}));
  EXPECT_EQ(model.graph.type(model.graph.outputs()[0].value).shape, (Shape{11, 8}));
}

TEST_F(DataExtents, TheFileHoldsForOthers) {
  const ImportedModel model = import(found_graph());
  EXPECT_THAT(export_with_symbols(original_, model, model.graph, written_), IsEmpty());
  for (const int64_t extent : {1, 5, 24}) expect_agreement_at(model, extent);
}

TEST_F(DataExtents, AFileWithTheNumberIsRefused) {
  const ImportedModel model = import(found_graph());
  try {
    export_onnx(model.graph, model.info, written_);
    ADD_FAILURE() << "it was written";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'found[1]' depends on data"));
  }
}

TEST_F(DataExtents, AGraphThatFixesOneIsNotWritten) {
  const ImportedModel model = import(found_graph());
  Graph fixed = model.graph.sample(0);
  const ValueId y = fixed.outputs()[0].value;
  const std::vector<float> zeros(11 * 8, 0.0F);
  const ValueId zero = fixed.add_constant(Weight::dense(Tensor::of<float>({11, 8}, zeros)));
  const NodeId last = fixed.producer(y);
  const std::vector<ValueId> operands(fixed.inputs(last).begin(), fixed.inputs(last).end());
  const ValueId sum = fixed.add("Add", {fixed.add("Add", {operands[0], zero}), operands[1]});
  fixed.replace_all_uses(y, sum);
  fixed.erase_dead();
  EXPECT_THAT(export_with_symbols(original_, model, fixed, written_), ElementsAre("found[1]"));
  expect_agreement_at(model, 7);
}

TEST_F(DataExtents, OfTwoNodesAreNotTakenForEqual) {
  const ImportedModel model = import(R"((float[6] x, float[6] z) => (int64[1, k] y) {
      a = NonZero(x)  b = NonZero(z)  y = Add(a, b) })");
  EXPECT_EQ(model.untouched.size(), 3u);
}

TEST_F(DataExtents, DeclaredDimensionsOfInputsAreTheirs) {
  const ImportedModel model =
      import(R"((float[batch, 4] x, int64[1] k) => (float[batch, r] values) {
      values, places = TopK(x, k) })");
  EXPECT_EQ(model.graph.type(model.graph.outputs()[0].value).shape, (Shape{1, 11}));
  EXPECT_EQ(model.info.data_extents.count("r"), 1u);
}

TEST_F(DataExtents, UnboundOnesStopWhatFollows) {
  import(found_graph());
  const ImportedModel model =
      import_onnx(original_, {.bind_data_extents = false, .carried = ImportOptions::Carried::kAll});
  EXPECT_GT(model.untouched.size(), 5u);
  EXPECT_THAT(model.info.data_extents, IsEmpty());
}

TEST(OpaqueTypes, SubgraphsTellWhatTheyDeclare) {
  onnx::NodeProto node;
  node.set_op_type("Loop");
  for (const char* input : {"n", "c", "x"}) node.add_input(input);
  auto* body = node.add_attribute();
  body->set_name("body");
  *body->mutable_g() = parse(R"(<ir_version: 8, opset_import: ["" : 13]>
      b (int64 i, bool c, float[2] v) => (bool d, float[2] w, float[3] s) {
      d = Identity(c) w = Neg(v) s = Concat<axis = 0>(v, t) })")
                           .graph();
  EXPECT_EQ(proto::tensor_type(proto::declared_by_subgraphs(node, 0)),
            (TensorType{DType::kFloat32, {2}}));
  const onnx::TypeProto scanned = proto::declared_by_subgraphs(node, 1);
  ASSERT_EQ(scanned.tensor_type().shape().dim_size(), 2);
  EXPECT_FALSE(proto::has_extent(scanned.tensor_type().shape().dim(0)));
  EXPECT_EQ(scanned.tensor_type().shape().dim(1).dim_value(), 3);
}

}  // namespace
}  // namespace reverie
