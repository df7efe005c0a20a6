#include "env/placement/simulator/fusion.h"

#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <set>

#include "env/placement/graph/generator.h"
#include "tests/env/placement/expect_refused.h"
#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;
using testing::expect_refused;

struct Work {
  int64_t arithmetic;  ///< picoseconds
  int64_t moved;       ///< bytes, each 10 picoseconds
  int64_t persistent = 0;
  int group = -1;
};

/// On kind "d", whose launch takes 1000 picoseconds.
CostGraph graph_of(const std::vector<Work>& works, std::vector<CostTensor> tensors) {
  std::vector<CostNode> nodes;
  std::vector<Picoseconds> costs;
  CostParts parts{.kinds = {{1e11, {1000}}}, .arithmetic = {}, .moved_bytes = {}};
  for (const Work& work : works) {
    nodes.push_back({.name = fmt::format("n{}", nodes.size()),
                     .op = fmt::format("op{}", nodes.size()),
                     .persistent_bytes = work.persistent,
                     .temporary_bytes = 1,
                     .group = work.group});
    costs.push_back({1000 + std::max(work.arithmetic, 10 * work.moved)});
    parts.arithmetic.push_back({work.arithmetic});
    parts.moved_bytes.push_back(work.moved);
  }
  return CostGraph("graph", {"d"}, nodes, costs, std::move(tensors), parts);
}

/// 0 -> 1 -> 2, of which 0 and 2 read a tensor of 3; all give out 40 bytes.
CostGraph chain() {
  return graph_of({{900, 130, 50}, {30, 80}, {20, 120, 7}, {0, 40}},
                  {{.producer = 0, .bytes = 40, .readers = {1}},
                   {.producer = 1, .bytes = 40, .readers = {2}},
                   {.producer = 2, .bytes = 40, .readers = {}},
                   {.producer = 3, .bytes = 40, .readers = {0, 2}}});
}

TEST(Fusion, CostsOfAPairAreThoseByHand) {
  const FusedGraph fused = fuse(chain(), {5, 5, 2, 3});
  const CostGraph& graph = fused.graph;
  EXPECT_THAT(fused.node_of, ElementsAre(0, 0, 1, 2));
  // 130 + 80 bytes, but that neither 0 writes its 40 nor 1 reads them.
  EXPECT_EQ(graph.parts()->moved_bytes[0], 130);
  EXPECT_EQ(graph.parts()->arithmetic[0].count, 930);
  EXPECT_EQ(graph.cost(0, 0).count, 1000 + 1300);
  EXPECT_EQ(graph.nodes()[0].name, "n0+1");
  EXPECT_EQ(graph.nodes()[0].op, "op0");
  EXPECT_EQ(graph.nodes()[0].persistent_bytes, 50);
  EXPECT_EQ(graph.nodes()[0].temporary_bytes, 2);
  EXPECT_EQ(graph.cost(1, 0), chain().cost(2, 0));
  ASSERT_EQ(graph.tensors().size(), 3u);
  EXPECT_THAT(graph.tensors()[0].readers, ElementsAre(1));
  EXPECT_THAT(graph.tensors()[1].readers, ElementsAre());
  EXPECT_THAT(graph.tensors()[2].readers, ElementsAre(0, 1));
}

TEST(Fusion, WhatTwoReadIsReadOnce) {
  const FusedGraph fused = fuse(chain(), {0, 0, 0, 1});
  // 330 bytes, without twice 80 inside and without the second reading of what 3 gives out.
  EXPECT_EQ(fused.graph.parts()->moved_bytes[0], 330 - 160 - 40);
  EXPECT_EQ(fused.graph.cost(0, 0).count, 1000 + 1300);
  EXPECT_THAT(fused.graph.tensors()[1].readers, ElementsAre(0));
}

TEST(Fusion, ArithmeticDecidesWhereItTakesLonger) {
  const CostGraph graph =
      graph_of({{5000, 20}, {4000, 20}}, {{.producer = 0, .bytes = 10, .readers = {1}}});
  EXPECT_EQ(fuse(graph, {0, 0}).graph.cost(0, 0).count, 1000 + 9000);
}

