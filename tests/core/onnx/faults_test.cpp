#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/symbols.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

/// Models on which this program, or ONNX's library, once crashed, hung or lost something.
namespace reverie::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Faults : public ::testing::Test {
 protected:
  ImportedModel import(const onnx::ModelProto& model) {
    write_message(model, path_);
    return import_onnx(path_, {.carried = ImportOptions::Carried::kAll});
  }

  /// Why the model is refused.
  std::string refusal(const onnx::ModelProto& model) {
    try {
      import(model);
    } catch (const InputError& error) {
      return error.what();
    }
    return "none";
  }

  TemporaryDirectory folder_;
  std::string path_ = folder_ / "model.onnx";
};

TEST_F(Faults, ShapeOfACustomOperatorIsCarriedThrough) {
  onnx::ModelProto model = parse(R"(
      <ir_version: 8, opset_import: ["" : 15, "com.x" : 1]>
      g (float[2] x) => (int64 y) { f = com.x.Foo(x)  y = Shape(f) })");
  model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  const ImportedModel imported = import(model);
  EXPECT_THAT(imported.warnings, ElementsAre(AllOf(HasSubstr("2 nodes"), HasSubstr("1 Shape"))));
  export_with_symbols(path_, imported, imported.graph, folder_ / "again.onnx");
  EXPECT_EQ(import_onnx(folder_ / "again.onnx").warnings, imported.warnings);
}

TEST_F(Faults, StridesOfZeroAreRefusedByName) {
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    onnx::ModelProto model = parse(R"(
        <ir_version: 8, opset_import: ["" : 13]>
        g (float[1, 1, 5, 5] x) => (float[1, 1, 5, 5] y)
        { y = MaxPool<kernel_shape = [2, 2], strides = [0, 0]>(x) })");
    model.mutable_graph()->mutable_node(0)->set_op_type(op);
    model.mutable_graph()->mutable_node(0)->set_name("the_pool");
    EXPECT_THAT(refusal(model), AllOf(HasSubstr("the_pool"), HasSubstr(op)));
  }
}

TEST_F(Faults, HugeBlocksAreRefusedByName) {
  onnx::ModelProto model = parse(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[1, 4, 2, 2] x) => (float[1, 1, 4, 4] y)
      { y = DepthToSpace<blocksize = 4294967296>(x) })");
  model.mutable_graph()->mutable_node(0)->set_name("blocks");
  EXPECT_THAT(refusal(model), AllOf(HasSubstr("blocks"), HasSubstr("DepthToSpace")));
}

onnx::FunctionProto* add_function(const std::string& name, onnx::ModelProto* model) {
  onnx::FunctionProto* function = model->add_functions();
  function->set_domain("my");
  function->set_name(name);
  function->add_input("a");
  function->add_output("b");
  for (const auto& import : model->opset_import()) *function->add_opset_import() = import;
  return function;
}

onnx::ModelProto calls_first_function() {
  return parse(R"(<ir_version: 8, opset_import: ["" : 15, "my" : 1]>
                  g (float[2, 3] x) => (float[2, 3] y) { y = my.F0(x) })");
}

void add_call(const std::string& op, const std::string& from, const std::string& to,
              onnx::FunctionProto* function) {
  onnx::NodeProto* node = function->add_node();
  node->set_op_type(op);
  if (op.starts_with('F')) node->set_domain("my");
  node->add_input(from);
  node->add_output(to);
}

TEST_F(Faults, FunctionsThatCallThemselvesAreRefused) {
  for (const std::string callee : {"F0", "F1"}) {
    onnx::ModelProto model = calls_first_function();
    add_call(callee, "a", "b", add_function("F0", &model));
    add_call("F0", "a", "b", add_function("F1", &model));
    EXPECT_THAT(refusal(model), AllOf(HasSubstr("'F0' calls itself"), HasSubstr("model.onnx")));
  }
}

TEST_F(Faults, FunctionsThatDoubleAreRefusedBeyondABound) {
  for (const int levels : {8, 39}) {
    onnx::ModelProto model = calls_first_function();
    for (int level = 0; level < levels; ++level) {
      onnx::FunctionProto* function = add_function(fmt::format("F{}", level), &model);
      const std::string op = level + 1 < levels ? fmt::format("F{}", level + 1) : "Relu";
      add_call(op, "a", "t", function);
      add_call(op, "t", "b", function);
    }
    EXPECT_THAT(refusal(model),
                HasSubstr(levels == 8 ? "none" : "when its functions are written out"));
  }
}

