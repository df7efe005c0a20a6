#include "env/placement/graph/training_graph.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "core/cost/cost_model.h"
#include "core/models/models.h"
#include "env/placement/graph/model_graph.h"
#include "env/placement/simulator/simulator.h"
#include "tests/env/placement/expect_refused.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using testing::expect_refused;
using ::testing::UnorderedElementsAre;

const Topology& one_device() {
  static const Topology topology = ideal_devices(1, "v100");
  return topology;
}

ValueId input(Graph& graph, const Shape& shape) {
  return graph.add_input("x", {DType::kFloat32, shape});
}
ValueId weight(Graph& graph, const std::string& name, const Shape& shape) {
  return graph.add_constant(Weight::fill({DType::kFloat32, shape}, 0.5, name));
}

/// A training graph whose nodes are asked for by name.
class Trained {
 public:
  explicit Trained(const Graph& model)
      : model_(model), graph_(training_graph_of(model, one_device(), "model")) {
    for (const CostNode& node : graph_.nodes()) {
      EXPECT_TRUE(numbers_.emplace(node.name, std::ssize(numbers_)).second) << node.name;
    }
  }

  const CostGraph& graph() const { return graph_; }
  bool has(const std::string& name) const { return numbers_.contains(name); }
  int number(const std::string& name) const {
    EXPECT_TRUE(has(name)) << name;
    return has(name) ? numbers_.at(name) : 0;
  }
  const CostNode& node(const std::string& name) const {
    return graph_.nodes()[static_cast<size_t>(number(name))];
  }
  Picoseconds cost(const std::string& name) const { return graph_.cost(number(name), 0); }
  int64_t moved(const std::string& name) const {
    return graph_.parts()->moved_bytes[static_cast<size_t>(number(name))];
  }
  /// Names of the nodes whose tensors it reads.
  std::vector<std::string> reads(const std::string& name) const {
    std::vector<std::string> names;
    for (const int tensor : graph_.inputs(number(name))) {
      const int producer = graph_.tensors()[static_cast<size_t>(tensor)].producer;
      names.push_back(graph_.nodes()[static_cast<size_t>(producer)].name);
    }
    return names;
  }
  int64_t output_bytes(const std::string& name) const {
    return graph_.tensors()[static_cast<size_t>(graph_.outputs(number(name)).first)].bytes;
  }

 private:
  Graph model_;
  CostGraph graph_;
  std::map<std::string, int> numbers_;
};

/// x [4,8] -> MatMul by v [8,32] -> Relu -> MatMul by w [32,16].
Graph three_operators() {
  Graph graph;
  const ValueId x = input(graph, {4, 8});
  const ValueId hidden = graph.add("Relu", {graph.add("MatMul", {x, weight(graph, "v", {8, 32})})});
  graph.add_output("y", graph.add("MatMul", {hidden, weight(graph, "w", {32, 16})}));
  return graph;
}

TEST(TrainingGraph, GradientsReadTheTensorsOfTheirFormulas) {
  const Trained trained(three_operators());
  EXPECT_EQ(trained.graph().size(), 11);
  EXPECT_THAT(trained.reads("y/loss"), ElementsAre("MatMul_2"));
  EXPECT_THAT(trained.reads("MatMul_2/grad0"), ElementsAre("y/loss"));
  EXPECT_THAT(trained.reads("MatMul_2/grad1"), UnorderedElementsAre("y/loss", "Relu_1"));
  EXPECT_THAT(trained.reads("Relu_1/grad0"), UnorderedElementsAre("MatMul_2/grad0", "Relu_1"));
  EXPECT_THAT(trained.reads("MatMul_0/grad1"), UnorderedElementsAre("Relu_1/grad0", "x"));
  EXPECT_FALSE(trained.has("MatMul_0/grad0"));  // nobody asks for the gradient of the input
  EXPECT_THAT(trained.reads("w/update"), ElementsAre("MatMul_2/grad1"));
  EXPECT_THAT(trained.reads("v/update"), ElementsAre("MatMul_0/grad1"));
  EXPECT_EQ(trained.output_bytes("MatMul_2/grad0"), 4 * 4 * 32);
  EXPECT_EQ(trained.output_bytes("MatMul_2/grad1"), 4 * 32 * 16);
}

