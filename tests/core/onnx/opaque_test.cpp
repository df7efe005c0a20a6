#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>

#include "core/base/random.h"
#include "core/exec/compare.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/lower.h"
#include "core/onnx/symbols.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::parse;

class Opaque : public ::testing::Test {
 protected:
  ImportedModel import(const onnx::ModelProto& model, const ImportOptions& options = {}) {
    testing::write_message(model, folder_ / "model.onnx");
    return import_onnx(folder_ / "model.onnx", options);
  }

  /// Exports, imports again, and expects an equal graph.
  onnx::ModelProto expect_round_trip(const ImportedModel& model) {
    export_onnx(model.graph, model.info, folder_ / "copy.onnx", {.symbols = symbols_of(model)});
    const ImportedModel again = import_onnx(folder_ / "copy.onnx");
    EXPECT_TRUE(isomorphic(again.graph, lower(model.graph)));
    EXPECT_EQ(again.warnings, model.warnings);
    EXPECT_EQ(again.info.opset_imports, model.info.opset_imports);
    EXPECT_EQ(again.info.metadata, model.info.metadata);
    EXPECT_EQ(again.info.functions, model.info.functions);
    return testing::read_message<onnx::ModelProto>(folder_ / "copy.onnx");
  }

  TemporaryDirectory folder_;
};

TEST_F(Opaque, UnknownOperatorKeepsItsAttributesAndType) {
  const ImportedModel model = import(parse(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x) => (float[2, 3] y) {
      a = Relu(x)
      b = Shrink <bias = 1.5, lambd = 0.25> (a)
      y = Tanh(b)
    })"));
  EXPECT_THAT(model.warnings, ElementsAre(HasSubstr("1 node is carried through untouched")));
  EXPECT_THAT(model.warnings[0], HasSubstr("1 Shrink"));
  const NodeId last = model.graph.producer(model.graph.outputs()[0].value);
  EXPECT_EQ(model.graph.op(last).name, "Tanh");
  const onnx::ModelProto copy = expect_round_trip(model);
  ASSERT_EQ(copy.graph().node_size(), 3);
  EXPECT_EQ(copy.graph().node(1).op_type(), "Shrink");
  EXPECT_FLOAT_EQ(copy.graph().node(1).attribute(0).f(), 1.5);
}

/// ../shared/faults/batch_norm_training_13.onnx: before opset 14 further outputs mean training
/// mode, whether or not somebody reads them. The statistics are those of the batch then.
class BatchNormTraining : public Opaque {
 protected:
  bool is_kept(int opset, const std::string& outputs, const std::string& attributes = "") {
    const ImportedModel model = import(parse(fmt::format(R"(
      <ir_version: 8, opset_import: ["" : {}]>
      g (float[2, 4, 5] x) => (float[2, 4, 5] y) {{
        s = Constant <value = float[4] {{1, 2, 3, 4}}> ()
        c{} = BatchNormalization {} (x, s, s, s, s)
        y = Relu(c)
      }})",
                                                         opset, outputs, attributes)));
    return has_opaque_node(model.graph);
  }
};

TEST_F(BatchNormTraining, BatchNormTraining13) {
  for (const int opset : {7, 9, 13}) {
    EXPECT_FALSE(is_kept(opset, "")) << opset;
    EXPECT_TRUE(is_kept(opset, ", rm, rv, sm, sv")) << opset;
  }
}

TEST_F(BatchNormTraining, AnAttributeSaysSoSinceOpset14) {
  EXPECT_FALSE(is_kept(14, ""));
  EXPECT_TRUE(is_kept(14, ", rm, rv", "<training_mode = 1>"));
}

