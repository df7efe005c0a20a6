#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>

#include "core/exec/reference/reference.h"
#include "core/onnx/import.h"
#include "tests/core/onnx/onnx_files.h"
#include "tests/support/onnx_cases.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

namespace fs = std::filesystem;
using testing::adapt;
using testing::bake_shaping_inputs;
using testing::Case;
using testing::case_folders;
using testing::has_only_tensors;
using testing::read_message;
using testing::tensor_of;

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
                                         "LpPool", "GlobalLpPool", "LpNormalization",
                                         "Gelu",   "GroupNormalization"};
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
