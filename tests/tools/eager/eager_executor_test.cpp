#include "tools/eager/eager_executor.h"

#include <c10/core/Allocator.h>
#include <gmock/gmock.h>

#include <set>

#include "core/models/models.h"
#include "core/onnx/import.h"
#include "tests/core/exec/conformance.h"
#include "tests/support/light_models.h"

namespace reverie {
namespace testing {

INSTANTIATE_TEST_SUITE_P(Eager, ExecutorConformance,
                         conformance_parameters([] { return std::make_unique<EagerExecutor>(); }),
                         conformance_name);

}  // namespace testing

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::drawn_inputs;
using testing::expect_agreement;
using testing::f32;

ValueId drawn_weight(Graph& graph, Shape shape, uint64_t seed) {
  Rng rng(seed);
  return graph.add_constant(Weight::dense(testing::drawn(f32(std::move(shape)), rng, -0.3, 0.3),
                                          fmt::format("w{}", seed)));
}

/// Views of views, work on constants, a value read late, an output that is read on, two outputs of one node
/// of which one is not used.
Graph tangle() {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 6, 8}));
  const ValueId folded = graph.add("Transpose", {graph.add("Floor", {drawn_weight(graph, {8, 8}, 1)})});
  const ValueId turned = graph.add("Transpose", {x}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
  const ValueId flat = graph.add("Reshape", {turned}, {{"shape", std::vector<int64_t>{12, 8}}});
  const NodeId halves = graph.add_node(op_named("Split"), std::vector{flat},
                                       {{"axis", int64_t{0}}, {"split", std::vector<int64_t>{5, 7}}});
  const ValueId product = graph.add("MatMul", {graph.output(halves, 1), folded});
  const ValueId late = graph.add("Tanh", {graph.add("Add", {product, graph.output(halves, 1)})});
  graph.add_output("late", late);
  graph.add_output("y", graph.add("Sub", {graph.add("Exp", {late}), product}));
  graph.add_output("weight", folded);
  return graph;
}

TEST(EagerExecutor, RunsWholeGraphs) {
  EagerExecutor executor;
  expect_agreement(executor, tangle(), -1, 1);
  EXPECT_THAT(executor.fallbacks(), IsEmpty());
}

TEST(EagerExecutor, RunsNetworks) {
  for (const char* name : {"bert_tiny", "squeezenet_small"}) {
    EagerExecutor executor;
    expect_agreement(executor, build_model(name), -1, 1);
    EXPECT_THAT(executor.fallbacks(), IsEmpty()) << name;
  }
}

/// The most bytes of LibTorch's that were there at once.
class PeakMemory : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, int64_t change, int64_t, int64_t, c10::Device) override {
    held_ += change;
    peak = std::max(peak, held_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  int64_t peak = 0;

 private:
  int64_t held_ = 0;
};

TEST(EagerExecutor, FreesWhatNobodyReadsAnyMore) {
  constexpr int64_t kElements = 10000, kFloat = 4;
  Graph graph;
  ValueId x = graph.add_input("x", f32({kElements}));
  for (int i = 0; i < 20; ++i) x = graph.add("Exp", {x});
  graph.add_output("y", x);
  EagerPlan plan(graph);
  Rng rng(1);
  plan.draw_inputs(rng);
  const auto memory = std::make_shared<PeakMemory>();
  const c10::DebugInfoGuard watched(c10::DebugInfoKind::PROFILER_STATE, memory);
  plan.execute();
  EXPECT_GE(memory->peak, 2 * kElements * kFloat);
  EXPECT_LT(memory->peak, 3 * kElements * kFloat);
}

TEST(EagerExecutor, APlanRunsAgainAndAgain) {
  const Graph graph = tangle();
  EagerPlan plan(graph);
  Rng rng(1);
  plan.draw_inputs(rng);
  plan.execute();
  for (const uint64_t seed : {1, 2, 3}) {
    const std::vector<Tensor> inputs = drawn_inputs(graph, seed);
    EXPECT_EQ(plan.run(inputs)[1].to_doubles(), EagerExecutor().run(graph, inputs)[1].to_doubles());
  }
}

TEST(EagerExecutor, WeightsComeFromTheirSource) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({100}));
  graph.add_output("y", graph.add("Add", {x, graph.add_constant(Weight::fill(f32({100}), 0, "w"))}));
  const auto ones = [](const Weight& one) {
    Tensor tensor(one.type());
    std::fill(tensor.data<float>().begin(), tensor.data<float>().end(), 1.0f);
    return tensor;
  };
  const std::vector<Tensor> inputs = drawn_inputs(graph, 1);
  EXPECT_EQ(EagerExecutor().run(graph, inputs, ones)[0].to_doubles()[7],
            static_cast<double>(inputs[0].data<float>()[7] + 1));
}

TEST(EagerExecutor, SupportsWhatLibTorchHasOperatorsFor) {
  std::set<std::string> without = {"Pad_reflect"};
  for (const auto family : {testing::image_cases, testing::recurrent_cases, testing::quantized_cases,
                            testing::uncommon_cases})
    for (const testing::OperatorCase& one : family()) without.insert(one.name);
  const EagerExecutor executor;
  for (const testing::OperatorCase& one : testing::operator_cases()) {
    const NodeId node = one.graph.producer(one.graph.outputs()[0].value);
    EXPECT_EQ(executor.supports(one.graph, node), !without.count(one.name)) << one.name;
  }
}

TEST(EagerExecutor, FallbacksAreCountedAndCarryTypesThatLibTorchLacks) {
  Graph graph;
  const ValueId a = graph.add_input("a", {DType::kUInt32, {4}});
  const ValueId sum = graph.add("Add", {a, a});
  graph.add_output("y", graph.add("Cast", {sum}, {{"to", std::string("float32")}}));
  graph.add_output("same", graph.add("Identity", {a}));
  EagerExecutor executor;
  expect_agreement(executor, graph, 0, 4);
  EXPECT_THAT(executor.fallbacks(), ElementsAre(Pair("Add", 2), Pair("Cast", 2)));
}

TEST(EagerExecutor, IndicesCountFromTheEndToo) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({5, 3}));
  const auto index = [&](Tensor tensor) { return graph.add_constant(Weight::dense(std::move(tensor))); };
  graph.add_output("one", graph.add("Gather", {x, index(Tensor::of<int64_t>({}, {-1}))},
                                    {{"axis", int64_t{1}}}));
  graph.add_output("some", graph.add("Gather", {x, index(Tensor::of<int32_t>({2}, {-2, 1}))}));
  EagerExecutor executor;
  expect_agreement(executor, graph, -1, 1);
}

TEST(EagerExecutor, RefusesOpaqueNodesAndInputsThatDoNotFit) {
  EagerExecutor executor;
  testing::expect_refusals(executor);
}

TEST(EagerExecutor, AnInputCanBeAnOutput) {
  EagerExecutor executor;
  testing::expect_inputs_pass_through(executor);
}

/// Nothing of the twelve networks runs on the reference kernels.
TEST(EagerExecutor, HasAllOperatorsOfTheLightModels) {
  for (const std::string& name : testing::light_models()) {
    const auto path = testing::light_folder() / (name + ".onnx");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    const ImportedModel model = import_onnx(path);
    std::map<std::string, int> without;
    const EagerExecutor executor;
    for (const NodeId node : model.graph.nodes())
      if (model.graph.is_work(node) && !executor.supports(model.graph, node))
        ++without[model.graph.op(node).name];
    EXPECT_THAT(without, IsEmpty()) << name;
  }
}

}  // namespace
}  // namespace reverie
