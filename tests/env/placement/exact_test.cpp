#include "env/placement/search/exact.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/base/error.h"
#include "env/placement/placement_solver.h"
#include "env/placement/search/exact_bound.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/search/place.h"
#include "env/placement/simulator/bounds.h"
#include "env/placement/simulator/ordered_placement.h"
#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

constexpr auto kMakespan = PlacementObjective::kMakespan;

/// Calls visit(order) for all orders in which nodes come after what they read of.
void for_orders(const CostGraph& graph, std::vector<int>& order, const auto& visit) {
  if (std::ssize(order) == graph.size()) return visit(order);
  const auto is_done = [&](int node) { return std::ranges::count(order, node) > 0; };
  const auto can_run = [&](int node) {
    return std::ranges::all_of(graph.inputs(node), [&](int input) {
      return is_done(graph.tensors()[static_cast<size_t>(input)].producer);
    });
  };
  for (int node = 0; node < graph.size(); ++node) {
    if (is_done(node) || !can_run(node)) continue;
    order.push_back(node);
    for_orders(graph, order, visit);
    order.pop_back();
  }
}

/// The cheapest of all devices and orders.
double cheapest(Evaluator& evaluator) {
  const PlacementEntities entities(evaluator.graph());
  const auto size = static_cast<size_t>(entities.size());
  Placement placement;
  placement.priority.resize(static_cast<size_t>(evaluator.graph().size()));
  double best = std::numeric_limits<double>::infinity();
  std::vector<int> order;
  for_orders(evaluator.graph(), order, [&](const std::vector<int>& all) {
    for (size_t i = 0; i < all.size(); ++i)
      placement.priority[static_cast<size_t>(all[i])] = -static_cast<int64_t>(i);
    std::vector<int> device(size);
    for (size_t at = 0; at < size;) {
      placement.device = entities.spread(device);
      const Outcome outcome = evaluator.simulator().run(placement, Dispatch::kInOrder);
      best = std::min(best, evaluator.cost(outcome));
      for (at = 0; at < size && ++device[at] == evaluator.topology().size(); ++at) device[at] = 0;
    }
  });
  return best;
}

/// Two or three devices; those of one in three are equal.
Topology small_topology(Rng& rng) {
  Topology topology = testing::random_topology(rng);
  while (topology.size() == 1 || topology.size() > 3) topology = testing::random_topology(rng);
  if (rng.below(3) > 0) return topology;
  for (Device& device : topology.devices) device = topology.devices[0];
  for (Link& link : topology.links) link = topology.links[1];
  return topology;
}

/// Up to six nodes; some take no time, and some are in a group.
CostGraph small_graph(Rng& rng) {
  const CostGraph graph = testing::random_cost_graph(2 + static_cast<int>(rng.below(5)), rng);
  if (rng.below(2) == 0) return graph;
  std::vector<CostNode> nodes = graph.nodes();
  std::vector<CostTensor> tensors = graph.tensors();
  std::vector<Picoseconds> costs;
  for (CostNode& node : nodes) {
    node.group = rng.below(3) == 0 ? 1 : -1;
    for (int kind = 0; kind < 2; ++kind) costs.push_back({static_cast<int64_t>(rng.below(4))});
  }
  for (CostTensor& tensor : tensors) tensor.transfer = {static_cast<int64_t>(rng.below(3))};
  return CostGraph("small", graph.kinds(), nodes, costs, tensors);
}

/// Independent nodes on two equal devices; its bounds say 12, and 13 is the best.
CostGraph uneven_graph() { return testing::graph_of({5, 5, 5, 3, 3, 3}, {}); }

TEST(Exact, FindsAndProvesTheCheapestOfAll) {
  int unfit = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const CostGraph graph = small_graph(rng);
    const Topology topology = small_topology(rng);
    Evaluator evaluator(graph, topology,
                        seed % 4 == 0 ? PlacementObjective::kPeakMemory : kMakespan, {});
    evaluator.evaluate(on_one_device(evaluator.simulator(), 0), Dispatch::kInOrder);
    exact_from_best(evaluator);
    const double best = cheapest(evaluator);
    EXPECT_EQ(evaluator.cost(evaluator.best_outcome()), best);
    EXPECT_EQ(evaluator.proved(), best);
    unfit += evaluator.best_outcome().feasible() ? 0 : 1;
  }
  EXPECT_GT(unfit, 0);
  EXPECT_LT(unfit, 100);
}

/// The makespan of the best, from all nodes on the first device.
int64_t best_from_one_device(const CostGraph& graph, const Topology& topology) {
  Evaluator evaluator(graph, topology, kMakespan, {});
  evaluator.evaluate(on_one_device(evaluator.simulator(), 0), Dispatch::kInOrder);
  exact_from_best(evaluator);
  return evaluator.best_outcome().makespan.count;
}

TEST(Exact, EqualDevicesDifferWhereOneIsSentToFirst) {
  // The third node takes long, and gets its tensor first only on a device before the second's.
  const CostGraph graph = testing::graph_of(
      {1, 4, 10, 12}, {{.producer = 0, .bytes = 1, .transfer = {5}, .readers = {1, 2, 3}}});
  Topology topology = ideal_devices(3, "d");
  topology.send_engines = true;
  EXPECT_EQ(best_from_one_device(graph, topology), 16);
}

