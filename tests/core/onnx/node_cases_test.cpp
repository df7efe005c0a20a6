#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>

#include "core/exec/reference/reference.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/export.h"
#include "core/onnx/import.h"
#include "core/onnx/lower.h"
#include "core/onnx/newer_opsets.h"
#include "core/onnx/operator_opsets.h"
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
using testing::read_message;
using testing::tensor_of;

/// Empty when result and expectation agree.
std::string difference(const Tensor& result, const Tensor& expected,
                       double single_tolerance = 1e-5) {
  if (result.type() != expected.type())
    return to_string(result.type()) + " instead of " + to_string(expected.type());
  const std::vector<double> a = result.to_doubles();
  const std::vector<double> b = expected.to_doubles();
  const bool single =
      result.type().dtype == DType::kFloat32 || result.type().dtype == DType::kFloat64;
  const double tolerance = !is_floating(result.type().dtype) ? 0 : single ? single_tolerance : 1e-2;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    if (!(std::abs(a[i] - b[i]) <= tolerance * (1 + std::abs(b[i]))))
      return fmt::format("element {}: {} instead of {}", i, a[i], b[i]);
  }
  return "";
}

/// What is no inference on tensors of numbers: training, strings, sequences and optional values.
bool is_in_scope(const Case& test) {
  const auto holds_numbers = [](const auto& value) {
    return value.type().has_tensor_type() &&
           value.type().tensor_type().elem_type() != onnx::TensorProto::STRING;
  };
  const auto& graph = test.model.graph();
  const bool trains = graph.node(0).domain() == "ai.onnx.preview.training" ||
                      test.folder.filename().string().find("training") != std::string::npos;
  return !trains && std::ranges::all_of(graph.input(), holds_numbers) &&
         std::ranges::all_of(graph.output(), holds_numbers);
}

enum class Verdict { kPassed, kSkipped, kFailed };
struct Result {
  Verdict verdict;
  std::string reason;
};

Result run(const Case& test, const ImportedModel& model) {
  if (!model.untouched.empty()) return {Verdict::kSkipped, model.untouched[0].op};
  std::vector<Tensor> inputs;
  for (const auto& input : test.inputs) inputs.push_back(tensor_of(input));
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].type() != model.graph.type(model.graph.output(model.graph.inputs()[i])))
      return {Verdict::kSkipped, "its data do not have the types that it declares"};
  const std::vector<Tensor> outputs = ReferenceExecutor().run(model.graph, inputs);
  if (outputs.size() != test.outputs.size()) return {Verdict::kFailed, "number of outputs"};
  const bool takes_short_pi =
      test.folder.filename().string().find("window") != std::string::npos;  // 3.1415
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string reason =
        difference(outputs[i], tensor_of(test.outputs[i]), takes_short_pi ? 1e-4 : 1e-5);
    if (!reason.empty()) return {Verdict::kFailed, reason};
  }
  return {Verdict::kPassed, ""};
}

/// All cases, each read, run, written and read again.
class NodeCases {
 public:
  static const NodeCases& all() {
    static const NodeCases cases;
    return cases;
  }

  int in_scope = 0, passed = 0, read_again = 0;
  std::map<std::string, int> passed_alone;  ///< by operator, in a case of that node alone
  std::map<std::string, int> rest;  ///< by the first operator that stays untouched, or the reason

 private:
  NodeCases() {
    for (const fs::path& folder : case_folders("node")) {
      SCOPED_TRACE(folder.filename().string());
      Case test(folder);
      bake_shaping_inputs(&test);
      testing::write_message(test.model, scratch_ / "model.onnx");
      const ImportedModel model = import_onnx(scratch_ / "model.onnx");
      if (is_in_scope(test)) add(test, run(test, model));
      if (test.model.graph().node(0).op_type() == "LayerNormalization")
        add_without_statistics(std::move(test));
      export_onnx(model.graph, model.info, scratch_ / "copy.onnx");
      EXPECT_TRUE(isomorphic(import_onnx(scratch_ / "copy.onnx").graph, lower(model.graph)));
      ++read_again;
    }
  }