TEST_F(Faults, FunctionsThatCallOneAnotherTooDeepAreRefused) {
  onnx::ModelProto model = calls_first_function();
  constexpr int kLevels = 50'000;
  for (int level = 0; level < kLevels; ++level)
    add_call(level + 1 < kLevels ? fmt::format("F{}", level + 1) : "Relu", "a", "b",
             add_function(fmt::format("F{}", level), &model));
  EXPECT_THAT(refusal(model), HasSubstr("deep"));
}

TEST_F(Faults, ReshapeToAnotherNumberOfElementsIsRefused) {
  const onnx::ModelProto model = parse(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[2, 3] x) => (float[100000, 30000] y) <int64[2] s = {100000, 30000}>
      { y = Reshape(x, s) })");
  EXPECT_THAT(refusal(model), AllOf(HasSubstr("Reshape"), HasSubstr("6 elements do not make")));
}

TEST_F(Faults, AbsentInputsTakeNoAbsentOutputs) {
  onnx::ModelProto model = parse(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[1, 1, 5, 5] x, float[1, 1, 3, 3] w) => (float[1, 1, 2, 2] y)
      { c = Conv(x, w) y = MaxPool<kernel_shape = [2, 2]>(c) })");
  model.mutable_graph()->mutable_node(0)->add_input("");
  model.mutable_graph()->mutable_node(1)->add_output("");
  EXPECT_THAT(import(model).warnings, ::testing::IsEmpty());
  model.mutable_graph()->mutable_node(1)->set_op_type("Unknown");
  EXPECT_THAT(import(model).untouched, ::testing::SizeIs(1));
}

TEST_F(Faults, FlagsThatAreNeitherZeroNorOneAreCarriedThrough) {
  const ImportedModel imported = import(parse(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[3, 2, 2] x) => (float[1, 1, 1] y) { y = ReduceMax<keepdims = 16>(x) })"));
  EXPECT_THAT(imported.warnings, Contains(HasSubstr("1 ReduceMax")));
  export_onnx(imported.graph, imported.info, folder_ / "again.onnx");
}

/// x + a sparse [4, 5] with values and indices as given.
onnx::ModelProto with_sparse(const std::vector<int64_t>& indices, int64_t values) {
  onnx::ModelProto model = parse(R"(<ir_version: 8, opset_import: ["" : 13, "com.x" : 1]>
                                    g (float[4, 5] x) => (float[4, 5] y) { y = com.x.Foo(x, w) })");
  onnx::SparseTensorProto* tensor = model.mutable_graph()->add_sparse_initializer();
  tensor->add_dims(4);
  tensor->add_dims(5);
  tensor->mutable_values()->set_name("w");
  tensor->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  tensor->mutable_values()->add_dims(values);
  for (int64_t i = 0; i < values; ++i) tensor->mutable_values()->add_float_data(1);
  tensor->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  tensor->mutable_indices()->add_dims(values);
  for (const int64_t index : indices) tensor->mutable_indices()->add_int64_data(index);
  return model;
}

void keep_outside(const std::string& location, const std::string& bytes,
                  onnx::TensorProto* tensor) {
  tensor->clear_float_data();
  tensor->clear_int64_data();
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair<std::string, std::string>{"location", location},
                                   {"offset", "0"},
                                   {"length", std::to_string(bytes.size())}}) {
    auto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
}

TEST_F(Faults, SparseIndicesThatDoNotFitAreRefused) {
  EXPECT_EQ(refusal(with_sparse({3, 7, 19}, 3)), "none");
  EXPECT_THAT(refusal(with_sparse({3, 7, 20}, 3)), HasSubstr("out of range"));
  EXPECT_THAT(refusal(with_sparse({3, 7, -1}, 3)), HasSubstr("out of range"));
  EXPECT_THAT(refusal(with_sparse({3}, 3)), AllOf(HasSubstr("'w'"), HasSubstr("1 elements")));
  EXPECT_THAT(refusal(with_sparse({}, 3)), HasSubstr("'w'"));
  onnx::ModelProto model = with_sparse({3, 7, 19}, 3);
  auto* indices = model.mutable_graph()->mutable_sparse_initializer(0)->mutable_indices();
  indices->clear_dims();
  EXPECT_THAT(refusal(model), HasSubstr("'w'"));
  indices->add_dims(3);
  indices->add_dims(7);
  EXPECT_THAT(refusal(model), HasSubstr("'w'"));
  model.mutable_graph()->mutable_sparse_initializer(0)->clear_indices();
  EXPECT_THAT(refusal(model), HasSubstr("'w'"));
}

