#include "env/rewrite/regions.h"

#include <gtest/gtest.h>

#include <map>

#include "env/environment.h"
#include "tests/support/unary_world.h"

namespace reverie::testing {
namespace {

constexpr int kMost = 64;  // regions

Graph chain(int length) {
  return chains({std::vector<std::string>(static_cast<size_t>(length - 1), "Exp")});
}

/// Work nodes of each region, in the order of the regions.
std::vector<int> sizes(const Graph& graph, const Regions& regions) {
  std::vector<int> sizes(static_cast<size_t>(regions.count()), 0);
  for (const NodeId node : graph.nodes())
    if (graph.is_work(node)) ++sizes[static_cast<size_t>(regions.of(node))];
  return sizes;
}

TEST(Regions, AreFewAndEvenWhereAllCutsAreAlike) {
  EXPECT_EQ(sizes(chain(12), Regions(chain(12), 4, kMost)), (std::vector<int>{4, 4, 4}));
  EXPECT_EQ(Regions(chain(13), 4, kMost).count(), 4);
  EXPECT_EQ(Regions(chain(4), 4, kMost).count(), 1);
  EXPECT_EQ(Regions(chain(5), 4, kMost).count(), 2);
  EXPECT_EQ(Regions(chain(3), 1, kMost).count(), 3);
}

TEST(Regions, AreCutWhereFewValuesAreLive) {
  Graph graph;
  ValueId value = graph.add_input("x", {DType::kFloat32, {4}});
  std::vector<NodeId> joins;
  for (int block = 0; block < 4; ++block) {  // five nodes each, one value live between two blocks
    const ValueId left = graph.add("Exp", {graph.add("Tanh", {value})});
    value = graph.add("Add", {left, graph.add("Exp", {graph.add("Sqrt", {value})})});
    joins.push_back(graph.producer(value));
  }
  graph.add_output("y", value);
  const Regions regions(graph, 6, kMost);
  EXPECT_EQ(sizes(graph, regions), (std::vector<int>{5, 5, 5, 5}));
  for (int block = 0; block < 4; ++block)
    EXPECT_EQ(regions.of(joins[static_cast<size_t>(block)]), block);
}

TEST(Regions, GrowWhereThereWouldBeTooMany) {
  const Graph graph = chain(kMost * 4 + 1);
  const Regions regions(graph, 4, kMost);
  EXPECT_LE(regions.count(), kMost);
  for (const int size : sizes(graph, regions)) {
    EXPECT_LE(size, 5);
    EXPECT_GE(size, 3);
  }
}

TEST(Regions, AreAsManyAsAreAllowed) {
  const Graph graph = chain(400);
  EXPECT_EQ(Regions(graph, 4, 1000).count(), 100);
  EXPECT_EQ(Regions(graph, 4, 3).count(), 3);
  EXPECT_EQ(Regions(graph, 4, 1).count(), 1);
}

TEST(Regions, WithoutACutEverythingLiesInOne) {
  const Graph graph = chain(4);
  for (const NodeId node : graph.nodes()) {
    EXPECT_EQ(Regions().of(node), 0);
    EXPECT_EQ(Regions(graph, 4, kMost).of(node), 0);
  }
}

TEST(Regions, ConstantsAndInputsLieWithTheWorkThatFollows) {
  Graph graph;
  ValueId value = graph.add_input("x", {DType::kFloat32, {4}});
  std::vector<std::pair<NodeId, NodeId>> constants;  // each with its user
  for (int i = 0; i < 6; ++i) {
    const ValueId weight =
        graph.add_constant(Weight::fill({DType::kFloat32, {4}}, 0.1, fmt::format("w{}", i)));
    value = graph.add("Add", {value, weight});
    constants.emplace_back(graph.producer(weight), graph.producer(value));
  }
  graph.add_output("y", value);
  const Regions regions(graph, 2, kMost);
  EXPECT_EQ(regions.count(), 3);
  EXPECT_EQ(regions.of(graph.inputs().front()), 0);
  for (const auto& [constant, user] : constants) EXPECT_EQ(regions.of(constant), regions.of(user));
}

TEST(Regions, NodesThatComeLieWithTheMatch) {
  RewriteState state = unary_state({{"Tanh", "Tanh", "Tanh", "Tanh", "Relu"}});
  Regions regions(state.graph(), 2, kMost);
  ASSERT_EQ(regions.count(), 3);
  const int weigh = unary_rules()->find("weigh"), climb = unary_rules()->find("climb");
  for (const auto& [rule, location] : {std::pair{weigh, 0}, std::pair{climb, 2}}) {
    const Rewrite rewrite = state.propose(state.location(rule, location));
    const int region = regions.of(rewrite.match.root);
    const uint64_t before = regions.hash(state.graph().topological_order());
    const auto old = static_cast<size_t>(state.graph().node_capacity());
    state.commit(rewrite);
    regions.extend(state.graph(), region);
    for (int node = static_cast<int>(old); node < state.graph().node_capacity(); ++node)
      EXPECT_EQ(regions.of({node}), region);
    EXPECT_EQ(regions.hash(state.graph().topological_order()) == before, rule == climb)
        << "one node for another";
  }
}

}  // namespace
}  // namespace reverie::testing