TEST(TrainingGraph, GradientsAndUpdatesAreInTheGroupOfTheirOperator) {
  const Trained trained(three_operators());
  std::map<int, std::set<std::string>> groups;
  for (const CostNode& node : trained.graph().nodes()) groups[node.group].insert(node.name);
  EXPECT_THAT(groups, UnorderedElementsAre(
                          ::testing::Pair(-1, std::set<std::string>{"x", "y/loss"}),
                          ::testing::Pair(
                              0, std::set<std::string>{"MatMul_0", "MatMul_0/grad1", "v/update"}),
                          ::testing::Pair(1, std::set<std::string>{"Relu_1", "Relu_1/grad0"}),
                          ::testing::Pair(2, std::set<std::string>{"MatMul_2", "MatMul_2/grad0",
                                                                   "MatMul_2/grad1", "w/update"})));
}

TEST(TrainingGraph, CostsAreThoseOfTheProductsThatAreMade) {
  const Trained trained(three_operators());
  const auto costs = make_cost_model("roofline:v100");
  const auto product = [&](int64_t m, int64_t k, int64_t n) {
    return costs
        ->cost(parse_signature(fmt::format(
            "MatMul(float32 {}x{}, float32 {}x{}) {{activation=\"none\"}}", m, k, k, n)))
        .runtime;
  };
  EXPECT_EQ(trained.cost("MatMul_2/grad0"), product(4, 16, 32));
  EXPECT_EQ(trained.cost("MatMul_2/grad1"), product(32, 4, 16));
  EXPECT_EQ(trained.cost("MatMul_0/grad1"), product(8, 4, 32));
  EXPECT_EQ(trained.moved("Relu_1/grad0"), 4 * 3 * 4 * 32);
  EXPECT_EQ(trained.moved("w/update"), 4 * 3 * 32 * 16);
}

TEST(TrainingGraph, AWeightOfABatchHasOneProduct) {
  Graph model;
  const ValueId x = input(model, {3, 4, 8});
  model.add_output("y", model.add("MatMul", {x, weight(model, "w", {8, 16})}));
  const Trained trained(model);
  const Cost cost = make_cost_model("roofline:v100")
                        ->cost(parse_signature("MatMul(float32 8x12, float32 12x16)"));
  EXPECT_EQ(trained.cost("MatMul_0/grad1"), cost.runtime);
  EXPECT_EQ(trained.moved("MatMul_0/grad1"), cost.bytes);
}

TEST(TrainingGraph, AViewBehindAnOperatorChangesNoCost) {
  const Trained plain(three_operators());
  Graph model;
  const ValueId x = input(model, {4, 8});
  const ValueId hidden = model.add("Relu", {model.add("MatMul", {x, weight(model, "v", {8, 32})})});
  const ValueId y = model.add("MatMul", {hidden, weight(model, "w", {32, 16})});
  model.add_output("y",
                   model.add("Neg", {model.add("Reshape", {y}, {{"shape", Shape{2, 2, 16}}})}));
  const Trained trained(model);
  EXPECT_EQ(trained.cost("MatMul_2/grad0"), plain.cost("MatMul_2/grad0"));
  EXPECT_EQ(trained.cost("MatMul_2/grad1"), plain.cost("MatMul_2/grad1"));
}

