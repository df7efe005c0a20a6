#include "env/placement/search/brkga.h"

#include <gmock/gmock.h>

#include "env/placement/graph/generator.h"
#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;

constexpr auto kMakespan = PlacementObjective::kMakespan;

TEST(Brkga, GenesAreDecoded) {
  std::vector<CostNode> nodes(3, {.name = "n", .op = "task"});
  nodes[0].group = nodes[2].group = 7;
  const CostGraph graph("groups", {"d"}, nodes, std::vector(3, Picoseconds{1}), {});
  const GeneLayout layout(graph, 2);
  ASSERT_EQ(layout.genes(), 2 * 2 + 3);
  std::vector<double> genes(7, 0.5);  // equal affinities: the first device
  genes[static_cast<size_t>(layout.affinity(layout.entities().of(1), 1))] = 0.75;
  genes[static_cast<size_t>(layout.priority(2))] = 1;
  const Placement placement = layout.decode(genes);
  EXPECT_THAT(placement.device, ElementsAre(0, 1, 0));
  EXPECT_EQ(placement.priority[0], placement.priority[1]);
  EXPECT_GT(placement.priority[2], placement.priority[1]);
}

/// Devices of the first placement that is evaluated, for a Beta of the affinity to device 1.
std::vector<int> drawn(const CostGraph& graph, double alpha, double beta) {
  const Topology topology = ideal_devices(2, "d");
  Evaluator evaluator(graph, topology, kMakespan, {.evaluations = 1});
  const GeneLayout layout(graph, 2);
  GeneBias bias{std::vector<double>(static_cast<size_t>(layout.genes()), 1), {}, {}};
  bias.beta = bias.alpha;
  for (int entity = 0; entity < layout.entities().size(); ++entity) {
    bias.alpha[static_cast<size_t>(layout.affinity(entity, 1))] = alpha;
    bias.beta[static_cast<size_t>(layout.affinity(entity, 1))] = beta;
  }
  brkga(evaluator, {}, bias, Rng(3));
  return evaluator.best().device;
}

TEST(Brkga, GenesAreDrawnFromTheirBetas) {
  // The second is the larger of a uniform value and of Beta(a, b) with probability a / (a + b).
  const CostGraph graph = testing::graph_of(std::vector<int64_t>(4000, 1), {});
  for (const auto& [alpha, beta] : {std::pair{1.0, 1.0}, {3.0, 1.0}, {0.5, 1.5}, {8.0, 72.0}}) {
    const std::vector<int> devices = drawn(graph, alpha, beta);
    EXPECT_NEAR(static_cast<double>(std::ranges::count(devices, 1)) / 4000, alpha / (alpha + beta),
                0.025);
  }
}

/// The mean of the distribution of an entity's affinity to a device.
double mean_affinity(const Simulator& simulator, PlacementObjective objective, int entity,
                     int device) {
  const GeneBias bias = pipeline_bias(simulator, objective);
  const GeneLayout layout(simulator.graph(), simulator.topology().size());
  const auto gene = static_cast<size_t>(layout.affinity(entity, device));
  EXPECT_NEAR(bias.alpha[gene] + bias.beta[gene], 2, 1e-12);
  return bias.alpha[gene] / 2;
}

/// A chain of nodes; device 1 takes `slower` times as long.
CostGraph chain(int size, int64_t slower, int group_of_last = -1) {
  std::vector<CostNode> nodes(static_cast<size_t>(size), {.name = "n", .op = "task"});
  if (group_of_last >= 0) nodes.front().group = nodes.back().group = group_of_last;
  std::vector<CostTensor> tensors;
  std::vector<Picoseconds> costs;
  for (int node = 0; node < size; ++node) {
    costs.insert(costs.end(), {{1000}, {slower * 1000}});
    if (node > 0) tensors.push_back({.producer = node - 1, .bytes = 1, .readers = {node}});
  }
  return CostGraph("chain", {"a", "b"}, nodes, costs, tensors);
}

Topology two_kinds() {
  Topology topology = ideal_devices(2, "a");
  topology.devices[1].kind = "b";
  return topology;
}