TEST(Fusion, WhatOthersReadIsStillWritten) {
  const CostGraph graph =
      graph_of({{0, 50}, {0, 50}, {0, 50}}, {{.producer = 0, .bytes = 50, .readers = {1, 2}},
                                             {.producer = 1, .bytes = 5, .readers = {2}}});
  EXPECT_EQ(fuse(graph, {0, 0, 1}).graph.parts()->moved_bytes[0], 50);
  EXPECT_EQ(fuse(graph, {0, 0, 1}).graph.tensors().size(), 2u);
}

TEST(Fusion, JoinsColocationGroups) {
  const CostGraph graph = graph_of({{0, 1, 0, 7}, {0, 1, 0, 3}, {0, 1, 0, 7}, {0, 1}, {0, 1, 0, 5}},
                                   {{.producer = 0, .bytes = 1, .readers = {1, 3}}});
  const CostGraph& fused = fuse(graph, {0, 0, 1, 2, 3}).graph;
  std::vector<int> groups;
  for (const CostNode& node : fused.nodes()) groups.push_back(node.group);
  EXPECT_THAT(groups, ElementsAre(3, 3, -1, 5));
}

TEST(Fusion, IsRefusedWithTheReason) {
  expect_refused(
      [] {
        fuse(testing::graph_of({1, 1}, {}), {0, 0});
      },
      "'graph' cannot be fused: it gives costs, but not what they are made of");
  expect_refused([] { fuse(chain(), {0, 1, 0, 3}); }, "nodes of 'graph' that wait for each other");
  expect_refused([] { fuse(chain(), {0, 1}); }, "2 clusters do not fit a graph of 4 nodes");
  const Topology topology = ideal_devices(1, "d");
  const CostGraph plain = testing::graph_of({1, 1}, {});
  expect_refused([&] { Fusion(plain, topology, {0, 0}); }, "'graph' cannot be fused");
}

/// The costs of `random_cost_graph` with parts that are drawn.
CostGraph random_graph(int size, Rng& rng) {
  const CostGraph drawn = testing::random_cost_graph(size, rng);
  CostParts parts{.kinds = {{1e12, {1}}, {5e11, {2}}}, .arithmetic = {}, .moved_bytes = {}};
  std::vector<Picoseconds> costs;
  for (int node = 0; node < size; ++node) {
    for (int kind = 0; kind < 2; ++kind) {
      costs.push_back(drawn.cost(node, kind));
      parts.arithmetic.push_back({static_cast<int64_t>(rng.below(30))});
    }
    parts.moved_bytes.push_back(static_cast<int64_t>(rng.below(90)));
  }
  return CostGraph("random", {"a", "b"}, drawn.nodes(), costs, drawn.tensors(), parts);
}

/// Whether a walk along tensors leaves a cluster and comes back to it.
bool naive_has_cycle(const CostGraph& graph, const std::vector<int>& cluster) {
  for (int start = 0; start < graph.size(); ++start) {
    const int home = cluster[static_cast<size_t>(start)];
    std::set<int> seen;
    std::function<bool(int)> walk = [&](int from) {
      for (int node = 0; node < graph.size(); ++node) {
        if (cluster[static_cast<size_t>(node)] != from) continue;
        for (const CostTensor& tensor : graph.tensors()) {
          if (tensor.producer != node) continue;
          for (const int reader : tensor.readers) {
            const int to = cluster[static_cast<size_t>(reader)];
            if (to == from) continue;
            if (to == home) return true;
            if (seen.insert(to).second && walk(to)) return true;
          }
        }
      }
      return false;
    };
    if (walk(home)) return true;
  }
  return false;
}

