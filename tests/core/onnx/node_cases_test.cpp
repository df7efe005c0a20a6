#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>
#include <set>

#include "core/exec/reference/reference.h"
#include "core/onnx/import.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

namespace fs = std::filesystem;
using testing::read_message;
using testing::tensor_of;

/// One case of the ONNX project: a model with inputs and expected outputs.
struct Case {
  fs::path folder;
  onnx::ModelProto model;
  std::vector<onnx::TensorProto> inputs;
  std::vector<onnx::TensorProto> outputs;

  explicit Case(const fs::path& path) : folder(path) {
    model = read_message<onnx::ModelProto>(path / "model.onnx");
    inputs = tensors("input");
    outputs = tensors("output");
    declare(model.graph().input(), &inputs);
    declare(model.graph().output(), &outputs);
  }

  /// The files hold bfloat16 as uint16.
  template <typename Values>
  static void declare(const Values& values, std::vector<onnx::TensorProto>* tensors) {
    for (size_t i = 0; i < tensors->size() && static_cast<int>(i) < values.size(); ++i)
      if (values.Get(static_cast<int>(i)).type().tensor_type().elem_type() ==
          onnx::TensorProto::BFLOAT16)
        (*tensors)[i].set_data_type(onnx::TensorProto::BFLOAT16);
  }

  std::vector<onnx::TensorProto> tensors(const std::string& stem) const {
    std::vector<onnx::TensorProto> result;
    for (int i = 0;; ++i) {
      const fs::path file = folder / "test_data_set_0" / (stem + "_" + std::to_string(i) + ".pb");
      if (!fs::exists(file)) return result;
      result.push_back(read_message<onnx::TensorProto>(file));
    }
  }
};

/// Index of the first input that the table has as an attribute; -1 where all are values.
int first_shaping_input(const std::string& op) {
  static const std::set<std::string> from_first = {"ConstantOfShape", "Range", "NonZero"};
  static const std::set<std::string> from_second = {
      "Reshape", "Expand", "Slice",     "Pad",  "Clip",      "Split",
      "Squeeze", "Tile",   "Unsqueeze", "ReduceSum", "Dropout",   "Resize",
      "Upsample", "TopK",  "CumSum",    "Trilu",     "OneHot",    "Compress"};
  if (from_first.contains(op)) return 0;
  return from_second.contains(op) ? 1 : -1;
}

/// Makes inputs that shape the result constants, as they are in deployed models.
void bake_shaping_inputs(Case* test) {
  std::set<std::string> baked;
  for (const auto& node : test->model.graph().node()) {
    const int first = first_shaping_input(node.op_type());
    for (int i = first; first >= 0 && i < node.input_size(); ++i) baked.insert(node.input(i));
  }
  std::vector<onnx::TensorProto> kept;
  for (int i = 0; i < test->model.graph().input_size(); ++i) {
    const std::string& name = test->model.graph().input(i).name();
    onnx::TensorProto tensor = test->inputs.at(static_cast<size_t>(i));
    tensor.set_name(name);
    if (baked.contains(name)) *test->model.mutable_graph()->add_initializer() = tensor;
    else kept.push_back(tensor);
  }
  test->inputs = kept;
}

/// Operators that opset 7 took over from older ones; and of LayerNormalization the one output that
/// the table knows.
void adapt(Case* test) {
  for (auto& import : *test->model.mutable_opset_import())
    if (import.version() < kOldestOpset) import.set_version(kOldestOpset);
  auto* graph = test->model.mutable_graph();
  if (graph->node(0).op_type() != "LayerNormalization") return;
  graph->mutable_node(0)->mutable_output()->DeleteSubrange(1, graph->node(0).output_size() - 1);
  graph->mutable_output()->DeleteSubrange(1, graph->output_size() - 1);
  test->outputs.resize(1);
}

/// Empty when result and expectation agree.
std::string difference(const Tensor& result, const Tensor& expected) {
  if (result.type() != expected.type())
    return to_string(result.type()) + " instead of " + to_string(expected.type());
  const std::vector<double> a = result.to_doubles();
  const std::vector<double> b = expected.to_doubles();
  const bool single = result.type().dtype == DType::kFloat32 || result.type().dtype == DType::kFloat64;
  const double tolerance = !is_floating(result.type().dtype) ? 0 : single ? 1e-5 : 1e-2;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    if (!(std::abs(a[i] - b[i]) <= tolerance * (1 + std::abs(b[i]))))
      return fmt::format("element {}: {} instead of {}", i, a[i], b[i]);
  }
  return "";
}

/// Operators that the importer expresses by others or by what is known of types.
bool is_expressed(const std::string& op) {
  static const std::set<std::string> known = {"Sum",      "Mean",    "Size",    "CastLike",
                                              "Compress", "EyeLike", "Scatter", "Upsample"};
  return known.contains(op);
}

