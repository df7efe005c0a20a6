#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>

#include "core/exec/compare.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/lower.h"
#include "core/onnx/symbols.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

/// Files that ONNX Runtime reads and ONNX's checker does not.
namespace reverie::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class PutInOrder : public ::testing::Test {
 protected:
  ImportedModel import(const onnx::ModelProto& model) {
    write_message(model, path_);
    return import_onnx(path_);
  }
  std::string refusal(const onnx::ModelProto& model) {
    try {
      import(model);
    } catch (const InputError& error) {
      return error.what();
    }
    return "none";
  }
  /// The file that is written for it, which gives the same graph.
  onnx::ModelProto rewritten(const onnx::ModelProto& model) {
    const ImportedModel imported = import(model);
    export_onnx(imported.graph, imported.info, copy_);
    EXPECT_TRUE(isomorphic(import_onnx(copy_).graph, lower(imported.graph)));
    return read_message<onnx::ModelProto>(copy_);
  }
  /// The same, and the checker accepts it.
  onnx::ModelProto valid(const onnx::ModelProto& model) {
    onnx::ModelProto result = rewritten(model);
    EXPECT_NO_THROW(onnx::checker::check_model(result));
    return result;
  }

  TemporaryDirectory folder_;
  std::string path_ = folder_ / "model.onnx";
  std::string copy_ = folder_ / "copy.onnx";
};

onnx::ModelProto model_of(const std::string& graph, const std::string& imports = "\"\" : 13") {
  return parse("<ir_version: 8, opset_import: [" + imports + "]> g " + graph);
}

std::vector<std::string> operators(const onnx::GraphProto& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.node()) names.push_back(node.op_type());
  return names;
}

onnx::GraphProto* add_graph(const std::string& name, const std::string& text,
                            onnx::NodeProto* node) {
  auto* attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::GRAPH);
  *attribute->mutable_g() = model_of(text).graph();
  return attribute->mutable_g();
}

TEST_F(PutInOrder, NodesStandBehindThoseThatTheyReadFrom) {
  const onnx::ModelProto model = model_of(R"((float[2, 3] x) => (float[3, 2] y, float[2, 3] z) {
      y = Reshape(t, s)  t = Tanh(e)  z = Sigmoid(x)  e = Exp(x)
      s = Constant <value_ints = [3, 2]> () })");
  EXPECT_THAT(operators(valid(model).graph()), ElementsAre("Exp", "Tanh", "Reshape", "Sigmoid"));
}

/// Also where a node only reads a value inside of a branch.
TEST_F(PutInOrder, BranchesAreSortedToo) {
  onnx::ModelProto model =
      model_of(R"((float[2] x, bool c) => (float[2] y) { y = If(c)  h = Exp(x) })");
  auto* node = model.mutable_graph()->mutable_node(0);
  add_graph("then_branch", "() => (float[2] a) { a = Tanh(b)  b = Neg(h) }", node);
  add_graph("else_branch", "() => (float[2] d) { d = Abs(x) }", node);
  const onnx::GraphProto graph = valid(model).graph();
  ASSERT_THAT(operators(graph), ElementsAre("Exp", "If"));
  EXPECT_THAT(operators(graph.node(1).attribute(0).g()), ElementsAre("Neg", "Tanh"));
}

TEST_F(PutInOrder, FunctionsAreSortedToo) {
  onnx::ModelProto model =
      model_of("(float[2] x) => (float[2] y) { y = my.F(x) }", "\"\" : 13, \"my\" : 1");
  onnx::FunctionProto* function = model.add_functions();
  function->set_domain("my");
  function->set_name("F");
  function->add_input("a");
  function->add_output("c");
  function->add_opset_import()->set_version(13);
  const onnx::ModelProto body = model_of("(float[2] a) => (float[2] c) { c = Exp(b)  b = Neg(a) }");
  *function->mutable_node() = body.graph().node();
  EXPECT_THAT(operators(valid(model).graph()), ElementsAre("Neg", "Exp"));
}

TEST_F(PutInOrder, ACycleIsRefusedByTheNamesOfItsNodes) {
  onnx::ModelProto model = model_of(R"((float[2] x) => (float[2] y)
      { a = Add(x, c)  b = Exp(a)  c = Neg(b)  y = Tanh(x) })");
  model.mutable_graph()->mutable_node(0)->set_name("first");
  EXPECT_THAT(refusal(model),
              AllOf(HasSubstr("cycle"), HasSubstr("'first' (Add)"), HasSubstr("'b' (Exp)"),
                    HasSubstr("'c' (Neg)"), Not(HasSubstr("Tanh"))));
  EXPECT_THAT(refusal(model_of("(float[2] x) => (float[2] y) { y = Add(x, y) }")),
              HasSubstr("'y' (Add)"));
}