TEST_F(Opaque, BatchNormalizationWithWiderStatisticsIsKept) {
  const ImportedModel model = import(parse(R"(
    <ir_version: 8, opset_import: ["" : 15]>
    g (float16[1, 2, 3] x, float16[2] s, float[2] m) => (float16[1, 2, 3] y) {
      y = BatchNormalization (x, s, s, m, m)
    })"));
  EXPECT_TRUE(has_opaque_node(model.graph));
}

TEST_F(Opaque, CustomDomainMakesWhatFollowsOpaqueToo) {
  const ImportedModel model = import(parse(R"(
    <ir_version: 8, opset_import: ["" : 15, "com.example" : 3]>
    g (float[2] x) => (float[2] y) {
      a, b = com.example.Fused <mode = "fast"> (x, , x)
      y = Add(a, b)
    })"));
  EXPECT_THAT(model.warnings[0], HasSubstr("1 Add, 1 com.example::Fused"));
  const onnx::ModelProto copy = expect_round_trip(model);
  EXPECT_EQ(copy.graph().node(0).input(1), "");
  EXPECT_EQ(model.info.opset_imports.at("com.example"), 3);
}

TEST_F(Opaque, DeclaredTypesOfACustomOperatorAreTaken) {
  onnx::ModelProto proto = parse(R"(
    <ir_version: 8, opset_import: ["" : 15, "com.example" : 1]>
    g (float[2] x) => (float[2] y) {
      a = com.example.Fused (x)
      y = Relu(a)
    })");
  auto* info = proto.mutable_graph()->add_value_info();
  info->set_name("a");
  proto::set_tensor_type({DType::kFloat32, {2}}, info->mutable_type());
  const ImportedModel model = import(proto);
  EXPECT_EQ(model.graph.op(model.graph.producer(model.graph.outputs()[0].value)).name, "Relu");
}

/// An If whose branches use values of the graph around them; local names are those of the graph.
onnx::ModelProto model_with_if() {
  onnx::ModelProto model = parse(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[2] x) => (float[2] y) {
      a = Relu(x)
      b = Tanh(x)
      d = If(c)
      y = Add(d, a)
    })");
  auto* node = model.mutable_graph()->mutable_node(2);
  const auto branch = [&](const char* name, const char* body) {
    auto* attribute = node->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    *attribute->mutable_g() =
        parse(std::string("<ir_version: 8, opset_import: [\"\" : 17]> ") + body).graph();
  };
  branch("then_branch", "t () => (float[2] relu_0) { tmp = Mul(b, a) relu_0 = Neg(tmp) }");
  branch("else_branch", "e () => (float[2] out) { out = Exp(a) }");
  return model;
}

TEST_F(Opaque, ControlFlowTakesCapturedValuesAsInputs) {
  const ImportedModel model = import(model_with_if());
  NodeId found;
  for (const NodeId node : model.graph.nodes())
    if (&model.graph.op(node) == &opaque_op()) found = node;
  ASSERT_TRUE(found.valid());
  ASSERT_EQ(model.graph.inputs(found).size(), 3u);
  EXPECT_EQ(model.graph.op(model.graph.producer(model.graph.inputs(found)[1])).name, "Tanh");
  EXPECT_EQ(model.graph.op(model.graph.producer(model.graph.inputs(found)[2])).name, "Relu");
  EXPECT_EQ(model.graph.type(model.graph.output(found)), (TensorType{DType::kFloat32, {2}}));
  expect_round_trip(model);
}

TEST_F(Opaque, CapturedValuesAreRenamedWithTheGraph) {
  const onnx::ModelProto copy = expect_round_trip(import(model_with_if()));
  const auto is_if = [](const auto& node) { return node.op_type() == "If"; };
  const auto node = std::find_if(copy.graph().node().begin(), copy.graph().node().end(), is_if);
  ASSERT_NE(node, copy.graph().node().end());
  std::set<std::string> outside;
  for (const auto& other : copy.graph().node())
    outside.insert(other.output().begin(), other.output().end());
  const auto& multiply = node->attribute(0).g().node(0);
  EXPECT_TRUE(outside.contains(multiply.input(0)));
  EXPECT_TRUE(outside.contains(multiply.input(1)));
  EXPECT_FALSE(outside.contains("relu_0")) << "the name belongs to the branch";
}

TEST_F(Opaque, DataThatBranchesKeepInAFileBesideComesAlong) {
  onnx::ModelProto proto = model_with_if();
  std::ofstream(folder_ / "branch.bin", std::ios::binary) << std::string("\0\0\x80\x3f", 4);  // 1
  for (auto& attribute : *proto.mutable_graph()->mutable_node(2)->mutable_attribute()) {
    onnx::GraphProto& branch = *attribute.mutable_g();
    onnx::TensorProto* one = branch.add_initializer();
    one->set_name(attribute.name() + "_one");
    one->set_data_type(onnx::TensorProto::FLOAT);
    one->set_data_location(onnx::TensorProto::EXTERNAL);
    auto* location = one->add_external_data();
    location->set_key("location");
    location->set_value("branch.bin");
    branch.mutable_node(0)->set_op_type("Mul");
    while (branch.node(0).input_size() < 2) branch.mutable_node(0)->add_input();
    branch.mutable_node(0)->set_input(1, one->name());
  }
  const ImportedModel model = import(proto);
  const TemporaryDirectory elsewhere;
  export_onnx(model.graph, model.info, elsewhere / "copy.onnx");
  EXPECT_TRUE(isomorphic(import_onnx(elsewhere / "copy.onnx").graph, model.graph));
}

TEST_F(Opaque, FunctionsWhoseOpsetMeansSomethingElseAreCarriedThrough) {
  onnx::ModelProto proto = parse(R"(
    <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2, 3] x) => (float[2, 3] y) { y = local.twice(x) })");
  onnx::FunctionProto* function = proto.add_functions();
  const auto status = onnx::OnnxParser::Parse(
      *function,
      "<opset_import: [\"\" : 11], domain: \"local\"> twice (x) => (y) { y = Softmax(x) }");
  ASSERT_TRUE(status.IsOK()) << status.ErrorMessage();
  const ImportedModel model = import(proto);
  EXPECT_EQ(model.untouched.size(), 1u);
  export_onnx(model.graph, model.info, folder_ / "copy.onnx");
  EXPECT_TRUE(isomorphic(import_onnx(folder_ / "copy.onnx").graph, model.graph));
}

