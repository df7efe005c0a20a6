#include "core/onnx/symbols.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include <numeric>

#include "core/base/files.h"
#include "core/base/random.h"
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
    return import_carried(shapes);
  }
  ImportedModel import_carried(const std::vector<std::string>& shapes) {
    return import_onnx(original_, {.shapes = shapes, .carried = ImportOptions::Carried::kAll});
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

/// As after rewrites that leave no node as it was: nothing tells how the file computes its shapes.
Graph without_names(Graph graph) {
  for (const NodeId node : graph.nodes()) graph.set_names(node, nullptr);
  return graph;
}

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
  EXPECT_THAT(export_with_symbols(original_, model, model.graph, written_), IsEmpty());
  EXPECT_THAT(dimensions(written().graph().input(0)), ElementsAre("batch", "6", "4"));
  EXPECT_THAT(dimensions(written().graph().output(0)), ElementsAre("batch", "3", "8"));
  EXPECT_THAT(dimensions(written().graph().output(1)), ElementsAre("rows", "4"));
  const Graph larger = import_onnx(written_, {{"x=7,6,4"}}).graph;
  EXPECT_TRUE(compare(import_onnx(original_, {{"x=7,6,4"}}).graph, larger).agree);
}

/// As exporters write an interpolation to a fixed size: the other extents are those of the input.
TEST_F(Symbols, StayThroughAResizeToSizes) {
  const ImportedModel model = import_model(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[batch,3,4,4] x) => (float[batch,3,8,6] y)
      <int64[1] nought = {0}, int64[1] two = {2}, int64[2] extents = {8, 6}>
      {
        s = Shape(x)
        first = Slice(s, nought, two, nought)
        sizes = Concat <axis = 0> (first, extents)
        y = Resize <mode = "linear"> (x, , , sizes)
      })",
                                           {"x=2,3,4,4"});
  EXPECT_THAT(model.warnings, IsEmpty());
  EXPECT_THAT(export_with_symbols(original_, model, model.graph, written_), IsEmpty());
  EXPECT_THAT(dimensions(written().graph().output(0)), ElementsAre("batch", "3", "8", "6"));
}

/// An operator of which nothing is known, whose output only the file's own declares; the graph has
/// the Identity no more.
TEST_F(Symbols, StayWhereAnIdentityNamesWhatIsCarriedThrough) {
  const ImportedModel model = import_model(R"(
      <ir_version: 8, opset_import: ["" : 13, "other" : 1]>
      g (float[n,4] x) => (float[1,4] y)
      {
        axes = Constant <value = int64[1] {0}> ()
        s = ReduceSum <keepdims = 1> (x, axes)
        u = other.Squash(s)
        v = Identity(u)
        y = Identity(v)
      })",
                                           {"x=6,4"});
  EXPECT_THAT(model.untouched, ::testing::SizeIs(1));
  EXPECT_THAT(export_with_symbols(original_, model, model.graph, written_), IsEmpty());
  EXPECT_THAT(dimensions(written().graph().input(0)), ElementsAre("n", "4"));
  EXPECT_THAT(dimensions(written().graph().output(0)), ElementsAre("1", "4"));
}

TEST_F(Symbols, ThatHaveToBeEqualAreSampledTogether) {
  const ImportedModel model = import_model(R"(<ir_version: 8, opset_import: ["" : 13]>
      g (float[b,4] x, float[s,4] z) => (float[s,4] y) { y = Add(x, z) })",
                                           {"x=1,4", "z=128,4"});
  for (const NodeId input : model.graph.inputs())
    EXPECT_TRUE(model.graph.type(model.graph.output(input)).varies());
}

/// Rounding up or down is the same for even extents, at some of which it is tried.
TEST_F(Symbols, AreReplacedWhereOneOfTheOtherExtentsDiffers) {
  const std::string pool = R"(<ir_version: 8, opset_import: ["" : 13]>
      g (float[1,1,n,4] x) => (float[1,1,m,2] y)
      { y = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = )";
  const ImportedModel up = import_model(pool + "1> (x) }", {"x=1,1,8,4"});
  const Graph rounds_up = up.graph.sample(0);
  const ImportedModel model = import_model(pool + "0> (x) }", {"x=1,1,8,4"});
  EXPECT_TRUE(compare(model.graph.sample(0), rounds_up).agree);
  const TriedGraph tried = try_symbols(original_, model, rounds_up);
  EXPECT_THAT(tried.lost, ElementsAre("n"));
  EXPECT_THAT(tried.untried, IsEmpty()) << "it was seen to differ";
}