TEST(TrainingGraph, TensorsStayUntilTheGradientHasReadThem) {
  const Trained trained(three_operators());
  Simulator simulator(trained.graph(), one_device());
  Placement placement{.device = std::vector<int>(11), .priority = {}};
  const Outcome outcome = simulator.run(placement);
  // Elements: the weights v, w all the time (256 + 512). "MatMul_2/grad1" is done, its result (512)
  // waits for "w/update". While that of x [32], Relu_1 [128] are there, "Relu_1/grad0" turns the
  // gradient [128] into another one [128].
  const int64_t at_relu = 768 + 512 + 32 + 3 * 128;
  // "MatMul_2/grad1" runs with x, Relu_1, dy [64] and "MatMul_2/grad0" there.
  const int64_t at_product = 768 + 512 + 32 + 128 + 64 + 128;
  EXPECT_EQ(outcome.peak_bytes, 4 * std::max(at_relu, at_product));
}

TEST(TrainingGraph, SumsGradientsOfWhatSeveralRead) {
  Graph graph;
  const ValueId x = input(graph, {4, 8});
  const ValueId y = graph.add("MatMul", {x, weight(graph, "w", {8, 8})});
  const ValueId view = graph.add("Reshape", {y}, {{"shape", Shape{32}}});
  const ValueId a = graph.add("Sigmoid", {view});
  const ValueId b = graph.add("Tanh", {view});
  graph.add_output("z", graph.add("Add", {a, graph.add("Mul", {b, b})}));
  const Trained trained(graph);
  EXPECT_THAT(trained.reads("Sigmoid_1/grad0"), UnorderedElementsAre("z/loss", "Sigmoid_1"));
  EXPECT_THAT(trained.reads("Tanh_2/total"), UnorderedElementsAre("Mul_3/grad0", "Mul_3/grad1"));
  EXPECT_THAT(trained.reads("Tanh_2/grad0"), UnorderedElementsAre("Tanh_2/total", "Tanh_2"));
  EXPECT_THAT(trained.reads("MatMul_0/total"),
              UnorderedElementsAre("Sigmoid_1/grad0", "Tanh_2/grad0"));
  EXPECT_THAT(trained.reads("MatMul_0/grad1"), UnorderedElementsAre("MatMul_0/total", "x"));
  EXPECT_EQ(trained.moved("MatMul_0/total"), 4 * 3 * 32);
  EXPECT_EQ(trained.node("MatMul_0/total").group, trained.node("MatMul_0").group);
}

TEST(TrainingGraph, AnElementwiseInputThatWasBroadcastIsSummed) {
  Graph graph;
  const ValueId x = input(graph, {4, 8});
  const ValueId scaled = graph.add("Mul", {x, weight(graph, "scale", {8})});
  graph.add_output("y", graph.add("Add", {scaled, weight(graph, "bias", {8})}));
  const Trained trained(graph);
  EXPECT_THAT(trained.reads("Add_1/sum1"), ElementsAre("y/loss"));
  EXPECT_THAT(trained.reads("bias/update"), ElementsAre("Add_1/sum1"));
  EXPECT_THAT(trained.reads("Mul_0/grad1"), UnorderedElementsAre("y/loss", "x"));
  EXPECT_THAT(trained.reads("scale/update"), ElementsAre("Mul_0/sum1"));
  EXPECT_EQ(trained.output_bytes("Mul_0/sum1"), 4 * 8);
}

TEST(TrainingGraph, GradientsOfAConvolutionCostWhatItCosts) {
  Graph graph;
  const ValueId x = input(graph, {2, 16, 14, 14});
  const ValueId before =
      graph.add("Relu", {graph.add("Conv", {x, weight(graph, "v", {16, 16, 1, 1})})});
  graph.add_output("y", graph.add("Conv", {before, weight(graph, "w", {32, 16, 3, 3})},
                                  {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}));
  const Trained trained(graph);
  EXPECT_EQ(trained.cost("Conv_2/grad0"), trained.cost("Conv_2"));
  EXPECT_EQ(trained.cost("Conv_2/grad1"), trained.cost("Conv_2"));
  EXPECT_EQ(trained.output_bytes("Conv_2/grad0"), 4 * 2 * 16 * 14 * 14);
  EXPECT_EQ(trained.output_bytes("Conv_2/grad1"), 4 * 32 * 16 * 9);
}