TEST(PipelineBias, DevicesTakeStretchesFromEarlyToLate) {
  const CostGraph graph = chain(9, 1);
  const Topology topology = two_kinds();
  const Simulator simulator(graph, topology);
  for (int entity = 0; entity < 9; ++entity) {
    const double first = mean_affinity(simulator, kMakespan, entity, 0);
    const double second = mean_affinity(simulator, kMakespan, entity, 1);
    EXPECT_NEAR(first, mean_affinity(simulator, kMakespan, 8 - entity, 1), 1e-12);
    if (entity < 4) {
      EXPECT_GT(first, second + 0.1);
    }
    if (entity == 4) {
      EXPECT_NEAR(first, second, 1e-12);
    }
  }
}

TEST(PipelineBias, TheFirstNodeOfAGroupTellsItsPosition) {
  const CostGraph graph = chain(9, 1, /*group_of_last=*/7);
  const Topology topology = two_kinds();
  const Simulator simulator(graph, topology);
  EXPECT_GT(mean_affinity(simulator, kMakespan, 0, 0),
            mean_affinity(simulator, kMakespan, 0, 1) + 0.1);
}

TEST(PipelineBias, SlowDevicesTakeShortStretchesWhereTimeCounts) {
  const CostGraph graph = chain(9, 20);
  const Topology topology = two_kinds();
  const Simulator simulator(graph, topology);
  for (int entity = 0; entity < 9; ++entity)
    EXPECT_LT(mean_affinity(simulator, kMakespan, entity, 1), 0.3);
  EXPECT_GT(mean_affinity(simulator, PlacementObjective::kPeakMemory, 8, 1), 0.5);
}

TEST(PipelineBias, NeedsLessMemoryThanUniformGenes) {
  const CostGraph graph = generated_graph("generate:random:400:41");
  const Topology topology = read_topology("2xv100-nvlink");
  const auto peak = [&](const auto& bias_of) {
    Evaluator evaluator(graph, topology, PlacementObjective::kPeakMemory, {.evaluations = 500});
    brkga(evaluator, {}, bias_of(evaluator), Rng(1));
    return evaluator.best_outcome().peak_bytes;
  };
  const int64_t uniform = peak([](Evaluator&) { return GeneBias(); });
  EXPECT_LT(peak([](Evaluator& one) { return pipeline_bias(one.simulator(), one.objective()); }),
            0.97 * static_cast<double>(uniform));
}

TEST(Brkga, TheEliteBiasDecidesWhoseGenesAreTaken) {
  // One elite and no mutants: with bias 1 all children are copies of it.
  Rng rng(5);
  const CostGraph graph = testing::random_cost_graph(30, rng);
  Topology topology = ideal_devices(3, "a");
  const auto best = [&](double bias, int evaluations) {
    Evaluator evaluator(graph, topology, kMakespan, {.evaluations = evaluations});
    const GeneLayout layout(graph, 3);
    const GeneBias biases{{}, {}, std::vector<double>(static_cast<size_t>(layout.genes()), bias)};
    brkga(evaluator, {.population = 10, .elite = 0.1, .mutants = 0}, biases, Rng(1));
    return evaluator.best_outcome().makespan;
  };
  EXPECT_EQ(best(1, 500), best(1, 10));
  EXPECT_LT(best(0.5, 500), best(1, 10));
}

TEST(Brkga, BeatsRandomPlacementsWithEqualEvaluations) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const CostGraph graph = testing::random_cost_graph(40, rng);
    Topology topology = ideal_devices(3, "a");
    topology.devices[2].kind = "b";
    Evaluator genetic(graph, topology, kMakespan, {.evaluations = 3000});
    brkga(genetic, {}, {}, Rng(seed));
    Evaluator drawn(graph, topology, kMakespan, {.evaluations = 3000});
    brkga(drawn, {.population = 3000}, {}, Rng(seed));
    EXPECT_LT(genetic.best_outcome().makespan, drawn.best_outcome().makespan);
  }
}

}  // namespace
}  // namespace reverie