TEST_F(Symbols, AreComparedInShapeAloneOnceTimeIsOver) {
  const ImportedModel model = import_model(kDynamic, {"x=2,6,4"});
  const TriedGraph all = try_symbols(original_, model, model.graph);
  EXPECT_THAT(all.kept, ElementsAre("batch"));
  EXPECT_TRUE(all.is_as_imported);
  EXPECT_EQ(all.left_out, "");
  const TriedGraph hurried = try_symbols(original_, model, model.graph, {.seconds = 1e-9});
  EXPECT_THAT(hurried.kept, ElementsAre("batch"));
  EXPECT_THAT(hurried.left_out, ::testing::HasSubstr("of which shapes agree"));
}

/// What was tried for one graph holds for another that differs in notes, and for no other.
TEST_F(Symbols, HoldForTheSameGraphWithOtherNotes) {
  const ImportedModel model = import_model(kDynamic, {"x=2,6,4"});
  const TriedGraph tried = try_symbols(original_, model, model.graph);
  const auto tells = [](const Graph& graph) {
    return std::ranges::any_of(graph.nodes(), [&](NodeId node) {
      return graph.names(node) != nullptr && !graph.names(node)->notes.empty();
    });
  };
  Graph same = model.graph;
  for (const NodeId node : same.nodes()) {
    if (!same.is_work(node)) continue;
    NodeNames names = *same.names(node);
    names.notes = {{"k", "v"}};
    same.set_names(node, std::make_shared<const NodeNames>(std::move(names)));
  }
  EXPECT_TRUE(tells(tried_as(tried, model, same).graph));
  Graph other = same;
  other.add_output("more", other.outputs()[0].value);
  EXPECT_FALSE(tells(tried_as(tried, model, other).graph));
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
      })",
                                           {"x=1,4"});
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {1, 4}});
  graph.add_output("y", graph.add("Relu", {x}));
  EXPECT_TRUE(compare(model.graph, graph).agree);
  EXPECT_THAT(export_with_symbols(original_, model, graph, written_), ElementsAre("batch"));
  EXPECT_THAT(try_symbols(original_, model, graph, {.seconds = 1e-9}).lost, ElementsAre("batch"));
  EXPECT_THAT(dimensions(written().graph().input(0)), ElementsAre("1", "n"));
  EXPECT_THAT(dimensions(written().graph().output(0)), ElementsAre("1", "n"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 2);
}

/// Four rows at every extent, so that its neighbours cannot be tried, and a start of half the
/// extent.
constexpr const char* kSecondHalf = R"(
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[n] x) => (float[4,k] y, float[m] z)
    {
      rows = Constant <value = int64[2] {4, -1}> ()
      y = Reshape(x, rows)
      s = Shape(x)
      two = Constant <value = int64[1] {2}> ()
      end = Constant <value = int64[1] {1000}> ()
      half = Div(s, two)
      z = Slice(x, half, end)
    })";

TEST_F(Symbols, AreTriedWhereTheModelItselfCanBeRun) {
  const ImportedModel model = import_model(kSecondHalf, {"x=8"});
  EXPECT_THAT(export_with_symbols(original_, model, without_names(model.graph), written_),
              IsEmpty());
  EXPECT_THAT(export_with_symbols(original_, model, model.graph, written_), IsEmpty());
  const ImportedModel rows = import_model(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[n] x) => (float[k,4] y)
      {
        rows = Constant <value = int64[2] {-1, 4}> ()
        y = Reshape(x, rows)
      })",
                                          {"x=8"});
  EXPECT_THAT(export_with_symbols(original_, rows, rows.graph, written_), IsEmpty());
}