  void add(const Case& test, const Result& result) {
    ++in_scope;
    EXPECT_NE(result.verdict, Verdict::kFailed) << result.reason;
    if (result.verdict == Verdict::kSkipped) ++rest[result.reason];
    if (result.verdict != Verdict::kPassed) return;
    ++passed;
    if (test.model.graph().node_size() == 1) ++passed_alone[test.model.graph().node(0).op_type()];
  }

  void add_without_statistics(Case test) {
    adapt(&test);
    testing::write_message(test.model, scratch_ / "adapted.onnx");
    const Result result = run(test, import_onnx(scratch_ / "adapted.onnx"));
    EXPECT_EQ(result.verdict, Verdict::kPassed) << result.reason;
    ++passed_alone["LayerNormalization"];
  }

  TemporaryDirectory scratch_;
};

class OnnxNodeCases : public ::testing::Test {
 protected:
  void SetUp() override {
    if (case_folders("node").empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  }
};

TEST_F(OnnxNodeCases, AgreeAndAreReadAgain) {
  const NodeCases& cases = NodeCases::all();
  std::cout << cases.passed << " of " << cases.in_scope << " cases passed, " << cases.read_again
            << " read again\n";
  for (const auto& [reason, count] : cases.rest) std::cout << count << " not: " << reason << "\n";
  EXPECT_GE(cases.passed, cases.in_scope * 85 / 100);
  EXPECT_GE(cases.read_again, 930);
}

/// What `reverie inspect --operators` says of the cases that are not run: operators that stay
/// untouched, and forms of others.
TEST_F(OnnxNodeCases, TheRestIsWhatTheListOfOperatorsLeavesOut) {
  const std::set<std::string> forms = {
      "GridSample",          // between sixteen points
      "LayerNormalization",  // with its statistics
      "MaxPool",             // with the places of what it finds
      "Reshape",             // to an extent of 0 elsewhere
      "Resize",              // cut out, or aligned by corners where an extent becomes broken
      "Dropout",             // with a mask before opset 12
      "its data do not have the types that it declares"};
  std::set<std::string> untouched;
  for (const std::string& name : other_operators().untouched) untouched.insert(name);
  for (const auto& [op, count] : NodeCases::all().rest)
    EXPECT_TRUE(forms.contains(op) || untouched.contains(op)) << op;
}

TEST_F(OnnxNodeCases, TryEveryOperatorThatIsRead) {
  const std::set<std::string> without = {"Input",  "Constant",     "Opaque",
                                         "LpPool", "GlobalLpPool", "LpNormalization"};
  const auto& passed = NodeCases::all().passed_alone;
  for (const OpSchema& row : all_ops()) {
    const bool is_newer = proto::since_version(row.name, proto::kNewestInLibrary) == 0;
    if (is_newer || without.contains(row.name)) continue;
    EXPECT_TRUE(passed.contains(row.name)) << row.name;
  }
  for (const std::string& op : other_operators().read) EXPECT_TRUE(passed.contains(op)) << op;
}

/// PyTorch's exports of opset 6.
TEST(OnnxPytorchCases, Agree) {
  std::vector<fs::path> folders = case_folders("pytorch-converted");
  std::ranges::copy(case_folders("pytorch-operator"), std::back_inserter(folders));
  if (folders.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  const TemporaryDirectory scratch;
  for (const fs::path& folder : folders) {
    SCOPED_TRACE(folder.filename().string());
    Case test(folder);
    testing::write_message(test.model, scratch / "model.onnx");
    const Result result = run(test, import_onnx(scratch / "model.onnx"));
    EXPECT_EQ(result.verdict, Verdict::kPassed) << result.reason;
  }
}

}  // namespace
}  // namespace reverie
