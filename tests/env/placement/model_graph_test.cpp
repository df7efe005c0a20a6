#include "env/placement/graph/model_graph.h"

#include <gmock/gmock.h>

#include "core/base/error.h"
#include "core/cost/cost_model.h"
#include "core/models/models.h"
#include "env/placement/simulator/simulator.h"
#include "tests/env/placement/expect_refused.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;

ValueId weight(Graph& graph, const std::string& name, const Shape& shape) {
  return graph.add_constant(Weight::fill({DType::kFloat32, shape}, 0.5, name));
}

int node_named(const CostGraph& graph, const std::string& name) {
  for (int node = 0; node < graph.size(); ++node)
    if (graph.nodes()[static_cast<size_t>(node)].name == name) return node;
  ADD_FAILURE() << "no node " << name;
  return 0;
}

TEST(ModelGraph, CostsSumToTheCostModels) {
  for (const char* name : {"squeezenet1_1", "inception_small", "bert", "nasrnn", "vit_b_16"}) {
    const Graph model = build_model(name, {.light = true});
    Topology topology = ideal_devices(3, "t4");
    topology.devices[1].kind = "cpu";
    const CostGraph graph = cost_graph_of(model, topology, name);
    ASSERT_THAT(graph.kinds(), ElementsAre("cpu", "t4"));
    for (size_t kind = 0; kind < 2; ++kind) {
      Picoseconds total;
      for (int node = 0; node < graph.size(); ++node)
        total += graph.cost(node, static_cast<int>(kind));
      const auto costs = make_cost_model("roofline:" + graph.kinds()[kind]);
      EXPECT_EQ(total, graph_cost(*costs, model).runtime) << name;
    }
  }
}

TEST(ModelGraph, WeightsArePersistentOnce) {
  for (const ModelKind& kind : all_models()) {
    ModelOptions options = {.light = true};
    const Graph model = build_model(kind.name, options);
    const CostGraph graph = cost_graph_of(model, ideal_devices(1, "cpu"), std::string(kind.name));
    int64_t bytes = 0;
    for (const CostNode& node : graph.nodes()) bytes += node.persistent_bytes;
    EXPECT_EQ(bytes, model.weight_bytes()) << kind.name;
  }
}

/// input [4,8] -> MatMul by w [8,32] -> Reshape -> Relu -> Add of the first and second -> output.
Graph small_model() {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kFloat32, {4, 8}});
  const ValueId product = graph.add("MatMul", {x, weight(graph, "w", {8, 32})});
  const ValueId view = graph.add("Reshape", {product}, {{"shape", Shape{2, 64}}});
  const ValueId relu = graph.add("Relu", {view});
  graph.add_output("y", graph.add("Add", {view, relu}));
  return graph;
}

TEST(ModelGraph, ViewsAreNoNodes) {
  const CostGraph graph = cost_graph_of(small_model(), ideal_devices(1, "v100"), "small");
  std::vector<std::string> names;
  for (const CostNode& node : graph.nodes()) names.push_back(node.name);
  EXPECT_THAT(names, ElementsAre("x", "MatMul_0", "Relu_1", "Add_2"));
  EXPECT_THAT(graph.tensors()[1].readers, ElementsAre(2, 3));
  EXPECT_EQ(graph.tensors()[1].bytes, 4 * 32 * 4);
  EXPECT_EQ(graph.cost(0, 0).count, 0);
}

TEST(ModelGraph, TellsWhereTheRestWent) {
  Graph model = small_model();
  const ValueId sum = model.add("Add", {weight(model, "a", {64}), weight(model, "b", {64})});
  const ValueId relu = model.add("Relu", {model.outputs()[0].value});
  model.add_output("z", model.add("Mul", {relu, sum}));
  std::vector<std::string> told;
  for (const FoldedNode& one : folded_nodes(model, ideal_devices(1, "v100")))
    told.push_back(one.op + " into " + one.into);
  EXPECT_THAT(told, ::testing::UnorderedElementsAre("Reshape into MatMul_0", "Add into Mul_4"));
}

TEST(ModelGraph, PeakIsThatCountedByHand) {
  const CostGraph graph = cost_graph_of(small_model(), ideal_devices(1, "v100"), "small");
  const Topology topology = ideal_devices(1, "v100");
  Simulator simulator(graph, topology);
  const Outcome outcome = simulator.run({.device = {0, 0, 0, 0}, .priority = {}});
  // The weight all the time; while Add runs the product, what Relu made of it, and the sum: 128
  // elements each. The input is gone with the product's end.
  EXPECT_EQ(outcome.peak_bytes, 4 * (8 * 32 + 3 * 128));
}

TEST(ModelGraph, ReadersOfALargeWeightStayTogether) {
  Graph model;
  const ValueId x = model.add_input("x", {DType::kFloat32, {16, 16}});
  const ValueId large = weight(model, "large", {16, 16});
  const ValueId small = model.add_constant(Weight::dense(Tensor::of<float>({}, {3})));
  const ValueId a = model.add("Mul", {model.add("MatMul", {x, large}), small});
  const ValueId b = model.add("Mul", {model.add("MatMul", {a, large}), small});
  model.add_output("y", b);
  const CostGraph graph = cost_graph_of(model, ideal_devices(1, "v100"), "shared");
  std::vector<int64_t> bytes;
  std::vector<int> groups;
  for (const CostNode& node : graph.nodes()) {
    bytes.push_back(node.persistent_bytes);
    groups.push_back(node.group);
  }
  EXPECT_THAT(bytes, ElementsAre(0, 1024, 4, 0, 4));
  EXPECT_THAT(groups, ElementsAre(-1, 0, -1, 0, -1));
}

TEST(ModelGraph, WorkOnConstantsIsFolded) {
  Graph model;
  const ValueId x = model.add_input("x", {DType::kFloat32, {16, 16}});
  const ValueId sum = model.add("Add", {weight(model, "a", {16, 16}), weight(model, "b", {16})});
  model.add_output("y", model.add("MatMul", {x, sum}));
  const CostGraph graph = cost_graph_of(model, ideal_devices(1, "v100"), "folded");
  ASSERT_EQ(graph.size(), 2);
  EXPECT_EQ(graph.nodes()[1].persistent_bytes, 4 * 16 * 16);
}

TEST(ModelGraph, CostsAreLaunchAndTheLongerPart) {
  const Graph model = build_model("inception_small", {.light = true});
  const CostGraph graph = cost_graph_of(model, ideal_devices(1, "v100"), "parts");
  ASSERT_TRUE(graph.parts());
  const CostParts& parts = *graph.parts();
  for (int node = 0; node < graph.size(); ++node) {
    const auto at = static_cast<size_t>(node);
    if (graph.cost(node, 0).count == 0) continue;
    const double memory =
        1e12 * static_cast<double>(parts.moved_bytes[at]) / parts.kinds[0].bytes_per_second;
    const double longer = std::max(memory, static_cast<double>(parts.arithmetic[at].count));
    EXPECT_NEAR(static_cast<double>(graph.cost(node, 0).count),
                static_cast<double>(parts.kinds[0].launch.count) + longer, 2);
  }
  EXPECT_EQ(parts.arithmetic[static_cast<size_t>(node_named(graph, "input"))].count, 0);
}

TEST(ModelGraph, AnUnknownKindIsRefused) {
  testing::expect_refused(
      [] { cost_graph_of(small_model(), ideal_devices(1, "gpu"), "small"); },
      "small: no device 'gpu' for the roofline; known are cpu, t4, v100, a100, h100, h200");
}

}  // namespace
}  // namespace reverie