/// 32 positions have codes, and so many are bound.
TEST_F(Symbols, AreTriedBelowTheBoundExtent) {
  const ImportedModel model = import_model(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[n,2] x) => (float[n,2] y)
      {
        zero = Constant <value = int64[1] {0}> ()
        one = Constant <value = int64[1] {1}> ()
        wide = Constant <value = int64[2] {32, 2}> ()
        codes = ConstantOfShape <value = float[1] {0.5}> (wide)
        s = Shape(x)
        rows = Slice(s, zero, one)
        part = Slice(codes, zero, rows)
        y = Add(x, part)
      })",
                                           {"x=32,2"});
  EXPECT_THAT(export_with_symbols(original_, model, without_names(model.graph), written_),
              ElementsAre("n"));
  EXPECT_THAT(export_with_symbols(original_, model, model.graph, written_), IsEmpty());
}

/// Neither can have another extent than the other.
TEST_F(Symbols, OfOneExtentAreTriedTogether) {
  const ImportedModel model = import_model(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[m] a, float[n] b) => (float[k] y) { y = Add(a, b) })",
                                           {"a=4", "b=4"});
  EXPECT_THAT(export_with_symbols(original_, model, model.graph, written_), IsEmpty());
}

/// One row is broadcast to those of the other input, but cannot stand beside them.
TEST_F(Symbols, AreTriedAtAnExtentOfOne) {
  const ImportedModel model = import_model(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[m,3] a, float[n,2] b) => (float[k,2] y)
      {
        v = Constant <value = float[3,2] {1,2,3,4,5,6}> ()
        w = Constant <value = float[2,2] {7,8,9,10}> ()
        p = MatMul(a, v)
        q = MatMul(b, w)
        y = Add(p, q)
      })",
                                           {"a=4,3", "b=4,2"});
  Graph graph;
  const ValueId a = graph.add_input("a", {DType::kFloat32, {4, 3}});
  const ValueId b = graph.add_input("b", {DType::kFloat32, {4, 2}});
  const ValueId both = graph.add("Concat", {a, b}, {{"axis", int64_t{1}}});
  const Tensor weights = Tensor::of<float>({5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  graph.add_output("y", graph.add("MatMul", {both, graph.add_constant(Weight::dense(weights))}));
  EXPECT_TRUE(compare(model.graph, graph).agree);
  EXPECT_THAT(export_with_symbols(original_, model, graph, written_), ElementsAre("m", "n"));
  EXPECT_THAT(export_with_symbols(original_, model, model.graph, written_), IsEmpty());
}

/// The shape that is asked for has the first two extents in the other order.
TEST_F(Symbols, WithoutANameHaveNothingToDoWithEachOther) {
  const ImportedModel model = import_model(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[?,?,4] x) => (float[?,?,4] y)
      {
        s = Shape(x)
        order = Constant <value = int64[3] {1, 0, 2}> ()
        swapped = Gather(s, order)
        y = Reshape(x, swapped)
      })",
                                           {"x=2,2,4"});
  EXPECT_THAT(symbols_of(model), ElementsAre("x[0]", "x[1]"));
  EXPECT_THAT(export_with_symbols(original_, model, model.graph.sample(0), written_),
              ElementsAre("x[0]", "x[1]"));
  EXPECT_THAT(dimensions(written().graph().input(0)), ElementsAre("2", "2", "4"));
  EXPECT_THAT(dimensions(written().graph().output(0)), ElementsAre("2", "2", "4"));
  EXPECT_THAT(export_with_symbols(original_, model, without_names(model.graph), written_),
              IsEmpty());
  EXPECT_THAT(export_with_symbols(original_, model, model.graph, written_), IsEmpty());
}

TEST_F(Symbols, WithoutANameStayOneByOne) {
  const ImportedModel model = import_model(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[?,?] x) => (float[1,?] y)
      {
        axes = Constant <value = int64[1] {0}> ()
        y = ReduceSum <keepdims = 1> (x, axes)
      })",
                                           {"x=1,4"});
  Graph graph;
  graph.add_output("y", graph.add("Identity", {graph.add_input("x", {DType::kFloat32, {1, 4}})}));
  EXPECT_THAT(export_with_symbols(original_, model, graph, written_), ElementsAre("x[0]"));
  EXPECT_THAT(dimensions(written().graph().input(0)), ElementsAre("1", ""));
  EXPECT_THAT(dimensions(written().graph().output(0)), ElementsAre("1", ""));
}