TEST(Fusion, IsIllegalWhereAWalkComesBack) {
  Rng rng(11);
  int legal = 0;
  for (int i = 0; i < 400; ++i) {
    const CostGraph graph = random_graph(3 + i % 8, rng);
    std::vector<int> cluster;
    for (int node = 0; node < graph.size(); ++node)
      cluster.push_back(static_cast<int>(rng.below(2) == 0
                                             ? rng.below(static_cast<uint64_t>(graph.size()))
                                             : static_cast<uint64_t>(node)));
    const bool expected = !naive_has_cycle(graph, cluster);
    legal += expected;
    ASSERT_EQ(can_fuse(graph, cluster), expected);
    if (!expected) expect_refused([&] { fuse(graph, cluster); }, "wait for each other");
    if (expected) fuse(graph, cluster);
  }
  EXPECT_GT(legal, 50);
  EXPECT_LT(legal, 350);
}

bool is_heavy(const CostGraph& graph, int node, int kind) {
  const CostParts& parts = *graph.parts();
  return 1e-12 * static_cast<double>(parts.arithmetic[static_cast<size_t>(2 * node + kind)].count) *
             parts.kinds[static_cast<size_t>(kind)].bytes_per_second >
         static_cast<double>(parts.moved_bytes[static_cast<size_t>(node)]);
}

int heavy_nodes(const CostGraph& graph, const std::vector<int>& clusters, int of, int kind) {
  int heavy = 0;
  for (int node = 0; node < graph.size(); ++node)
    if (clusters[static_cast<size_t>(node)] == of) heavy += is_heavy(graph, node, kind);
  return heavy;
}

TEST(Fusion, StepByStepAllowsWhatIsLegalAtOnce) {
  Rng rng(12);
  int merges = 0, refusals = 0;
  for (int i = 0; i < 100; ++i) {
    const CostGraph graph = random_graph(4 + i % 12, rng);
    Topology topology = ideal_devices(2, "a");
    topology.devices[1].kind = "b";
    const auto pick = [&] {
      return static_cast<int>(rng.below(static_cast<uint64_t>(graph.size())));
    };
    std::vector<int> device;
    for (int node = 0; node < graph.size(); ++node) device.push_back(rng.below(4) == 0 ? 1 : 0);
    Fusion fusion(graph, topology, device);
    for (int step = 0; step < 4 * graph.size(); ++step) {
      const int one = pick(), other = pick();
      std::vector<int> next = fusion.clusters();
      const int from = next[static_cast<size_t>(one)], to = next[static_cast<size_t>(other)];
      std::ranges::replace(next, from, to);
      const int on = device[static_cast<size_t>(one)];
      const bool expected = from != to && on == device[static_cast<size_t>(other)] &&
                            heavy_nodes(graph, next, to, on) <= 1 && can_fuse(graph, next);
      ASSERT_EQ(fusion.allows(one, other), expected) << i << " " << step;
      refusals += !expected;
      if (!expected) continue;
      const Picoseconds before = fusion.cost(), change = fusion.change(one, other);
      fusion.merge(one, other);
      ++merges;
      EXPECT_EQ(fusion.cost(), before + change);
    }
    const FusedGraph fused = fuse(graph, fusion.clusters());
    const Placement placement = fused_placement(fused, {device, {}}, Dispatch::kReady);
    Picoseconds total;
    for (int node = 0; node < fused.graph.size(); ++node)
      total += fused.graph.cost(node, placement.device[static_cast<size_t>(node)]);
    EXPECT_EQ(total, fusion.cost());
  }
  EXPECT_GT(merges, 100);
  EXPECT_GT(refusals, 1000);
}

TEST(Fusion, LeavesAloneWhatStartsNoKernel) {
  const CostGraph graph =
      CostGraph("inputs", {"d"}, {{.name = "x", .op = "Input"}, {.name = "y", .op = "Relu"}},
                {{0}, {50}}, {{.producer = 0, .bytes = 4, .readers = {1}}},
                CostParts{.kinds = {{1e12, {1}}}, .arithmetic = {{0}, {3}}, .moved_bytes = {0, 8}});
  EXPECT_FALSE(can_fuse(graph, {0, 0}));
  const Topology topology = ideal_devices(1, "d");
  EXPECT_FALSE(Fusion(graph, topology, {0, 0}).allows(0, 1));
}

