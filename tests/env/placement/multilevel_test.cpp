#include "env/placement/search/multilevel.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

#include "env/placement/graph/generator.h"
#include "env/placement/placement_solver.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/search/plan.h"

namespace reverie {
namespace {

constexpr auto kMakespan = PlacementObjective::kMakespan;

TEST(Multilevel, CoarserJoinsPairsOfOneDeviceWithinTheLimit) {
  const CostGraph graph = generated_graph("generate:branches:500:1");
  const Topology topology = read_topology("8xh100");
  const Simulator simulator(graph, topology);
  const Clusters fine = entity_clusters(graph);
  std::vector<int> device;
  for (const int cluster : fine.of) device.push_back(cluster % 2);
  constexpr double kMost = 0.05;
  Rng rng(1);
  const Clusters coarse = coarser(simulator, fine, kMost, device, rng);
  ASSERT_LT(coarse.count, fine.count);
  std::vector<std::set<int>> parts(static_cast<size_t>(coarse.count)), devices(parts.size());
  std::vector<double> work(parts.size());
  std::map<int, int> of;
  for (size_t node = 0; node < device.size(); ++node) {
    const auto cluster = static_cast<size_t>(coarse.of[node]);
    EXPECT_EQ(of.try_emplace(fine.of[node], coarse.of[node]).first->second, coarse.of[node]);
    parts[cluster].insert(fine.of[node]);
    devices[cluster].insert(device[node]);
    work[cluster] += mean_cost(simulator, static_cast<int>(node));
  }
  const double all = std::accumulate(work.begin(), work.end(), 0.0);
  for (size_t cluster = 0; cluster < parts.size(); ++cluster) {
    EXPECT_GE(parts[cluster].size(), 1u);
    EXPECT_LE(parts[cluster].size(), 2u);
    EXPECT_EQ(devices[cluster].size(), 1u);
    if (parts[cluster].size() == 2) {
      EXPECT_LE(work[cluster], kMost * all);
    }
  }
}

TEST(Multilevel, IsNoWorseThanItsStartAndRepeatsItself) {
  for (const char* name : {"generate:layers:4000:1", "generate:random:4000:1"}) {
    SCOPED_TRACE(name);
    const CostGraph graph = generated_graph(name);
    const Topology topology = read_topology("8xh100");
    std::vector<Placement> found;
    for (int run = 0; run < 2; ++run) {
      Evaluator evaluator(graph, topology, kMakespan, {.evaluations = 60});
      const double start =
          evaluator.cost(evaluator.evaluate(heft(evaluator.simulator()), Dispatch::kInOrder));
      multilevel(evaluator, Rng(1));
      EXPECT_EQ(evaluator.evaluations(), 60);
      EXPECT_LT(evaluator.cost(evaluator.best_outcome()), start);
      found.push_back(evaluator.best());
    }
    EXPECT_EQ(found[0].device, found[1].device);
    EXPECT_EQ(found[0].priority, found[1].priority);
  }
}

TEST(Multilevel, FusionMakesPlacementsOfLargeGraphsNoWorse) {
  const CostGraph graph = generated_graph("generate:random:4000:1");
  const Topology topology = read_topology("8xh100");
  const PlaceMethod& local = place_method(place_methods(), "local");
  Evaluator unfused(graph, topology, kMakespan, {.evaluations = 60});
  local.run(unfused, 1);
  Evaluator fused(graph, topology, kMakespan, {.evaluations = 200},
                  path_fusion(unfused.simulator()));
  local.run(fused, 1);
  EXPECT_EQ(fused.evaluations(), 200);
  EXPECT_LE(fused.cost(fused.best_outcome()), unfused.cost(unfused.best_outcome()));
}

TEST(Multilevel, KeepsGroupsTogether) {
  const CostGraph graph = generated_graph("generate:layers:4000:1");
  const Topology topology = read_topology("8xh100");
  Evaluator evaluator(graph, topology, kMakespan, {.evaluations = 40});
  place_method(place_methods(), "local").run(evaluator, 1);
  std::map<int, int> device;
  for (int node = 0; node < graph.size(); ++node)
    if (const int group = graph.nodes()[static_cast<size_t>(node)].group; group >= 0) {
      const int on = evaluator.best().device[static_cast<size_t>(node)];
      EXPECT_EQ(device.try_emplace(group, on).first->second, on);
    }
}

}  // namespace
}  // namespace reverie
