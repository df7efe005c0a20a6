#include "core/ort/ort_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/exec/reference/reference.h"
#include "core/models/models.h"
#include "core/onnx/export.h"
#include "tests/core/ort/fake_runtime.h"

namespace reverie::ort {
namespace {

TEST(OrtMachine, IsKnownByItsName) {
  register_machine(ort_machines());
  EXPECT_TRUE(is_machine("ort:4"));
  EXPECT_EQ(profile_of_machine("ort:off"), "cpu");
  EXPECT_THROW(profile_of_machine("ort:many"), InputError);
  EXPECT_EQ(OrtMachine({.threads = 4}, "").name(), "ort:4");
  EXPECT_EQ(OrtMachine({.threads = 1, .optimize = false}, "").name(), "ort:off");
}

TEST(OrtMachine, TimesAGraphInANewProcessAfterACrash) {
  if (!reverie::testing::has_node()) GTEST_SKIP() << "Node.js is not installed";
  const reverie::testing::FakeRuntime runtime;
  OrtMachine machine({}, runtime.folder());
  const Graph graph = build_model("bert_tiny", {.light = true});
  EXPECT_GT(machine.ready(graph, materialized)->seconds_of_run(), 0);
  EXPECT_THROW(machine.ready_file("crash.onnx", graph)->seconds_of_run(), InputError);
  EXPECT_GT(machine.ready(graph, materialized)->seconds_of_run(), 0);
}

/// Of the real runtime.
class OnnxRuntime : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_installed()) GTEST_SKIP() << "ONNX Runtime is not installed (tools/setup.sh --ort)";
  }
};

TEST_F(OnnxRuntime, ComputesWhatTheReferenceComputes) {
  OrtMachine machine({});
  const TemporaryDirectory folder;
  for (const char* name : {"bert_tiny", "squeezenet_small"}) {
    const Graph graph = build_model(name);
    export_onnx(graph, {}, folder / "model.onnx");
    const std::vector<NamedTensor> inputs = random_inputs(graph);
    std::vector<Tensor> tensors;
    for (const NamedTensor& input : inputs) tensors.push_back(input.tensor);
    const std::vector<Tensor> expected = ReferenceExecutor().run(graph, tensors);
    const std::vector<NamedTensor> outputs = machine.outputs(folder / "model.onnx", inputs);
    ASSERT_EQ(outputs.size(), expected.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_EQ(outputs[i].name, graph.outputs()[i].name);
      const std::vector<double> a = expected[i].to_doubles(), b = outputs[i].tensor.to_doubles();
      for (size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-4 * (1 + std::abs(a[k])));
    }
  }
}

TEST_F(OnnxRuntime, TimesGraphsAndOperators) {
  OrtMachine machine({});
  const Graph graph = build_model("bert_tiny");
  EXPECT_GT(machine.ready(graph, materialized)->seconds_of_run(), 0);
  for (const NodeId node : graph.nodes())
    if (graph.op(node).is("MatMul")) {
      EXPECT_GT(machine.time_operator(signature_of(graph, node), {}).median, 0);
      break;
    }
}

}  // namespace
}  // namespace reverie::ort