TEST(GreedyFusion, TakesTheHighestPriorityFirst) {
  // 0 and 1 take long for arithmetic, and 2 reads from both.
  const CostGraph graph = graph_of(
      {{900, 20}, {900, 20}, {5, 20}},
      {{.producer = 0, .bytes = 10, .readers = {2}}, {.producer = 1, .bytes = 10, .readers = {2}}});
  const Topology topology = ideal_devices(1, "d");
  const Simulator simulator(graph, topology);
  const auto with = [&](const std::vector<double>& priority) {
    return fuse(graph, greedy_fusion(simulator, {{0, 0, 0}, {}}, priority)).node_of;
  };
  EXPECT_THAT(with({2, 1, 0}), ElementsAre(0, 1, 0));
  EXPECT_THAT(with({1, 2, 0}), ElementsAre(0, 1, 1));
  EXPECT_THAT(with({-2, 0, 0}), ElementsAre(0, 1, 1));
  EXPECT_THAT(with({-2, -1, 0}), ElementsAre(0, 1, 2)) << "2 gives nothing that is read";
}

TEST(GreedyFusion, FusesOnOneDeviceOnly) {
  // 1 and 2 both read from 0, and both take long for arithmetic: 0 is fused with one of them only.
  const CostGraph graph = graph_of({{10, 20}, {900, 20}, {900, 20}, {5, 9}},
                                   {{.producer = 0, .bytes = 10, .readers = {1, 2}},
                                    {.producer = 2, .bytes = 4, .readers = {3}}});
  const Topology topology = ideal_devices(2, "d");
  const Simulator simulator(graph, topology);
  const auto clusters = [&](std::vector<int> device, std::vector<double> priority) {
    return fuse(graph, greedy_fusion(simulator, {std::move(device), {}}, priority)).node_of;
  };
  EXPECT_THAT(clusters({0, 0, 0, 0}, {1, 0, 0, 0}), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(clusters({0, 1, 0, 0}, {1, 0, 0, 0}), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(clusters({0, 1, 1, 0}, {1, 0, 0, 0}), ElementsAre(0, 1, 2, 3));
}

TEST(GreedyFusion, NeverCostsMoreAndCanBePlaced) {
  for (const char* family : {"layers", "branches", "recurrent", "random"}) {
    const CostGraph graph = generate_graph({.family = family, .nodes = 600, .seed = 4});
    const Topology topology = read_topology("2xv100-nvlink");
    Simulator simulator(graph, topology);
    Rng rng(3);
    Placement placement;
    std::vector<double> priority;
    for (int node = 0; node < graph.size(); ++node) {
      placement.device.push_back(static_cast<int>(rng.below(2)));
      placement.priority.push_back(static_cast<int64_t>(rng.below(50)));
      priority.push_back(rng.uniform());
    }
    const FusedGraph fused = fuse(graph, greedy_fusion(simulator, placement, priority));
    EXPECT_LT(fused.graph.size(), graph.size()) << family;
    const int kind = graph.kind_named("v100");
    Picoseconds before, after;
    for (int node = 0; node < graph.size(); ++node) before += graph.cost(node, kind);
    for (int node = 0; node < fused.graph.size(); ++node) after += fused.graph.cost(node, kind);
    EXPECT_LT(after, before) << family;
    Simulator of_fused(fused.graph, topology);
    of_fused.run(fused_placement(fused, placement, Dispatch::kInOrder), Dispatch::kInOrder);
  }
}

TEST(GreedyFusion, AKernelHasAtMostSoManyNodes) {
  constexpr int kNodes = 100;
  std::vector<CostTensor> tensors;
  for (int node = 0; node + 1 < kNodes; ++node)
    tensors.push_back({.producer = node, .bytes = 4, .readers = {node + 1}});
  const CostGraph graph = graph_of(std::vector<Work>(kNodes, {5, 8}), tensors);
  const Topology topology = ideal_devices(1, "d");
  const FusedGraph fused =
      fuse(graph, greedy_fusion(Simulator(graph, topology), {std::vector<int>(kNodes), {}},
                                std::vector<double>(kNodes)));
  std::map<int, size_t> sizes;
  for (const int node : fused.node_of) ++sizes[node];
  EXPECT_THAT(sizes, ElementsAre(::testing::Pair(0, 64), ::testing::Pair(1, 36)));
}

TEST(KernelsOf, KeepWhatIsAllowedAndPartTheRest) {
  const CostGraph graph = chain();
  const Topology topology = ideal_devices(2, "d");
  const Simulator simulator(graph, topology);
  const auto kernels = [&](std::vector<int> device, std::vector<int> kernel) {
    return fuse(graph, kernels_of(simulator, {std::move(device), {}, std::move(kernel)})).node_of;
  };
  EXPECT_THAT(kernels({0, 0, 0, 0}, {7, 7, 7, 2}), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(kernels({0, 0, 1, 0}, {7, 7, 7, 7}), ElementsAre(0, 0, 1, 0));
  // 3 gives 0 and 2 a tensor: without 1 they would wait for themselves.
  EXPECT_THAT(kernels({0, 1, 0, 0}, {7, 7, 7, 7}), ElementsAre(0, 1, 2, 0));
  // 1 and 2 give each other nothing, but read the same.
  const CostGraph fork =
      graph_of({{0, 20}, {0, 20}, {0, 20}}, {{.producer = 0, .bytes = 10, .readers = {1, 2}}});
  EXPECT_THAT(fuse(fork, kernels_of(Simulator(fork, topology), {{0, 0, 0}, {}, {1, 2, 2}})).node_of,
              ElementsAre(0, 1, 1));
  const CostGraph heavy =
      graph_of({{900, 20}, {900, 20}}, {{.producer = 0, .bytes = 10, .readers = {1}}});
  EXPECT_THAT(kernels_of(Simulator(heavy, topology), {{0, 0}, {}, {3, 3}}), ElementsAre(0, 1));
  expect_refused(
      [&] {
        kernels({0, 0, 0, 0}, {1, 1});
      },
      "4 devices and 2 numbers of kernels do not fit a graph of 4 nodes");
  expect_refused([&] { kernels({0, 0, 2, 0}, {1, 1, 1, 1}); }, "there is no device 2; there are 2");
}

TEST(KernelsOf, ComeToThemselves) {
  Rng rng(14);
  int parted = 0;
  for (int i = 0; i < 200; ++i) {
    const CostGraph graph = random_graph(4 + i % 12, rng);
    Topology topology = ideal_devices(2, "a");
    topology.devices[1].kind = "b";
    const Simulator simulator(graph, topology);
    Placement placement;
    std::vector<double> priority;
    for (int node = 0; node < graph.size(); ++node) {
      placement.device.push_back(rng.below(4) == 0 ? 1 : 0);
      placement.kernel.push_back(static_cast<int>(rng.below(4)));
      priority.push_back(rng.uniform());
    }
    const std::vector<int> asked = placement.kernel;
    for (const auto& kernel :
         {kernels_of(simulator, placement), greedy_fusion(simulator, placement, priority)}) {
      placement.kernel = kernel;
      EXPECT_EQ(fuse(graph, kernels_of(simulator, placement)).node_of, fuse(graph, kernel).node_of);
    }
    placement.kernel = asked;
    const std::vector<int> kernel = kernels_of(simulator, placement);
    for (size_t a = 0; a < kernel.size(); ++a)
      for (size_t b = 0; b < a; ++b) {
        if (kernel[a] == kernel[b]) {
          EXPECT_EQ(asked[a], asked[b]);
          EXPECT_EQ(placement.device[a], placement.device[b]);
        } else if (asked[a] == asked[b]) {
          parted += placement.device[a] == placement.device[b];
        }
      }
  }
  EXPECT_GT(parted, 100);
}

TEST(FusedPlacement, IsRefusedWhereNodesAreApart) {
  const FusedGraph fused = fuse(chain(), {0, 0, 1, 2});
  expect_refused(
      [&] {
        fused_placement(fused, {{0, 1, 0, 0}, {}}, Dispatch::kReady);
      },
      "fused node 'n0+1' is on devices 0 and 1");
}

}  // namespace
}  // namespace reverie