TEST_F(Faults, SparseDataInFilesAreEmbedded) {
  std::ofstream(folder_ / "w.bin", std::ios::binary) << std::string(24, '\0');
  onnx::ModelProto model = with_sparse({3, 7, 19}, 3);
  const std::vector<int64_t> places = {1, 2, 3};
  std::ofstream(folder_ / "indices.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(places.data()), 24);
  auto* tensor = model.mutable_graph()->mutable_sparse_initializer(0);
  keep_outside("w.bin", std::string(12, '\0'), tensor->mutable_values());
  keep_outside("indices.bin", std::string(24, '\0'), tensor->mutable_indices());
  const ImportedModel imported = import(model);
  const TemporaryDirectory elsewhere;
  export_onnx(imported.graph, imported.info, elsewhere / "result.onnx");
  EXPECT_EQ(import_onnx(elsewhere / "result.onnx").graph.nodes().size(),
            imported.graph.nodes().size());
}

TEST_F(Faults, SparseDataOutsideOfTheFolderAreRefused) {
  for (const bool values : {true, false}) {
    onnx::ModelProto model = with_sparse({3, 7, 19}, 3);
    auto* tensor = model.mutable_graph()->mutable_sparse_initializer(0);
    keep_outside("../w.bin", std::string(values ? 12 : 24, '\0'),
                 values ? tensor->mutable_values() : tensor->mutable_indices());
    EXPECT_THAT(refusal(model), HasSubstr("outside the model's folder"));
  }
}

TEST_F(Faults, InputsThatLoseTheirDefaultAreNamed) {
  onnx::ModelProto model = parse(R"(
      <ir_version: 8, opset_import: ["" : 13]>
      g (float[2] x, float[2] bias) => (float[2] y) { y = Add(x, bias) })");
  auto* initializer = model.mutable_graph()->add_initializer();
  initializer->set_name("bias");
  initializer->set_data_type(onnx::TensorProto::FLOAT);
  initializer->add_dims(2);
  for (const float value : {1.0f, 2.0f}) initializer->add_float_data(value);
  EXPECT_THAT(import(model).warnings,
              ElementsAre(AllOf(HasSubstr("default value"), HasSubstr("'bias'"))));
  constexpr int kEveryInitializerIsAnInput = 3;
  model.set_ir_version(kEveryInitializerIsAnInput);
  EXPECT_THAT(import(model).warnings, ElementsAre());
}

/// Files of ../shared/faults that ONNX Runtime reads, where that folder is there.
class FaultFiles : public Faults, public ::testing::WithParamInterface<const char*> {};

TEST_P(FaultFiles, AreReadAndWritten) {
  const std::filesystem::path file = std::filesystem::path(REVERIE_SOURCE_DIR) /
                                     "../shared/faults" / (std::string(GetParam()) + ".onnx");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  const ImportedModel model = import_onnx(file);
  const std::string copy = folder_ / "copy.onnx";
  export_with_symbols(file, model, model.graph, copy);
  const ImportedModel again = import_onnx(copy);
  EXPECT_EQ(again.untouched.size(), model.untouched.size());
  EXPECT_EQ(again.graph.inputs().size(), model.graph.inputs().size());
  EXPECT_EQ(again.graph.outputs().size(), model.graph.outputs().size());
}

INSTANTIATE_TEST_SUITE_P(
    All, FaultFiles,
    ::testing::Values("not_sorted", "not_sorted_constant", "domain_not_imported",
                      "ir3_initializer_not_input", "graph_without_name", "output_without_type",
                      "value_info_without_type", "only_ml_opset1", "two_opsets_of_one_domain",
                      "label_encoder_ml4", "simplified_layer_normalization",
                      "layer_normalization_opset12", "if_returns_sequence",
                      "if_returns_sequence_13", "zipmap_behind_conv", "rank9_symbolic",
                      "symbolic_reshape_conflict", "symbolic_add_conflict",
                      "symbolic_scale_conflict", "denotation_lost", "duplicate_output_of_graph"),
    [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace reverie::testing