TEST_F(Opaque, ShapesThatAreNotConstantStayAsTheyCame) {
  const ImportedModel model = import(parse(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x, int64[1] s) => (float[n] y) { y = Reshape(x, s) })"));
  EXPECT_THAT(model.warnings[0], HasSubstr("1 Reshape"));
  expect_round_trip(model);
}

TEST_F(Opaque, SequencesPassThrough) {
  const ImportedModel model = import(parse(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, float[2] z) => (float[2] y) {
      s = SequenceConstruct(x, z)
      i = Constant <value = int64 {1}> ()
      e = SequenceAt(s, i)
      y = Relu(e)
    })"));
  EXPECT_THAT(model.warnings[0], HasSubstr("1 SequenceAt, 1 SequenceConstruct"));
  expect_round_trip(model);
}

TEST_F(Opaque, SparseAndStringInitializersAreConstantsOfTheirOwn) {
  onnx::ModelProto proto = parse(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
    g (float[3] x) => (float[3] y) {
      a = Add(x, w)
      y = com.example.Tag(a, words)
    })");
  auto* sparse = proto.mutable_graph()->add_sparse_initializer();
  proto::write_tensor(Tensor::of<float>({1}, {5}), "w", sparse->mutable_values());
  proto::write_tensor(Tensor::of<int64_t>({1}, {2}), "", sparse->mutable_indices());
  sparse->add_dims(3);
  auto* words = proto.mutable_graph()->add_initializer();
  words->set_name("words");
  words->set_data_type(onnx::TensorProto::STRING);
  words->add_dims(1);
  words->add_string_data("hello");
  const ImportedModel model = import(proto);
  EXPECT_THAT(model.warnings[0], HasSubstr("2 Constant, 1 com.example::Tag"));
  expect_round_trip(model);
}

