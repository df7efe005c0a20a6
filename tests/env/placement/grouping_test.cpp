#include "env/placement/simulator/grouping.h"

#include <gtest/gtest.h>

#include <set>

#include "env/placement/graph/generator.h"
#include "env/placement/simulator/ordered_placement.h"
#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

std::vector<int> groups_of(const CostGraph& graph) {
  std::vector<int> groups;
  for (const CostNode& node : graph.nodes()) groups.push_back(node.group);
  return groups;
}

TEST(Grouping, AGraphThatIsSmallEnoughStaysAsItIs) {
  const CostGraph graph = testing::graph_of({1, 1, 1}, {{.producer = 0, .readers = {1, 2}}});
  EXPECT_EQ(PlacementEntities(grouped(graph, 3)).size(), 3);
}

TEST(Grouping, WhatOneAloneReadsJoinsItTheSmallestFirst) {
  // 0 -> 1 -> 2 and 0 -> 3; 4 -> 5, which are the smallest pair.
  const CostGraph graph = testing::graph_of({9, 9, 9, 9, 1, 1}, {{.producer = 0, .readers = {1, 3}},
                                                                 {.producer = 1, .readers = {2}},
                                                                 {.producer = 4, .readers = {5}}});
  const std::vector<int> five = groups_of(grouped(graph, 5)), four = groups_of(grouped(graph, 4));
  EXPECT_EQ(five[4], five[5]);
  EXPECT_EQ(std::set(five.begin(), five.end()).size(), 5);
  EXPECT_EQ(four[4], four[5]);
  EXPECT_EQ(four[1], four[2]);
  EXPECT_EQ(std::set(four.begin(), four.end()).size(), 4);
}

TEST(Grouping, WhereAllAreReadBySeveralThereAreAsManyGroupsAsAskedFor) {
  const CostGraph graph = generate_graph({.family = "branches", .nodes = 200, .seed = 1});
  for (const int most : {48, 32, 9})
    EXPECT_EQ(PlacementEntities(grouped(graph, most)).size(), most);
}

TEST(Grouping, OwnGroupsStayWhole) {
  std::vector<CostNode> nodes(4, {.name = "n", .op = "task"});
  nodes[0].group = nodes[3].group = 7;
  const CostGraph graph("own", {"d"}, nodes, std::vector(4, Picoseconds{1}), {});
  const std::vector<int> groups = groups_of(grouped(graph, 2));
  EXPECT_EQ(groups[0], groups[3]);
  EXPECT_EQ(std::set(groups.begin(), groups.end()).size(), 2);
}

TEST(Grouping, NeverMoreThanAskedForAndOfAboutEqualWork) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const CostGraph graph = testing::random_cost_graph(30, rng);
    for (const int most : {1, 2, 7})
      EXPECT_LE(PlacementEntities(grouped(graph, most)).size(), most);
  }
  const CostGraph even = testing::graph_of(std::vector<int64_t>(12, 5), {});
  const std::vector<int> groups = groups_of(grouped(even, 4));
  for (const int group : groups) EXPECT_EQ(std::ranges::count(groups, group), 3);
}

TEST(Grouping, GroupedByAnotherOfTheSameStructureHasItsGroupsAndItsOwnCosts) {
  const CostGraph by = testing::graph_of({9, 1, 1, 1}, {});
  const CostGraph graph = testing::graph_of({1, 1, 1, 9}, {});
  const CostGraph both = grouped_by(by, graph, 2);
  EXPECT_EQ(groups_of(both), groups_of(grouped(by, 2)));
  EXPECT_NE(groups_of(both), groups_of(grouped(graph, 2)));
  EXPECT_EQ(both.cost(3, 0).count, 9);
}

}  // namespace
}  // namespace reverie
