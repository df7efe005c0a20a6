#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/exec/compare.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/lower.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

/// Operators that ONNX Runtime has and the standard does not, or has later.
namespace reverie::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RuntimeOperators : public ::testing::Test {
 protected:
  ImportedModel import(const onnx::ModelProto& model) {
    write_message(model, folder_ / "model.onnx");
    return import_onnx(folder_ / "model.onnx");
  }

  /// x of float[2, 3, 8], h of float[8], w of float[8, 4]; what comes out may have any shape.
  ImportedModel import_nodes(int opset, const std::string& nodes,
                             const std::string& outputs = "float[n] y") {
    onnx::ModelProto model = parse(fmt::format(
        R"(<ir_version: 8, opset_import: ["" : {}, "com.microsoft" : 1]>
           g (float[2, 3, 8] x, float[2, 3, 8] z, float[8] h, float[8] b, float[4, 8] w)
           => ({}) {{ {} }})",
        opset, outputs, nodes));
    for (auto& output : *model.mutable_graph()->mutable_output())
      output.mutable_type()->mutable_tensor_type()->clear_shape();
    return import(model);
  }

  /// Imports as written; the same graph.
  onnx::ModelProto written(const ImportedModel& model) {
    export_onnx(model.graph, model.info, folder_ / "copy.onnx");
    EXPECT_TRUE(isomorphic(import_onnx(folder_ / "copy.onnx").graph, lower(model.graph)));
    return read_message<onnx::ModelProto>(folder_ / "copy.onnx");
  }

  TemporaryDirectory folder_;
};

std::vector<std::string> operators_of(const onnx::ModelProto& model) {
  std::vector<std::string> names;
  for (const auto& node : model.graph().node()) names.push_back(proto::qualified_name(node));
  return names;
}

TEST_F(RuntimeOperators, LayerNormalizationIsReadAtEveryOpset) {
  const std::string node = "y = LayerNormalization <axis = -1, epsilon = 0.001> (x, h, b)";
  for (const int opset : {1, 7, 12, 16}) {
    const ImportedModel model = import_nodes(opset, node);
    EXPECT_THAT(model.warnings, IsEmpty());
    EXPECT_TRUE(isomorphic(model.graph, import_nodes(17, node).graph));
    const onnx::ModelProto copy = written(model);
    EXPECT_EQ(copy.opset_import(0).version(), 17);
    EXPECT_THAT(operators_of(copy), ElementsAre("LayerNormalization"));
  }
}

TEST_F(RuntimeOperators, AnOldOpsetThatIsHeldKeepsItsLayerNormalization) {
  const ImportedModel model =
      import_nodes(12, "d = Hardmax <axis = 1> (x) y = LayerNormalization(d, h)");
  const onnx::ModelProto copy = written(model);
  EXPECT_EQ(copy.opset_import(0).version(), 12);
  EXPECT_THAT(operators_of(copy), ElementsAre("Hardmax", "LayerNormalization"));
}

TEST_F(RuntimeOperators, StatisticsOfALayerNormalizationHaveTypes) {
  const ImportedModel model = import_nodes(12, "a, m = LayerNormalization(x, h) y = Sub(a, m)");
  EXPECT_THAT(model.warnings, ElementsAre(HasSubstr("1 LayerNormalization")));
  EXPECT_TRUE(model.graph.op(model.graph.producer(model.graph.outputs()[0].value)).is("Sub"));
  written(model);
}

/// An operator of ONNX Runtime's, and the same in words of the standard.
struct RuntimeNode {
  std::string node, standard, op;
};

const std::string kRoot = "e = Constant <value = float {0.01}> () ";
const std::string kRms =
    "q = Mul(s, s) m = ReduceMean <axes = [-1]> (q) f = Add(m, e) r = Sqrt(f) n = Div(s, r) ";
const std::string kExactGelu = R"(
    t = Constant <value = float {1.4142135}> ()
    o = Constant <value = float {1}> ()
    i = Constant <value = float {0.5}> ()
    d = Div(s, t) e = Erf(d) p = Add(e, o) g = Mul(s, p) y = Mul(g, i))";
const std::string kGeluByTanh = R"(
    t = Constant <value = float {0.7978846}> ()
    o = Constant <value = float {1}> ()
    i = Constant <value = float {0.5}> ()
    k = Constant <value = float {0.044715}> ()
    c = Mul(s, s) v = Mul(c, s) l = Mul(v, k) a = Add(s, l)
    d = Mul(a, t) e = Tanh(d) p = Add(e, o) g = Mul(s, p) y = Mul(g, i))";