TEST(Exact, ANodeThatIsReadyMayHaveToWaitWhereItsTensorIsInTheWay) {
  // 1 could be done before 2 begins. But it sends for so long that 4, which reads of 2, is late.
  constexpr int64_t kFar = 100;
  const CostGraph graph("wait", {"a", "b"}, std::vector<CostNode>(5, {.name = "n", .op = "task"}),
                        {{kFar}, {10}, {1}, {kFar}, {1}, {kFar}, {10 * kFar}, {1}, {kFar}, {30}},
                        {{.producer = 0, .bytes = 1, .transfer = {1}, .readers = {2}},
                         {.producer = 1, .bytes = 1, .transfer = {20}, .readers = {3}},
                         {.producer = 2, .bytes = 1, .transfer = {1}, .readers = {4}}});
  Topology topology = ideal_devices(2, "a");
  topology.devices[1].kind = "b";
  EXPECT_EQ(best_from_one_device(graph, topology), 44);
  topology.send_engines = true;
  EXPECT_EQ(best_from_one_device(graph, topology), 44);
}

TEST(Exact, ProvesTwelveNodesOnDevicesThatSendOneByOne) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const CostGraph graph = testing::random_cost_graph(12, rng);
    Topology topology = ideal_devices(2, "a");
    topology.send_engines = topology.receive_engines = true;
    Evaluator evaluator(graph, topology, kMakespan, {.evaluations = 20000});
    exact(evaluator, Rng(1));
    EXPECT_EQ(evaluator.proved(), evaluator.cost(evaluator.best_outcome()));
  }
}

TEST(Exact, ProvesKnownOptimaWithCommunication) {
  const auto files = testing::reference_files("optimal-comm");
  if (files.empty()) GTEST_SKIP() << "no reference data";
  for (const std::string& file : files) {
    const testing::ExactCase one(file);
    Evaluator evaluator(one.graph, one.topology, kMakespan, {.evaluations = 200000});
    exact(evaluator, Rng(1));
    EXPECT_EQ(evaluator.best_outcome().makespan.count, one.optimal) << file;
    EXPECT_EQ(evaluator.proved(), static_cast<double>(one.optimal)) << file;
  }
}

TEST(Exact, WhereItEndsEarlyItsBoundHolds) {
  int open = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const CostGraph graph = testing::random_cost_graph(9, rng);
    const Topology topology = small_topology(rng);
    Evaluator all(graph, topology, kMakespan, {}),
        part(graph, topology, kMakespan, {.evaluations = 60});
    exact(all, Rng(1));
    exact(part, Rng(1));
    EXPECT_LE(part.evaluations(), 60);
    EXPECT_LE(part.proved(), all.proved());
    EXPECT_GE(part.proved(), static_cast<double>(interval_bound(graph, topology).count));
    open += part.proved() < all.proved() ? 1 : 0;
  }
  EXPECT_GT(open, 0);
}

TEST(Exact, PlaceShowsWhatItProved) {
  const CostGraph graph = uneven_graph();
  const Topology topology = ideal_devices(2, "d");
  ASSERT_EQ(lower_bound(graph, topology).count, 12);
  const PlaceMethod method = place_method(place_methods(), "exact");
  const PlaceResult result = place(graph, topology, std::span(&method, 1), {});
  EXPECT_EQ(result.methods[0].outcome.makespan.count, 13);
  EXPECT_EQ(result.bound.count, 13);
}

TEST(Exact, ProvesNothingWhereNodesAreFused) {
  // Together they take as long as the second alone.
  const CostGraph graph(
      "two", {"d"}, {{"a", "op"}, {"b", "op"}}, {{5}, {9}},
      {{.producer = 0, .bytes = 4, .readers = {1}}},
      CostParts{.kinds = {{1e12, {1}}}, .arithmetic = {{0}, {8}}, .moved_bytes = {4, 4}});
  const Topology topology = ideal_devices(2, "d");
  Evaluator fused(graph, topology, kMakespan, {.evaluations = 100}, {1, 1});
  exact(fused, Rng(1));
  EXPECT_EQ(fused.best_outcome().makespan.count, 9);
  EXPECT_EQ(fused.proved(), 0);
  EXPECT_LE(fused.evaluations(), 100);
  Evaluator plain(graph, topology, kMakespan, {.evaluations = 100});
  exact(plain, Rng(1));
  EXPECT_EQ(plain.proved(), 14);
}

TEST(Exact, RefusesLargeGraphs) {
  const CostGraph graph = testing::graph_of(std::vector<int64_t>(kMostNodesForExact + 1, 1), {});
  const Topology topology = ideal_devices(2, "d");
  Evaluator evaluator(graph, topology, kMakespan, {.evaluations = 10});
  EXPECT_THROW(exact(evaluator, Rng(1)), InputError);
}

TEST(OneMachineBound, LongTailsInterruptOtherJobs) {
  // The first job runs up to 2, the second up to 5, and the first up to 8; the third waits.
  std::vector<MachineJob> jobs{{0, 5, 1}, {2, 3, 7}, {3, 2, 0}};
  EXPECT_EQ(one_machine_bound(jobs), 12);
  jobs = {{0, 5, 6}, {2, 3, 1}, {9, 2, 0}};
  EXPECT_EQ(one_machine_bound(jobs), 11);
  jobs = {{4, 0, 3}};
  EXPECT_EQ(one_machine_bound(jobs), 7);
}

}  // namespace
}  // namespace reverie
