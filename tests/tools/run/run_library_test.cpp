#include "tools/run/run_library.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "core/exec/draw.h"
#include "core/exec/reference/reference.h"
#include "core/models/models.h"
#include "core/onnx/export.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// What the library says of inputs or outputs, as the graph would.
using Describe = const reverie_tensor* (*)(const reverie_model*, int32_t);

int count(const reverie_model* model, Describe describe) {
  int found = 0;
  while (describe(model, found) != nullptr) ++found;
  return found;
}

void expect_describes(const reverie_tensor* tensor, const std::string& name,
                      const TensorType& type) {
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->name, name);
  EXPECT_EQ(tensor->dtype, name_of(type.dtype));
  EXPECT_THAT(std::vector<int64_t>(tensor->extents, tensor->extents + tensor->rank),
              ElementsAreArray(type.shape));
}

class RunLibraryTest : public ::testing::Test {
 protected:
  /// Writes it, and opens what was written.
  reverie_model* open(const Graph& graph, const char* costs = nullptr) {
    export_onnx(graph, info_for(graph), file());
    return reverie_open(file().c_str(), "cpu", costs);
  }
  std::string file() const { return directory_ / "model.onnx"; }

  std::vector<Tensor> drawn_inputs(const Graph& graph) {
    const Graph* const graphs[] = {&graph};
    const DrawPlan plan(graphs);
    std::vector<Tensor> inputs;
    for (const NodeId input : graph.inputs()) {
      const TensorType& type = graph.type(graph.output(input));
      inputs.push_back(
          draw(type, plan.input(graph.input_name(input)), Rng(inputs.size())).cast(type.dtype));
    }
    return inputs;
  }

  /// The model describes the graph's inputs and output, and computes the same.
  void expect_agrees(reverie_model* model, const Graph& graph) {
    ASSERT_EQ(count(model, reverie_input), static_cast<int>(graph.inputs().size()));
    ASSERT_EQ(count(model, reverie_output), 1);
    const std::vector<Tensor> inputs = drawn_inputs(graph);
    std::vector<const void*> from;
    for (size_t i = 0; i < inputs.size(); ++i) {
      expect_describes(reverie_input(model, static_cast<int32_t>(i)),
                       graph.input_name(graph.inputs()[i]), inputs[i].type());
      from.push_back(inputs[i].bytes().data());
    }
    const Tensor expected = ReferenceExecutor().run(graph, inputs).front();
    expect_describes(reverie_output(model, 0), graph.outputs().front().name, expected.type());
    Tensor output(expected.type());
    void* const to[] = {output.bytes().data()};
    ASSERT_EQ(reverie_run(model, from.data(), to), 0) << reverie_error();
    double difference = 0, largest = 0;
    for (size_t i = 0; i < output.data<float>().size(); ++i) {
      const double is = output.data<float>()[i], should = expected.data<float>()[i];
      difference = std::max(difference, std::abs(is - should));
      largest = std::max(largest, std::abs(should));
    }
    EXPECT_LT(difference, 1e-4 * largest);
  }

  TemporaryDirectory directory_;
};

TEST_F(RunLibraryTest, ComputesWhatTheReferenceDoesFromFloatsAndIntegers) {
  for (const char* name : {"squeezenet_small", "bert_tiny", "nasrnn"})
    for (const char* costs : {static_cast<const char*>(nullptr), "roofline:h200"}) {
      SCOPED_TRACE(fmt::format("{}, {}", name, costs == nullptr ? "as it is" : costs));
      const Graph graph = build_model(name);
      reverie_model* const model = open(graph, costs);
      ASSERT_NE(model, nullptr) << reverie_error();
      expect_agrees(model, graph);
      reverie_close(model);
    }
}

TEST_F(RunLibraryTest, FusesWhatNoFileHoldsWhereCostsAreGiven) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {1, 8, 6, 6}});
  const ValueId w = graph.add_constant(Weight::fill({DType::kFloat32, {8, 8, 1, 1}}, 0.1, "w"));
  graph.add_output("y", graph.add("Relu", {graph.add("Conv", {x, w})}));
  for (const char* costs : {static_cast<const char*>(nullptr), "roofline:h200"}) {
    reverie_model* const model = open(graph, costs);
    ASSERT_NE(model, nullptr) << reverie_error();
    EXPECT_EQ(reverie_nodes(model), costs == nullptr ? 2 : 1);
    expect_agrees(model, graph);
    reverie_close(model);
  }
}

TEST_F(RunLibraryTest, TimesRunsAndSaysOnWhat) {
  const Graph graph = build_model("squeezenet_small");
  reverie_model* const model = open(graph);
  ASSERT_NE(model, nullptr) << reverie_error();
  EXPECT_GT(reverie_seconds(model), 0);
  EXPECT_THAT(reverie_machine(model), HasSubstr("1 thread; oneDNN "));
  EXPECT_EQ(reverie_fallbacks(model), 0);
  reverie_close(model);
}

TEST_F(RunLibraryTest, CountsNodesOnTheReferenceKernels) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kInt64, {4}});
  graph.add_output("y", graph.add("Mod", {x, x}));
  reverie_model* const model = open(graph);
  ASSERT_NE(model, nullptr) << reverie_error();
  EXPECT_EQ(reverie_fallbacks(model), 1);
  reverie_close(model);
}

TEST_F(RunLibraryTest, RefusesInOneLine) {
  EXPECT_EQ(reverie_open((directory_ / "none.onnx").c_str(), "cpu", nullptr), nullptr);
  EXPECT_THAT(reverie_error(), HasSubstr("none.onnx"));
  reverie_model* const model = open(build_model("squeezenet_small"));
  ASSERT_NE(model, nullptr) << reverie_error();
  reverie_close(model);
  EXPECT_EQ(reverie_open(file().c_str(), "abacus", nullptr), nullptr);
  EXPECT_THAT(reverie_error(), HasSubstr("no machine 'abacus'"));
  EXPECT_EQ(reverie_open(file().c_str(), "cpu", "guesses"), nullptr);
  EXPECT_THAT(reverie_error(), HasSubstr("no cost source 'guesses'"));
  EXPECT_THAT(std::string(reverie_error()), Not(HasSubstr("\n")));
}

TEST_F(RunLibraryTest, LooksForTheModuleOfGpusBesideItself) {
  reverie_close(open(build_model("squeezenet_small")));
  reverie_model* const model = reverie_open(file().c_str(), "cuda", nullptr);
  if (model != nullptr) return reverie_close(model);  // there is a GPU
  EXPECT_THAT(reverie_error(), HasSubstr("CUDA"));
  EXPECT_THAT(reverie_error(), Not(HasSubstr("cannot load")));
}

/// So that it can live beside other versions of what is inside.
TEST(RunLibrary, ShowsItsFunctionsAlone) {
  const std::string command =
      "nm --dynamic --defined-only --format=just-symbols " REVERIE_RUN_LIBRARY;
  FILE* const symbols = popen(command.c_str(), "r");
  ASSERT_NE(symbols, nullptr);
  int found = 0;
  for (char line[512]; fgets(line, sizeof line, symbols) != nullptr; ++found)
    EXPECT_THAT(line, StartsWith("reverie_"));
  EXPECT_EQ(pclose(symbols), 0);
  EXPECT_EQ(found, 10);
}

}  // namespace
}  // namespace reverie