/// Two inputs, neither of whose extents can be another than that of the other.
constexpr const char* kTwins = R"(
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[?,?] ids, float[?,?] mask) => (float[?,?] wide, float[?,?] tall)
    {
      wide = Concat <axis = 1> (ids, mask)
      one = Constant <value = int64[1] {1}> ()
      s = Shape(ids)
      columns = Gather(s, one)
      factor = Cast <to = 1> (columns)
      both = Concat <axis = 0> (ids, mask)
      tall = SCALED
    })";

class SymbolicTwins : public Symbols {
 protected:
  ImportedModel import_twins(const std::string& tall) {
    std::string text = kTwins;
    return import_model(text.replace(text.find("SCALED"), 6, tall), {"ids=2,3", "mask=2,3"});
  }
};

TEST_F(SymbolicTwins, WithoutANameStayTogether) {
  const ImportedModel model = import_twins("Relu(both)");
  EXPECT_THAT(export_with_symbols(original_, model, model.graph, written_), IsEmpty());
  const onnx::ModelProto file = written();
  for (const auto& input : file.graph().input())
    EXPECT_THAT(dimensions(input), ElementsAre("", ""));
}

/// The original multiplies by its number of columns.
TEST_F(SymbolicTwins, StayWhereOtherTwinsDoNot) {
  const ImportedModel model = import_twins("Mul(both, factor)");
  EXPECT_THAT(export_with_symbols(original_, model, without_names(model.graph), written_),
              ElementsAre("ids[1]", "mask[1]"));
  const onnx::ModelProto file = written();
  for (const auto& input : file.graph().input())
    EXPECT_THAT(dimensions(input), ElementsAre("", "3"));
}

TEST_F(Symbols, OfInputsNeedNoShapeOfOutputs) {
  onnx::ModelProto proto;
  ASSERT_TRUE(onnx::OnnxParser::Parse(proto, kDynamic).IsOK());
  for (auto& output : *proto.mutable_graph()->mutable_output())
    output.mutable_type()->mutable_tensor_type()->clear_shape();
  testing::write_message(proto, original_);
  const ImportedModel model = import_carried({"x=2,6,4"});
  EXPECT_THAT(export_with_symbols(original_, model, model.graph, written_), IsEmpty());
  const onnx::ModelProto file = written();
  EXPECT_THAT(dimensions(file.graph().input(0)), ElementsAre("batch", "6", "4"));
  const auto& type = file.graph().output(0).type().tensor_type();
  EXPECT_EQ(type.elem_type(), onnx::TensorProto::FLOAT);
  EXPECT_FALSE(type.has_shape());
}

TEST_F(Symbols, AreTriedInAFileOfTheirOwn) {
  const std::string beside = written_.string() + ".symbolic";
  std::ofstream(beside) << "a person's";
  std::ofstream(beside + ".data") << "a person's";
  const ImportedModel model = import_model(kDynamic, {"x=2,6,4"});
  EXPECT_THAT(export_with_symbols(original_, model, model.graph, written_), IsEmpty());
  EXPECT_EQ(read_file(beside), "a person's");
  EXPECT_EQ(read_file(beside + ".data"), "a person's");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 4);
}

TEST_F(Symbols, AreNoneWhereAllExtentsAreNumbers) {
  const ImportedModel model = import_model(
      "<ir_version: 8, opset_import: [\"\" : 13]> g (float[2] x) => (float[2] y) { y = Relu(x) }",
      {});
  EXPECT_THAT(symbols_of(model), IsEmpty());
  EXPECT_THAT(export_with_symbols(original_, model, model.graph, written_), IsEmpty());
}

/// What a rewrite makes of constants holds for other extents as much as the original does.
class RewrittenConstants : public Symbols {
 protected:
  /// `body` in terms of the input x, with the weight w [16, 16] of random numbers.
  ImportedModel import_body(const std::string& body) {
    onnx::ModelProto model;
    const std::string text = R"(<ir_version: 8, opset_import: ["" : 13]>
        g (float[batch,16] x) => (float[batch,n] y) {)" +
                             body + "}";
    const auto status = onnx::OnnxParser::Parse(model, text.c_str());
    EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
    Tensor numbers({DType::kFloat32, {16, 16}});
    Rng rng(1);
    for (float& number : numbers.data<float>()) number = static_cast<float>(rng.normal());
    proto::write_tensor(numbers, "w", model.mutable_graph()->add_initializer());
    testing::write_message(model, original_);
    return import_carried({"x=2,16"});
  }
  static WeightPtr weight_named(const Graph& graph, const std::string& name) {
    for (const NodeId node : graph.nodes())
      if (graph.weight(node) != nullptr && graph.weight(node)->name() == name)
        return graph.weight(node);
    return nullptr;
  }
  std::set<std::string> replaced(const ImportedModel& model) {
    EXPECT_TRUE(compare(model.graph, graph_).agree);
    return export_with_symbols(original_, model, graph_, written_);
  }