const std::string kJointWeights = "s = Concat <axis = 0> (w, w, w, w, w, w) j = Transpose(s) ";
const std::string kTwoHeads = R"(
    l = Constant <value = int64[4] {2, 3, 2, 4}> ()
    r = Constant <value = int64[3] {2, 3, 8}> ()
    f = Constant <value = float {0.25}> ()
    a = Reshape(q, l) c = Reshape(k, l) e = Reshape(v, l)
    m = Transpose <perm = [0, 2, 1, 3]> (a) n = Transpose <perm = [0, 2, 3, 1]> (c)
    o = Transpose <perm = [0, 2, 1, 3]> (e)
    t = MatMul(m, n) u = Mul(t, f) g = Softmax <axis = -1> (u) i = MatMul(g, o)
    d = Transpose <perm = [0, 2, 1, 3]> (i) y = Reshape(d, r))";

const std::vector<RuntimeNode>& runtime_nodes() {
  static const std::vector<RuntimeNode> rows = {
      {"y = SimplifiedLayerNormalization <epsilon = 0.01, axis = -1, stash_type = 1> (x, h)",
       kRoot + "s = Identity(x) " + kRms + "y = Mul(n, h)", "SimplifiedLayerNormalization"},
      {"y = com.microsoft.Gelu(x)", "s = Identity(x) " + kExactGelu, "com.microsoft::Gelu"},
      {"y = com.microsoft.BiasGelu(x, h)", "s = Add(x, h) " + kExactGelu,
       "com.microsoft::BiasGelu"},
      {"y = com.microsoft.FastGelu(x)", "s = Identity(x) " + kGeluByTanh,
       "com.microsoft::FastGelu"},
      {"y = com.microsoft.FastGelu(x, h)", "s = Add(x, h) " + kGeluByTanh,
       "com.microsoft::FastGelu"},
      {"y = com.microsoft.QuickGelu(x)",
       "a = Constant <value = float {1.702}> () s = Mul(x, a) g = Sigmoid(s) y = Mul(x, g)",
       "com.microsoft::QuickGelu"},
      {"y = com.microsoft.FusedMatMul <transB = 1, alpha = 0.5> (x, w)",
       "a = Constant <value = float {0.5}> () t = Transpose(w) p = MatMul(x, t) y = Mul(p, a)",
       "com.microsoft::FusedMatMul"},
      {"y = com.microsoft.FusedMatMul <transA = 1> (x, z)",
       "t = Transpose <perm = [0, 2, 1]> (x) y = MatMul(t, z)", "com.microsoft::FusedMatMul"},
      {"t = Transpose(w) y = com.microsoft.FusedMatMul(x, t)", "t = Transpose(w) y = MatMul(x, t)",
       "MatMul"},
      {"y = com.microsoft.SkipLayerNormalization <epsilon = 0.01> (x, z, h)",
       "s = Add(x, z) y = LayerNormalization <epsilon = 0.01> (s, h)",
       "com.microsoft::SkipLayerNormalization"},
      {"y = com.microsoft.SkipLayerNormalization <epsilon = 0.01> (x, z, h, b, h)",
       "u = Add(x, z) s = Add(u, h) y = LayerNormalization <epsilon = 0.01> (s, h, b)",
       "com.microsoft::SkipLayerNormalization"},
      {"v, , , s = com.microsoft.SkipLayerNormalization <epsilon = 0.01> (x, z, h) y = Add(v, s)",
       "s = Add(x, z) v = LayerNormalization <epsilon = 0.01> (s, h) y = Add(v, s)",
       "com.microsoft::SkipLayerNormalization"},
      {kJointWeights + "y = com.microsoft.Attention <num_heads = 2, scale = 0.25> (x, j)",
       kJointWeights + "p = MatMul(x, j) q, k, v = Split <axis = 2> (p) " + kTwoHeads,
       "com.microsoft::Attention"},
      {"y = com.microsoft.MultiHeadAttention <num_heads = 2, scale = 0.25> (x, z, x)",
       "q = Identity(x) k = Identity(z) v = Identity(x) " + kTwoHeads,
       "com.microsoft::MultiHeadAttention"},
      {"y = com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.01> (x, z, h)",
       kRoot + "s = Add(x, z) " + kRms + "y = Mul(n, h)",
       "com.microsoft::SkipSimplifiedLayerNormalization"},
      {"y = com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.01> (x, z, h, b)",
       kRoot + "u = Add(x, z) s = Add(u, b) " + kRms + "y = Mul(n, h)",
       "com.microsoft::SkipSimplifiedLayerNormalization"},
  };
  return rows;
}