enum class Verdict { kPassed, kSkipped, kFailed };
struct Result {
  Verdict verdict;
  std::string reason;
};

bool has_only_tensors(const Case& test) {
  const auto tensor = [](const auto& value) { return value.type().has_tensor_type(); };
  const auto& graph = test.model.graph();
  return std::all_of(graph.input().begin(), graph.input().end(), tensor) &&
         std::all_of(graph.output().begin(), graph.output().end(), tensor);
}

Result run(Case test, const fs::path& scratch) {
  const std::string op = test.model.graph().node(0).op_type();
  bake_shaping_inputs(&test);
  testing::write_message(test.model, scratch);
  const ImportedModel model = import_onnx(scratch);
  if (!model.warnings.empty()) return {Verdict::kSkipped, model.warnings[0]};
  std::vector<Tensor> inputs;
  for (const auto& input : test.inputs) inputs.push_back(tensor_of(input));
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].type() != model.graph.type(model.graph.output(model.graph.inputs()[i])))
      return {Verdict::kSkipped, "its data do not have the types that it declares"};
  const std::vector<Tensor> outputs = ReferenceExecutor().run(model.graph, inputs);
  if (outputs.size() != test.outputs.size()) return {Verdict::kFailed, "number of outputs"};
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string reason = difference(outputs[i], tensor_of(test.outputs[i]));
    if (!reason.empty()) return {Verdict::kFailed, reason};
  }
  return {Verdict::kPassed, ""};
}

std::vector<fs::path> case_folders(const std::string& collection) {
  std::vector<fs::path> folders;
  const fs::path root = fs::path(REVERIE_ONNX_TESTDATA) / "data" / collection;
  if (!fs::exists(root)) return folders;
  for (const auto& entry : fs::directory_iterator(root))
    if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

TEST(OnnxNodeCases, AgreeForEveryOperatorOfTheTable) {
  const auto folders = case_folders("node");
  if (folders.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  const TemporaryDirectory scratch;
  std::map<std::string, int> passed;
  std::map<std::string, int> skipped;
  int total = 0;
  for (const fs::path& folder : folders) {
    onnx::ModelProto model = read_message<onnx::ModelProto>(folder / "model.onnx");
    const std::string op = model.graph().node(0).op_type();
    if (model.graph().node_size() != 1 || (find_op(op) == nullptr && !is_expressed(op))) continue;
    const std::string name = folder.filename();
    Case test(folder);
    Result result;
    adapt(&test);
    if (!has_only_tensors(test)) result = {Verdict::kSkipped, "no tensors"};
    else result = run(std::move(test), scratch / "model.onnx");
    EXPECT_NE(result.verdict, Verdict::kFailed) << name << ": " << result.reason;
    if (result.verdict == Verdict::kPassed) ++passed[op], ++total;
    if (result.verdict == Verdict::kSkipped) ++skipped[op + ": " + result.reason];
  }
  for (const auto& [reason, count] : skipped) std::cout << count << " skipped: " << reason << "\n";
  std::cout << total << " cases passed\n";
  EXPECT_GE(total, 415);
  const std::set<std::string> without = {"Input",  "Constant",     "Opaque",
                                         "LpPool", "GlobalLpPool", "LpNormalization"};
  for (const OpSchema& row : all_ops()) {
    if (without.contains(row.name)) continue;
    EXPECT_GT(passed[row.name], 0) << row.name;
  }
}

/// PyTorch's exports of opset 6, whose nodes mean the same at opset 7 where the checker takes them.
TEST(OnnxPytorchCases, AgreeWhereTheTableKnowsTheOperators) {
  const auto folders = case_folders("pytorch-converted");
  if (folders.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  const TemporaryDirectory scratch;
  int total = 0;
  std::map<std::string, int> skipped;
  for (const fs::path& folder : folders) {
    Case test(folder);
    test.model.mutable_opset_import(0)->set_version(7);
    testing::write_message(test.model, scratch / "model.onnx");
    try {
      const ImportedModel model = import_onnx(scratch / "model.onnx");
      if (!model.warnings.empty()) throw InputError(model.warnings[0]);
      std::vector<Tensor> inputs;
      for (const auto& input : test.inputs) inputs.push_back(tensor_of(input));
      const Tensor output = ReferenceExecutor().run(model.graph, inputs).at(0);
      EXPECT_EQ(difference(output, tensor_of(test.outputs.at(0))), "") << folder;
      ++total;
    } catch (const InputError& error) {
      ++skipped[error.what()];
    }
  }
  std::cout << total << " cases passed\n";
  for (const auto& [reason, count] : skipped) std::cout << count << " skipped: " << reason << "\n";
  EXPECT_GE(total, 25);
}

}  // namespace
}  // namespace reverie