  Graph graph_;
  ValueId x_ = graph_.add_input("x", {DType::kFloat32, {2, 16}});
};

TEST_F(RewrittenConstants, FoldedWeightsHoldForOtherExtents) {
  const ImportedModel model = import_body("h = MatMul(x, w) y = Add(h, h)");
  const ValueId w = graph_.add_constant(weight_named(model.graph, "w"));
  graph_.add_output("y", graph_.add("MatMul", {x_, graph_.add("Add", {w, w})}));
  EXPECT_THAT(replaced(model), IsEmpty());
}

/// A table that the model computes from extents that have no symbol is known by its value, also in
/// the file that is tried.
TEST_F(RewrittenConstants, KnownTablesHoldForOtherExtents) {
  const ImportedModel model = import_body(R"(
      s = Shape(x) one = Constant <value = int64[1] {1}> () n = Gather(s, one)
      square = Concat <axis = 0> (n, n)
      ones = ConstantOfShape <value = float[1] {1}> (square)
      axis = Constant <value = int64 {1}> ()
      table = CumSum(ones, axis)
      h = MatMul(x, table) y = Add(h, h))");
  const WeightPtr table = weight_named(model.graph, "table");
  ASSERT_NE(table, nullptr);
  EXPECT_TRUE(table->is_small());
  const ValueId t = graph_.add_constant(table);
  Tensor twos({DType::kFloat32, {16, 16}});
  for (size_t i = 0; i < 256; ++i) twos.data<float>()[i] = static_cast<float>(2 * (i % 16 + 1));
  const ValueId same = graph_.add("MatMul", {x_, graph_.add_constant(Weight::known(twos, "twos"))});
  const ValueId both =
      graph_.add("Sub", {graph_.add("MatMul", {x_, graph_.add("Add", {t, t})}), same});
  graph_.add_output("y", graph_.add("Add", {both, same}));
  EXPECT_THAT(replaced(model), IsEmpty());
}

TEST_F(RewrittenConstants, FoldedFillsHoldForOtherExtents) {
  const ImportedModel model = import_body(R"(
      extents = Constant <value = int64[2] {16, 16}> ()
      v = ConstantOfShape <value = float[1] {0.5}> (extents)
      a = MatMul(x, v) b = MatMul(x, w) y = Concat <axis = 1> (a, b))");
  const ValueId v = graph_.add_constant(weight_named(model.graph, "v"));
  const ValueId w = graph_.add_constant(weight_named(model.graph, "w"));
  const ValueId both = graph_.add("Concat", {v, w}, {{"axis", int64_t{1}}});
  graph_.add_output("y", graph_.add("MatMul", {x_, both}));
  EXPECT_THAT(replaced(model), IsEmpty());
}

TEST_F(RewrittenConstants, LargeFormulasHoldForOtherExtents) {
  const ImportedModel model =
      import_body("a = MatMul(x, w) b = Relu(x) y = Concat <axis = 1> (a, b)");
  const TensorType type{DType::kFloat32, {16, 16}};
  const ValueId w = graph_.add_constant(weight_named(model.graph, "w"));
  const ValueId same = graph_.add(
      "MatMul", {graph_.add("Relu", {x_}), graph_.add_constant(Weight::identity_kernel(type))});
  const ValueId ones = graph_.add_constant(Weight::constant(type, 1));
  const ValueId product = graph_.add("MatMul", {x_, graph_.add("Mul", {w, ones})});
  graph_.add_output("y", graph_.add("Concat", {product, same}, {{"axis", int64_t{1}}}));
  EXPECT_THAT(replaced(model), IsEmpty());
}