TEST_F(PutInOrder, AValueOfTwoSourcesIsRefused) {
  EXPECT_THAT(refusal(model_of("(float[2] x) => (float[2] y) { y = Exp(x)  y = Neg(x) }")),
              AllOf(HasSubstr("value 'y' has two sources"), HasSubstr("Exp"), HasSubstr("Neg")));
  EXPECT_THAT(refusal(model_of("(float[2] x) => (float[2] y) { x = Exp(y)  y = Neg(x) }")),
              HasSubstr("value 'x' has two sources"));
}

TEST_F(PutInOrder, AValueOfNoSourceIsRefused) {
  EXPECT_THAT(refusal(model_of("(float[2] x) => (float[2] y) { y = Add(x, z) }")),
              AllOf(HasSubstr("'z' is used"), HasSubstr("Add")));
}

TEST_F(PutInOrder, DomainsThatNodesNameAreImported) {
  const onnx::ModelProto model =
      model_of("(float[2] x) => (float[2] y) { a = com.x.Foo(x)  y = ai.onnx.ml.Scaler(a) }");
  std::map<std::string, int64_t> versions;
  const onnx::ModelProto copy = valid(model);
  for (const auto& import : copy.opset_import()) versions[import.domain()] = import.version();
  EXPECT_EQ(versions, (std::map<std::string, int64_t>{{"", 13}, {"com.x", 1}, {"ai.onnx.ml", 3}}));
}

TEST_F(PutInOrder, OfSeveralImportsTheLastCounts) {
  onnx::ModelProto model =
      model_of("(float[2] x) => (float[2] y) { y = Relu(x) }", "\"\" : 0, \"\" : 13");
  ASSERT_EQ(valid(model).opset_import_size(), 1);
  EXPECT_EQ(valid(model).opset_import(0).version(), 13);
  model.mutable_opset_import(1)->set_version(99);
  EXPECT_THAT(refusal(model), HasSubstr("uses opset 99"));
}

TEST_F(PutInOrder, TheOpsetOfADomainThatNoNodeIsOfDoesNotMatter) {
  const std::string graph = "(float[2] x) => (float[2] y) { y = com.x.Foo(x) }";
  for (const std::string standard : {"\"\" : 1, ", "\"\" : 99, ", ""})
    EXPECT_EQ(operators(rewritten(model_of(graph, standard + "\"com.x\" : 1")).graph()).size(), 1u)
        << standard;
}

TEST_F(PutInOrder, OfSeveralInitializersTheLastCounts) {
  onnx::ModelProto model =
      model_of("(float[1] x) => (float[1] y) <float[1] w = {1}> { y = Add(x, w) }");
  auto* second = model.mutable_graph()->add_initializer();
  *second = model.graph().initializer(0);
  second->set_float_data(0, 7);
  ASSERT_EQ(valid(model).graph().initializer_size(), 1);
  EXPECT_EQ(tensor_of(valid(model).graph().initializer(0)).to_doubles()[0], 7);
}

TEST_F(PutInOrder, WhatNothingReadsIsNotLookedAt) {
  onnx::ModelProto model =
      model_of("(float[1] x) => (float[1] y) <float[9] w = {1}> { y = Exp(x) }");
  EXPECT_EQ(valid(model).graph().initializer_size(), 0);
  model = model_of("(float[1] x) => (float[1] y) <float[9] w = {1}> { y = Add(x, w) }");
  EXPECT_THAT(refusal(model), HasSubstr("tensor 'w'"));
}

TEST_F(PutInOrder, MissingNamesAndTypesAreFoundOrGiven) {
  onnx::ModelProto model = model_of("(float[2] x) => (float[2] y) { r = Relu(x)  y = Exp(r) }");
  model.mutable_graph()->clear_name();
  model.mutable_graph()->mutable_output(0)->clear_type();
  model.mutable_graph()->add_value_info()->set_name("r");
  const onnx::GraphProto graph = valid(model).graph();
  EXPECT_FALSE(graph.name().empty());
  EXPECT_EQ(graph.output(0).type().tensor_type().shape().dim(0).dim_value(), 2);
}

TEST_F(PutInOrder, ABranchWithoutANameGetsOne) {
  onnx::ModelProto model = model_of("(float[2] x, bool c) => (float[2] y) { y = If(c) }");
  for (const char* name : {"then_branch", "else_branch"})
    add_graph(name, "() => (float[2] a) { a = Exp(x) }", model.mutable_graph()->mutable_node(0))
        ->clear_name();
  valid(model);
}