TEST_F(Opaque, StringsPassThroughBesideWhatIsRewritten) {
  onnx::ModelProto proto = parse(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 3] x, string[4] words) => (float[2, 3] y, string[2] label, string[2] word) {
      a = Relu(x)
      y = Relu(a)
      best = ArgMax <axis = 1, keepdims = 0> (x)
      label = Gather(classes, best)
      word = Gather(words, best)
    })");
  auto* classes = proto.mutable_graph()->add_initializer();
  classes->set_name("classes");
  classes->set_data_type(onnx::TensorProto::STRING);
  classes->add_dims(3);
  for (const char* text : {"cat", "dog", "bird"}) classes->add_string_data(text);
  const ImportedModel model = import(proto);
  EXPECT_THAT(model.warnings[0], HasSubstr("1 Constant, 2 Gather"));
  expect_round_trip(model);
  Graph better = model.graph;
  const ValueId y = better.outputs()[0].value;
  better.replace_all_uses(y, better.inputs(better.producer(y))[0]);
  better.erase_dead();
  const Agreement agreement = compare(model.graph, better);
  EXPECT_TRUE(agreement.agree) << agreement.reason;
  EXPECT_EQ(agreement.unverified_nodes, 3);
}

/// An untouched node that means something else from opset 13 on, beside an input x.
onnx::ModelProto model_of_opset_11() {
  return parse(R"(
    <ir_version: 7, opset_import: ["" : 11]>
    g (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Hardmax <axis = 1> (x) })");
}

TEST_F(Opaque, StandardNodesOfAnOlderOpsetFixTheOpset) {
  const ImportedModel model = import(model_of_opset_11());
  Graph graph = model.graph;
  export_onnx(graph, model.info, folder_ / "copy.onnx");
  EXPECT_EQ(import_onnx(folder_ / "copy.onnx").info.opset_imports.at(""), 11);
  graph.add_output("z", graph.add("Neg", {graph.add_input("b", {DType::kBFloat16, {2}})}));
  try {
    export_onnx(graph, model.info, folder_ / "copy.onnx");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("Neg needs a newer opset than 12"));
    EXPECT_THAT(error.what(), HasSubstr("Hardmax"));
  }
}

/// Adds `op` over x to a model that is fixed to opset 11 or 12 and expects it to be written there.
class SpelledOut : public Opaque {
 protected:
  void expect_same_values(const std::string& op, std::vector<ValueId> (*more)(Graph&),
                          const Attributes& attributes) {
    const ImportedModel model = import(model_of_opset_11());
    Graph graph = model.graph;
    std::vector<ValueId> inputs = {graph.add_input("v", {DType::kFloat32, {2, 3, 4}})};
    for (const ValueId input : more(graph)) inputs.push_back(input);
    graph.add_output("z", graph.output(graph.add_node(op_named(op), inputs, attributes)));
    export_onnx(graph, model.info, folder_ / "copy.onnx");
    const ImportedModel again = import_onnx(folder_ / "copy.onnx");
    EXPECT_LE(again.info.opset_imports.at(""), 12);
    EXPECT_EQ(again.warnings, model.warnings);
    EXPECT_TRUE(isomorphic(lower(again.graph), again.graph));
    const Agreement agreement = compare(graph, again.graph);
    EXPECT_TRUE(agreement.agree) << agreement.reason;
    const auto uses_op = [&](NodeId node) { return again.graph.op(node).is(op); };
    const std::vector<NodeId> nodes = again.graph.nodes();
    EXPECT_EQ(std::any_of(nodes.begin(), nodes.end(), uses_op), op == "Softmax");
  }
};