TEST_F(RewrittenConstants, LargeOnesMadeFromSmallOnesHoldForOtherExtents) {
  const ImportedModel model = import_body(R"(
      c = Constant <value = float[16] {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}> ()
      wide = Concat <axis = 1> (x, x, x, x, x, x, x, x)
      all = Concat <axis = 0> (c, c, c, c, c, c, c, c)
      y = Mul(wide, all))");
  Tensor numbers({DType::kFloat32, {16}});
  std::iota(numbers.data<float>().begin(), numbers.data<float>().end(), 1.0F);
  const ValueId part = graph_.add("Mul", {x_, graph_.add_constant(Weight::dense(numbers))});
  graph_.add_output("y", graph_.add("Tile", {part}, {{"repeats", std::vector<int64_t>{1, 8}}}));
  EXPECT_THAT(replaced(model), IsEmpty());
}

/// The original multiplies by its number of rows.
TEST_F(RewrittenConstants, AFormulaOfTheBoundExtentDoesNotHoldForOthers) {
  const ImportedModel model = import_body(R"(
      s = Shape(x) zero = Constant <value = int64[1] {0}> () rows = Gather(s, zero)
      factor = Cast <to = 1> (rows)
      wide = Concat <axis = 1> (x, x, x, x, x, x, x, x)
      y = Mul(wide, factor))");
  const ValueId wide = graph_.add("Tile", {x_}, {{"repeats", std::vector<int64_t>{1, 8}}});
  const ValueId twos = graph_.add_constant(Weight::constant({DType::kFloat32, {128}}, 2));
  graph_.add_output("y", graph_.add("Mul", {wide, twos}));
  EXPECT_THAT(replaced(model), ElementsAre("batch"));
}

TEST_F(RewrittenConstants, AConstantWithTheBoundExtentDoesNotHoldForOthers) {
  const ImportedModel model = import_body(
      "c = Constant <value = float {0.5}> () h = Relu(x) z = Mul(h, c) y = MatMul(z, w)");
  const ValueId halves = graph_.add_constant(Weight::constant({DType::kFloat32, {2, 16}}, 0.5));
  const ValueId half = graph_.add("Mul", {graph_.add("Relu", {x_}), halves});
  graph_.add_output(
      "y", graph_.add("MatMul", {half, graph_.add_constant(weight_named(model.graph, "w"))}));
  EXPECT_THAT(replaced(model), ElementsAre("batch"));
}

TEST_F(Symbols, ANegativeExtentIsOneWithoutAName) {
  onnx::ModelProto model = testing::parse(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[N, 3] x) => (float[N, 3] y) { y = Relu(x) })");
  for (auto* value :
       {model.mutable_graph()->mutable_input(0), model.mutable_graph()->mutable_output(0)})
    value->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(
        -1);
  testing::write_message(model, original_);
  EXPECT_THAT(
      import_onnx(original_).warnings,
      ElementsAre(::testing::HasSubstr("x[0]=1; give others with --dim x[0]=1, or --shape x=1,3")));
  const Graph graph = import_onnx(original_, {{"x=2,3"}}).graph;
  EXPECT_EQ(graph.type(graph.outputs()[0].value).shape, (Shape{2, 3}));
}

/// Decoders with a cache: the extent of a mask is the sum of two others, and can be broadcast.
TEST_F(Symbols, OneThatIsTheSumOfTwoOthersStays) {
  const ImportedModel model = import_model(R"(
      <ir_version: 8, opset_import: ["" : 14]>
      g (float[now,8] x, float[past,8] cache, float[total] mask) => (float[now,total] y)
      {
        k = Concat <axis = 0> (cache, x)
        t = Transpose <perm = [1, 0]> (k)
        scores = MatMul(x, t)
        s = Shape(k)
        first = Constant <value = int64[1] {0}> ()
        zero = Constant <value = float {0.}> ()
        one = Constant <value = float {1.}> ()
        many = Constant <value = float {64.}> ()
        end = Gather(s, first)
        places = Range(zero, many, one)
        bias = Slice(places, first, end, first)
        biased = Add(scores, bias)
        y = Add(biased, mask)
      })",
                                           {"x=4,8", "cache=12,8", "mask=16"});
  EXPECT_THAT(export_with_symbols(original_, model, model.graph, written_), IsEmpty());
  EXPECT_THAT(dimensions(written().graph().input(2)), ElementsAre("total"));
}

}  // namespace
}  // namespace reverie
