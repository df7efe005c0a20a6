#include "env/placement/search/brkga.h"

#include <gmock/gmock.h>

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