TEST_F(RuntimeOperators, MeanWhatTheyMeanInTheStandard) {
  for (const RuntimeNode& row : runtime_nodes()) {
    SCOPED_TRACE(row.node);
    const ImportedModel model = import_nodes(17, row.node);
    EXPECT_THAT(model.warnings, IsEmpty());
    const Agreement agreement = compare(import_nodes(17, row.standard).graph, model.graph);
    EXPECT_TRUE(agreement.agree) << agreement.reason;
  }
}

TEST_F(RuntimeOperators, AreCountedByTheNameOfTheirRow) {
  const ImportedModel model = import_nodes(
      15, "a = com.microsoft.Gelu(x) c = com.microsoft.Other(a) d = Relu(c) y = Relu(d)");
  using Counts = std::map<std::string, int64_t>;
  EXPECT_EQ(model.operators, (Counts{{"Gelu", 1}, {"Relu", 2}, {"com.microsoft::Other", 1}}));
}

TEST_F(RuntimeOperators, AreWrittenAsTheyCame) {
  for (const RuntimeNode& row : runtime_nodes()) {
    SCOPED_TRACE(row.node);
    const onnx::ModelProto copy = written(import_nodes(15, row.node));
    EXPECT_EQ(copy.opset_import(0).version(), 15);
    EXPECT_THAT(operators_of(copy), Contains(row.op));
  }
}

TEST_F(RuntimeOperators, OfNewOpsetsAreThoseOfTheStandard) {
  for (const auto& [opset, node, op] :
       {std::tuple{20, "y = com.microsoft.Gelu(x)", "Gelu"},
        {23, "y = SimplifiedLayerNormalization(x, h)", "RMSNormalization"},
        {24, "y = com.microsoft.QuickGelu <alpha = 1.0> (x)", "Swish"}})
    EXPECT_THAT(operators_of(written(import_nodes(opset, node))), ElementsAre(op));
}

TEST_F(RuntimeOperators, AreForModelsThatHaveSome) {
  ImportedModel model = import_nodes(17, "y = com.microsoft.QuickGelu(x)");
  model.info.for_onnx_runtime = false;
  EXPECT_THROW(export_onnx(model.graph, model.info, folder_ / "copy.onnx"), InputError);
  EXPECT_FALSE(import_nodes(17, "y = Relu(x)").info.for_onnx_runtime);
}

/// What follows an operator that stays untouched, whose result has the type of `shape`.
struct TypedNode {
  std::string node, shape;
};

TEST_F(RuntimeOperators, OthersHaveTypesSoThatWhatFollowsIsConverted) {
  const std::string weight = "s = Constant <value = int64[2] {8, 24}> () j = ConstantOfShape(s) ";
  const std::string past =
      "q = Constant <value = int64[4] {2, 2, 5, 4}> () u = ConstantOfShape(q) ";
  const std::string filter = "q = Constant <value = int64[3] {4, 3, 3}> () f = ConstantOfShape(q) ";
  const std::vector<TypedNode> rows = {
      {"a = com.microsoft.Attention <num_heads = 2, qkv_hidden_sizes = [8, 8, 8]> (x, j)", "2x3x8"},
      {"o, k, a = com.microsoft.MultiHeadAttention <num_heads = 2> (x, z, z)", "2x2x3x4"},
      {past + "o, k, a = com.microsoft.MultiHeadAttention <num_heads = 2> (x, z, z, , , , u, u)",
       "2x2x8x4"},
      {past + "a = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 2> (x, z, z)",
       "2x3x8"},
      {"a = com.microsoft.GroupQueryAttention <num_heads = 2, kv_num_heads = 1> (x)", "2x3x4"},
      {"a = com.microsoft.FusedMatMul <transBatchA = 0, transA = 1, other = 1> (x, z)", "2x8x8"},
      {filter + R"(a = com.microsoft.FusedConv <activation = "Relu"> (x, f))", "2x4x6"},
      {R"(a = com.microsoft.FusedGemm <activation = "Relu", transB = 1> (w, w))", "4x4"},
      {"a = com.microsoft.RotaryEmbedding(x, p, w, w)", "2x3x8"},
      {"a = com.microsoft.MatMulNBits <K = 8, N = 5> (x, w, h)", "2x3x5"},
  };
  for (const TypedNode& row : rows) {
    SCOPED_TRACE(row.node);
    const ImportedModel model =
        import_nodes(15, weight + "p = Shape(x) " + row.node + " y = Relu(a)");
    EXPECT_EQ(model.untouched.size(), 1u);
    const ValueId y = model.graph.outputs()[0].value;
    EXPECT_TRUE(model.graph.op(model.graph.producer(y)).is("Relu"));
    EXPECT_EQ(to_string(model.graph.type(y).shape), row.shape);
    EXPECT_THAT(operators_of(written(model)), Contains(HasSubstr("com.microsoft::")));
  }
}

}  // namespace
}  // namespace reverie::testing