/// What an operator that nobody knows gives has no type but the one that the file declares.
TEST_F(PutInOrder, AnOutputOfUnknownTypeMayHaveNone) {
  onnx::ModelProto model =
      model_of("(float[2] x) => (float[2] y) { y = com.x.Foo(x) }", "\"\" : 13, \"com.x\" : 1");
  model.mutable_graph()->mutable_output(0)->clear_type();
  EXPECT_FALSE(rewritten(model).graph().output(0).has_type());
}

TEST_F(PutInOrder, AnInputWithoutATypeIsRefused) {
  onnx::ModelProto model = model_of("(float[2] x) => (float[2] y) { y = Exp(x) }");
  model.mutable_graph()->mutable_input(0)->clear_type();
  EXPECT_THAT(refusal(model), HasSubstr("input 'x' has no type"));
}

TEST_F(PutInOrder, InitializersNeedNotBeInputsInAnyVersion) {
  onnx::ModelProto model =
      model_of("(float[1] x) => (float[1] y) <float[1] w = {1}> { y = Add(x, w) }", "\"\" : 7");
  model.set_ir_version(3);
  EXPECT_GE(valid(model).ir_version(), 4);
}

TEST_F(PutInOrder, NodesThatNoRuntimeTakesAreRefusedByName) {
  const auto refused = [&](const std::string& node) {
    return refusal(model_of("(float[2] x) => (float[2] y) { " + node + " }"));
  };
  EXPECT_THAT(refused("y = Relu()"), AllOf(HasSubstr("'y' (Relu)"), HasSubstr("input size 0")));
  EXPECT_THAT(refused("y = Relu(x, x)"), HasSubstr("input size 2"));
  EXPECT_THAT(refused("y, z = Relu(x)"), HasSubstr("output size 2"));
  EXPECT_THAT(refused("y = Relu <alpha = 1.0> (x)"), HasSubstr("alpha"));
  EXPECT_THAT(refused("y = LeakyRelu <alpha = 1> (x)"), HasSubstr("alpha"));
  EXPECT_THAT(refused("y = Cast(x)"), HasSubstr("to"));
  onnx::ModelProto nameless = model_of("(float[2] x) => (float[2] y) { y = Relu(x) }");
  nameless.mutable_graph()->mutable_node(0)->clear_op_type();
  EXPECT_THAT(refusal(nameless), HasSubstr("names no operator"));
}

TEST_F(PutInOrder, AttributesOfFunctionsStandInFunctionsAlone) {
  onnx::ModelProto model =
      model_of("(float[2] x) => (float[2] y) { y = LeakyRelu <alpha = 0.5> (x) }");
  model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->clear_f();
  model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_ref_attr_name("slope");
  EXPECT_THAT(refusal(model), HasSubstr("'alpha' refers to"));
}

TEST_F(PutInOrder, OperatorsThatOnnxDoesNotHaveAreCarriedThrough) {
  onnx::ModelProto model = model_of(R"((float[2, 4] x, float[4] s) => (float[2, 4] y)
      { r = Relu(x)  y = UnheardNormalization <axis = -1> (r, s) })");
  EXPECT_THAT(import(model).untouched[0].reason, HasSubstr("no such operator"));
  EXPECT_THAT(operators(rewritten(model).graph()), ElementsAre("Relu", "UnheardNormalization"));
}

TEST_F(PutInOrder, LayerNormalizationIsReadAtOlderOpsets) {
  const onnx::ModelProto model = model_of(R"((float[2, 4] x, float[4] s) => (float[2, 4] y)
      { r = Relu(x)  y = LayerNormalization <axis = -1> (r, s) })",
                                          "\"\" : 12");
  EXPECT_TRUE(import(model).untouched.empty());
  valid(model);
}

/// A form of ONNX Runtime's that ONNX never had.
TEST_F(PutInOrder, OlderFormsThanOnnxHasAreCarriedThrough) {
  const onnx::ModelProto model = model_of(R"((float[1, 2, 2, 2] x) => (float[1, 2, 2, 2] y)
      { y = MeanVarianceNormalization <across_channels = 0> (x) })",
                                          "\"\" : 8");
  EXPECT_THAT(import(model).untouched[0].reason, HasSubstr("opset 8 has no such operator"));
  EXPECT_THAT(operators(rewritten(model).graph()), ElementsAre("MeanVarianceNormalization"));
}