TEST(TrainingGraph, ASharedWeightIsUpdatedOnce) {
  Graph graph;
  const ValueId w = weight(graph, "w", {8, 8});
  const ValueId hidden = graph.add("Tanh", {graph.add("MatMul", {input(graph, {8, 8}), w})});
  graph.add_output("y", graph.add("MatMul", {hidden, w}));
  const Trained trained(graph);
  EXPECT_THAT(trained.reads("w/update"), ElementsAre("MatMul_0/total"));
  EXPECT_THAT(trained.reads("MatMul_0/total"),
              UnorderedElementsAre("MatMul_0/grad1", "MatMul_2/grad1"));
}

TEST(TrainingGraph, OfEveryModelUpdatesEachWeightOnce) {
  for (const ModelKind& kind : all_models()) {
    const std::string name(kind.name);
    const Graph model = build_model(name, {.light = true});
    const CostGraph forward = cost_graph_of(model, one_device(), name);
    const CostGraph graph = training_graph_of(model, one_device(), name);
    EXPECT_EQ(graph.order().size(), static_cast<size_t>(graph.size()));  // no cycle
    std::multiset<int64_t> weights, updated;
    for (const NodeId id : model.nodes()) {
      if (!model.is_constant(id)) continue;
      const ValueId value = model.output(id);
      const TensorType& type = model.type(value);
      const WeightPtr& stored = model.weight(id);
      const bool is_statistic =
          stored != nullptr && stored->name().find(".running_") != std::string::npos;
      const bool is_read = std::ranges::any_of(
          model.users(value), [&](NodeId user) { return !model.is_constant(user); });
      if (is_read && is_floating(type.dtype) && type.elements() > 1 && !is_statistic)
        weights.insert(type.bytes());
    }
    for (int node = 0; node < graph.size(); ++node) {
      if (graph.nodes()[static_cast<size_t>(node)].op != "Update") continue;
      ASSERT_EQ(graph.inputs(node).size(), 1u) << name;
      updated.insert(graph.tensors()[static_cast<size_t>(graph.inputs(node)[0])].bytes);
      EXPECT_GE(graph.nodes()[static_cast<size_t>(node)].group, 0) << name;
    }
    EXPECT_EQ(updated, weights) << name;
    EXPECT_GT(updated.size(), 0u) << name;
    Picoseconds of_forward, of_all;
    for (int node = 0; node < forward.size(); ++node) {
      of_forward += forward.cost(node, 0);
      EXPECT_EQ(graph.cost(node, 0), forward.cost(node, 0));
    }
    for (int node = 0; node < graph.size(); ++node) of_all += graph.cost(node, 0);
    // A step takes about three times as long as its forward pass.
    EXPECT_GT(of_all.seconds(), 2 * of_forward.seconds()) << name;
    EXPECT_LT(of_all.seconds(), 5 * of_forward.seconds()) << name;
  }
}

TEST(TrainingGraph, WithoutAGradientIsRefused) {
  Graph cumulative;
  const ValueId x = input(cumulative, {4, 8});
  const ValueId product = cumulative.add("MatMul", {x, weight(cumulative, "w", {8, 8})});
  cumulative.add_output("y", cumulative.add("CumSum", {product}, {{"axis", int64_t{0}}}));
  expect_refused([&] { training_graph_of(cumulative, one_device(), "model"); },
                 "model: CumSum_1: no rule gives the gradient of CumSum");

  Graph fused;
  fused.add_output("y", fused.add("MatMul", {input(fused, {4, 8}), weight(fused, "w", {8, 8})},
                                  {{"activation", std::string("relu")}}));
  expect_refused([&] { training_graph_of(fused, one_device(), "model"); },
                 "model: MatMul_0: MatMul with an activation or residual has no gradient");

  Graph fixed;
  fixed.add_output("y", fixed.add("Pow", {input(fixed, {4, 8}), weight(fixed, "power", {8})}));
  expect_refused([&] { training_graph_of(fixed, one_device(), "model"); },
                 "model: no output depends on a weight");
}

}  // namespace
}  // namespace reverie