std::vector<ValueId> nothing(Graph&) { return {}; }

ValueId weight(Graph& graph, const Shape& shape, const std::string& name) {
  Tensor tensor({DType::kFloat32, shape});
  Rng rng(name.size());
  for (float& value : tensor.data<float>()) value = static_cast<float>(rng.normal());
  return graph.add_constant(Weight::dense(tensor, name));
}

TEST_F(SpelledOut, LayerNormalization) {
  const auto scale = [](Graph& graph) { return std::vector{weight(graph, {3, 4}, "scale")}; };
  const auto both = [](Graph& graph) {
    return std::vector{weight(graph, {4}, "scale"), weight(graph, {4}, "b")};
  };
  expect_same_values("LayerNormalization", scale, {{"axis", int64_t{1}}, {"epsilon", 0.25}});
  expect_same_values("LayerNormalization", both, {{"axis", int64_t{-1}}});
}

TEST_F(SpelledOut, SoftmaxAlongAnInnerAxis) {
  expect_same_values("Softmax", nothing, {{"axis", int64_t{0}}});
  expect_same_values("Softmax", nothing, {{"axis", int64_t{1}}});
}

TEST_F(SpelledOut, HardSwish) { expect_same_values("HardSwish", nothing, {}); }

/// Opset 7 to 10 want the third input of Gemm, which rewriting can leave out.
TEST_F(SpelledOut, GemmWithoutATerm) {
  ImportedModel model = import(parse(R"(
    <ir_version: 4, opset_import: ["" : 9]>
    g (float[2, 3] x) => (float[2, 3] y) { y = Hardmax <axis = 1> (x) })"));
  Graph& graph = model.graph;
  const ValueId x = graph.output(graph.inputs()[0]);
  graph.add_output("z", graph.add("Gemm", {x, weight(graph, {4, 3}, "w")},
                                  {{"transB", int64_t{1}}, {"alpha", 0.5}}));
  export_onnx(graph, model.info, folder_ / "copy.onnx");
  const ImportedModel again = import_onnx(folder_ / "copy.onnx");
  EXPECT_EQ(again.info.opset_imports.at(""), 9);
  EXPECT_TRUE(compare(graph, again.graph).agree);
}

TEST_F(Opaque, NamesThatNobodyReadsAreNoOutputs) {
  const std::string text = R"(
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[1, 3, 4, 4] x) => (float[1, 3, 2, 2] y{}) {{
      a = Relu(x)
      d, mask = Dropout(a)
      y, indices = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (d)
      {}
    }})";
  const ImportedModel model = import(parse(fmt::format(fmt::runtime(text), "", "")));
  EXPECT_THAT(model.warnings, IsEmpty());
  expect_round_trip(model);
  const auto read =
      parse(fmt::format(fmt::runtime(text), ", int64[1, 3, 2, 2] least", "least = Neg(indices)"));
  EXPECT_THAT(import(read).warnings, ElementsAre(HasSubstr("1 MaxPool")));
}

TEST_F(Opaque, AnOldOpsetThatANodePinsHasMaxOfEqualShapes) {
  expect_round_trip(import(parse(R"(
    <ir_version: 3, opset_import: ["" : 7, "com.example" : 1]>
    g (float[2, 3] a, float[2, 3] b) => (float[2, 3] y) {
      m = Max(a, b)
      n = com.example.Unknown(m)
      y = Mean(n, a)
    })")));
}

TEST_F(Opaque, QuantizationAnnotationsAreLeftOutWithAWarning) {
  onnx::ModelProto model = parse(R"(
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x) => (float[2] y) { y = Relu(x) })");
  model.mutable_graph()->add_quantization_annotation()->set_tensor_name("x");
  EXPECT_THAT(import(model).warnings, ElementsAre("quantization annotations are left out"));
}

}  // namespace
}  // namespace reverie
