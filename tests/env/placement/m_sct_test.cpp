#include "env/placement/search/m_sct.h"

#include <gmock/gmock.h>

#include "core/base/error.h"
#include "env/placement/search/heuristics.h"
#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;

/// a and b give f what it reads, a gives g. f is long and soon ready.
CostGraph example() {
  enum { a, b, f, g };
  return testing::graph_of({2, 3, 10, 3},
                           {{.producer = a, .bytes = 1, .transfer = {4}, .readers = {f, g}},
                            {.producer = b, .bytes = 1, .transfer = {1}, .readers = {f}}});
}

TEST(MSct, ADeviceWaitsForTheFavourite) {
  const CostGraph graph = example();
  const Topology topology = ideal_devices(2, "d");
  Simulator simulator(graph, topology);
  EXPECT_EQ(simulator.run(etf(simulator), Dispatch::kInOrder).makespan.count, 15);
  const Placement placement = m_sct(simulator, {2, -1, -1, -1});
  EXPECT_EQ(placement.device[0], placement.device[2]);
  EXPECT_EQ(simulator.run(placement, Dispatch::kInOrder).makespan.count, 14);
}

TEST(MSct, WithoutFavouritesItIsEtf) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const CostGraph graph = testing::random_cost_graph(2 + static_cast<int>(rng.below(25)), rng);
    const Topology topology = testing::random_topology(rng);
    const Simulator simulator(graph, topology);
    const std::vector<int> none(static_cast<size_t>(graph.size()), -1);
    EXPECT_EQ(m_sct(simulator, none).device, etf(simulator).device);
  }
}

TEST(Favourites, OfTheProgramOfTheExample) {
  // The start of f is least for x = 0.4 of its edge from a, and 0.6 of that from b.
  const CostGraph graph = example();
  const Topology topology = ideal_devices(2, "d");
  EXPECT_THAT(favourite_children(Simulator(graph, topology)), ElementsAre(2, -1, -1, -1));
}

TEST(Favourites, AreReadersOfOneNodeAlone) {
  int favourites = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const CostGraph graph = testing::random_cost_graph(2 + static_cast<int>(rng.below(25)), rng);
    const Topology topology = testing::random_topology(rng);
    std::vector<int> of(static_cast<size_t>(graph.size()));
    const std::vector<int> found = favourite_children(Simulator(graph, topology));
    for (int node = 0; node < graph.size(); ++node) {
      const int favourite = found[static_cast<size_t>(node)];
      if (favourite < 0) continue;
      ++favourites;
      EXPECT_EQ(++of[static_cast<size_t>(favourite)], 1);
      int edges = 0;
      for (const int input : graph.inputs(favourite))
        edges += graph.tensors()[static_cast<size_t>(input)].producer == node ? 1 : 0;
      EXPECT_GE(edges, 1);
    }
  }
  EXPECT_GT(favourites, 100);
}

TEST(Favourites, OfLargeGraphsAreRefused) {
  const CostGraph graph =
      testing::graph_of(std::vector<int64_t>(kMostNodesForFavourites + 1, 1), {});
  const Topology topology = ideal_devices(2, "d");
  EXPECT_THROW(favourite_children(Simulator(graph, topology)), InputError);
}

}  // namespace
}  // namespace reverie