TEST_F(PutInOrder, OperatorsOfNewerVersionsOfADomainAreCarriedThrough) {
  onnx::ModelProto model =
      model_of("(string[2] x) => (int16[2] y) { y = ai.onnx.ml.LabelEncoder(x) }",
               "\"\" : 17, \"ai.onnx.ml\" : 4");
  auto* node = model.mutable_graph()->mutable_node(0);
  auto* keys = node->add_attribute();
  keys->set_name("keys_strings");
  keys->set_type(onnx::AttributeProto::STRINGS);
  keys->add_strings("a");
  auto* values = node->add_attribute();
  values->set_name("values_tensor");
  values->set_type(onnx::AttributeProto::TENSOR);
  values->mutable_t()->set_data_type(onnx::TensorProto::INT16);
  values->mutable_t()->add_dims(1);
  values->mutable_t()->add_int32_data(7);
  const onnx::ModelProto copy = rewritten(model);
  EXPECT_EQ(copy.graph().node(0).attribute_size(), 2);
  EXPECT_EQ(copy.graph().output(0).type().tensor_type().elem_type(), onnx::TensorProto::INT16);
}

/// Both branches give sequences, around what is rewritten.
TEST_F(PutInOrder, SequencesOfBranchesAreCarriedThrough) {
  onnx::ModelProto model = model_of(R"((float[2] x, bool c, int64 i) => (float[2] y) {
      a = Exp(x)  b = Neg(a)  q = If(c)  s = SequenceAt(q, i)  y = Relu(s) })");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* graph = add_graph(name, "() => (float[2] e) { e = SequenceConstruct(a, b) }",
                            model.mutable_graph()->mutable_node(2));
    auto* type = graph->mutable_output(0)->mutable_type();
    type->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(
        onnx::TensorProto::FLOAT);
  }
  EXPECT_THAT(operators(valid(model).graph()),
              ElementsAre("Exp", "Neg", "If", "SequenceAt", "Relu"));
}

TEST_F(PutInOrder, SequencesOfMapsAreCarriedThrough) {
  onnx::ModelProto model =
      model_of("(float[2, 3] x) => (float[1] y) { a = Exp(x)  y = ai.onnx.ml.ZipMap(a) }",
               "\"\" : 13, \"ai.onnx.ml\" : 1");
  auto* labels = model.mutable_graph()->mutable_node(1)->add_attribute();
  labels->set_name("classlabels_strings");
  labels->set_type(onnx::AttributeProto::STRINGS);
  for (const char* label : {"a", "b", "c"}) labels->add_strings(label);
  auto* type = model.mutable_graph()->mutable_output(0)->mutable_type();
  type->Clear();
  auto* map = type->mutable_sequence_type()->mutable_elem_type()->mutable_map_type();
  map->set_key_type(onnx::TensorProto::STRING);
  map->mutable_value_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  EXPECT_EQ(valid(model).graph().output(0).type().SerializeAsString(), type->SerializeAsString());
}

TEST_F(PutInOrder, WhatDimensionsStandForIsKept) {
  onnx::ModelProto model =
      model_of("(float[2, 3] x) => (float[2, 3] y) { a = Identity(x)  y = Exp(a) }");
  for (auto* values :
       {model.mutable_graph()->mutable_input(), model.mutable_graph()->mutable_output()}) {
    auto* type = values->Mutable(0)->mutable_type();
    type->set_denotation("IMAGE");
    type->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_denotation("DATA_CHANNEL");
  }
  const onnx::GraphProto graph = valid(model).graph();
  EXPECT_EQ(graph.input(0).SerializeAsString(), model.graph().input(0).SerializeAsString());
  EXPECT_EQ(graph.output(0).SerializeAsString(), model.graph().output(0).SerializeAsString());
}

TEST_F(PutInOrder, AValueThatIsAnOutputTwiceStaysSo) {
  onnx::ModelProto model = model_of(
      "(float[2] x) => (float[2] y, float[2] z) { a = Identity(x)  y = Exp(a)  z = Neg(a) }");
  *model.mutable_graph()->add_output() = model.graph().output(0);
  const ImportedModel imported = import(model);
  export_onnx(imported.graph, imported.info, copy_);
  std::vector<std::string> names;
  const auto copy = read_message<onnx::ModelProto>(copy_);
  for (const auto& output : copy.graph().output()) names.push_back(output.name());
  EXPECT_THAT(names, ElementsAre("y", "z", "y"));
  EXPECT_TRUE(compare(imported.graph, import_onnx(copy_).graph).agree);
}

}  // namespace
}  // namespace reverie::testing
