#include "core/onnx/inline_functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/exec/compare.h"
#include "core/onnx/import.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::IsEmpty;
using testing::parse;

onnx::ModelProto model_of(const std::string& graph) {
  return parse("<ir_version: 8, opset_import: [\"\" : 17, \"own\" : 1]> g " + graph);
}

/// A function of the domain "own" whose nodes are those of `body`.
onnx::FunctionProto* add_function(onnx::ModelProto* model, const std::string& name,
                                  const std::string& body) {
  const onnx::ModelProto parsed = model_of(body);
  onnx::FunctionProto* function = model->add_functions();
  function->set_domain("own");
  function->set_name(name);
  for (const auto& input : parsed.graph().input()) function->add_input(input.name());
  for (const auto& output : parsed.graph().output()) function->add_output(output.name());
  *function->mutable_node() = parsed.graph().node();
  *function->mutable_opset_import() = parsed.opset_import();
  return function;
}

class InlineFunctions : public ::testing::Test {
 protected:
  ImportedModel import(const onnx::ModelProto& model) {
    testing::write_message(model, folder_ / "model.onnx");
    return import_onnx(folder_ / "model.onnx");
  }
  void expect_same(const onnx::ModelProto& model, const std::string& plain) {
    const ImportedModel inlined = import(model);
    EXPECT_THAT(inlined.untouched, IsEmpty());
    EXPECT_THAT(inlined.info.functions, IsEmpty());
    const Agreement agreement = compare(import(model_of(plain)).graph, inlined.graph);
    EXPECT_TRUE(agreement.agree) << agreement.reason;
  }
  TemporaryDirectory folder_;
};

TEST_F(InlineFunctions, NamesInsideStayApart) {
  onnx::ModelProto model = model_of(
      "(float[3] x, float[3] h) => (float[3] y) { "
      "a = own.Twice(x, h) y = own.Twice(a, x) }");
  add_function(&model, "Twice",
               "(float[3] p, float[3] q) => (float[3] r) { h = Add(p, p) r = Sub(h, q) }");
  expect_same(model,
              "(float[3] x, float[3] h) => (float[3] y) { "
              "b = Add(x, x) a = Sub(b, h) c = Add(a, a) y = Sub(c, x) }");
}

TEST_F(InlineFunctions, FunctionsMayCallFunctionsAndPassInputsOn) {
  onnx::ModelProto model =
      model_of("(float[3] x) => (float[3] y, float[3] z) { y, z = own.Outer(x) }");
  add_function(&model, "Outer",
               "(float[3] p) => (float[3] q, float[3] p) { t = own.Inner(p) q = Neg(t) }");
  add_function(&model, "Inner", "(float[3] p) => (float[3] q) { q = Exp(p) }");
  expect_same(model,
              "(float[3] x) => (float[3] y, float[3] z) { t = Exp(x) y = Neg(t) z = Identity(x) }");
}

TEST_F(InlineFunctions, AttributesOfTheCallAreHandedOn) {
  onnx::ModelProto model =
      model_of("(float[2, 3] x) => (float[2, 3] y) { a = own.Soft<along = 0>(x) y = own.Soft(a) }");
  onnx::FunctionProto* function =
      add_function(&model, "Soft", "(float[2, 3] p) => (float[2, 3] q) { q = Softmax(p) }");
  function->add_attribute("along");
  auto* attribute = function->mutable_node(0)->add_attribute();
  attribute->set_name("axis");
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_ref_attr_name("along");
  expect_same(model,
              "(float[2, 3] x) => (float[2, 3] y) { a = Softmax<axis = 0>(x) y = Softmax(a) }");
}

TEST_F(InlineFunctions, OneForAnotherOpsetStays) {
  onnx::ModelProto model = model_of("(float[2, 3] x) => (float[2, 3] y) { y = own.Soft(x) }");
  add_function(&model, "Soft", "(float[2, 3] p) => (float[2, 3] q) { q = Softmax(p) }")
      ->mutable_opset_import(0)
      ->set_version(11);
  proto::inline_functions(&model);
  EXPECT_EQ(model.functions_size(), 1);
  EXPECT_EQ(model.graph().node(0).op_type(), "Soft");
}

/// Field 11 of a function, which ONNX 1.12 does not know, gives attributes defaults.
TEST_F(InlineFunctions, OneWithDefaultsOfAttributesStaysWithWhatItCalls) {
  onnx::ModelProto model = model_of("(float[2, 3] x) => (float[2, 3] y) { y = own.Outer(x) }");
  add_function(&model, "Outer", "(float[2, 3] p) => (float[2, 3] q) { q = own.Soft(p) }");
  add_function(&model, "Inner", "(float[2, 3] p) => (float[2, 3] q) { q = Neg(p) }");
  onnx::FunctionProto* soft =
      add_function(&model, "Soft", "(float[2, 3] p) => (float[2, 3] q) { q = own.Inner(p) }");
  onnx::AttributeProto along;
  along.set_name("along");
  soft->mutable_unknown_fields()->AddLengthDelimited(11, along.SerializeAsString());
  proto::inline_functions(&model);
  EXPECT_EQ(model.functions_size(), 2);
  EXPECT_EQ(model.graph().node(0).op_type(), "Soft");
}

/// A function for another opset past those that the library knows.
TEST_F(InlineFunctions, OnesOfNewerOpsetsMayBeInlinedWhereNothingChanged) {
  const auto count_after = [](const std::string& body) {
    onnx::ModelProto model = model_of("(float[2, 3] x) => (float[2, 3] y) { y = own.F(x) }");
    model.mutable_opset_import(0)->set_version(19);
    add_function(&model, "F", body)->mutable_opset_import(0)->set_version(18);
    proto::inline_functions(&model);
    return model.functions_size();
  };
  EXPECT_EQ(count_after("(float[2, 3] p) => (float[2, 3] q) { q = ReduceMean(p) }"), 0);
  EXPECT_EQ(count_after("(float[2, 3] p) => (float[2, 3] q) { q = Resize(p) }"), 1);
}

}  // namespace
}  // namespace reverie
