
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "env/placement/graph/generator.h"
#include "env/placement/placement_solver.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/simulator/bounds.h"
#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

constexpr auto kMakespan = PlacementObjective::kMakespan;

TEST(Evaluator, KeepsTheFirstOfTheCheapestAndCounts) {
  const CostGraph graph = testing::graph_of({3, 4, 5}, {});
  const Topology topology = ideal_devices(2, "d");
  Evaluator evaluator(graph, topology, kMakespan, {.evaluations = 3});
  EXPECT_FALSE(evaluator.has_best());
  evaluator.evaluate({{0, 0, 0}, {}});
  evaluator.evaluate({{0, 0, 1}, {}});
  EXPECT_FALSE(evaluator.spent());
  evaluator.evaluate({{1, 1, 0}, {}});
  EXPECT_TRUE(evaluator.spent());
  EXPECT_EQ(evaluator.evaluations(), 3);
  EXPECT_EQ(evaluator.best().device, (std::vector<int>{0, 0, 1}));
  EXPECT_EQ(evaluator.best_outcome().makespan.count, 7);
}

TEST(Evaluator, EndsWhereNothingCanBeBetter) {
  const CostGraph graph = testing::graph_of({3, 4}, {});
  const Topology topology = ideal_devices(2, "d");
  Evaluator evaluator(graph, topology, kMakespan, {.evaluations = 100, .enough = 4});
  evaluator.evaluate({{0, 0}, {}});
  EXPECT_FALSE(evaluator.spent());
  evaluator.evaluate({{0, 1}, {}});
  EXPECT_TRUE(evaluator.spent());
}

TEST(Evaluator, TheBestGivesItsScheduleInOrder) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const CostGraph graph = testing::random_cost_graph(2 + static_cast<int>(rng.below(12)), rng);
    const Topology topology = testing::random_topology(rng);
    Evaluator evaluator(graph, topology, kMakespan, {});
    const Outcome outcome = evaluator.evaluate(testing::random_placement(graph, topology, rng));
    EXPECT_EQ(Simulator(graph, topology).run(evaluator.best(), Dispatch::kInOrder), outcome);
  }
}

TEST(Evaluator, PeakMemoryIsAnObjective) {
  const std::vector<CostNode> nodes(2, {.name = "n", .op = "task", .persistent_bytes = 10});
  const CostGraph graph("memory", {"d"}, nodes, {{5}, {5}},
                        {{.producer = 0, .bytes = 1, .transfer = {90}, .readers = {1}}});
  const Topology topology = ideal_devices(2, "d");
  Evaluator evaluator(graph, topology, PlacementObjective::kPeakMemory, {});
  evaluator.evaluate({{0, 0}, {}});
  evaluator.evaluate({{0, 1}, {}});
  EXPECT_EQ(evaluator.best().device, (std::vector<int>{0, 1}));
  EXPECT_EQ(evaluator.cost(evaluator.best_outcome()), 11);
}

class PlaceMethods : public ::testing::TestWithParam<size_t> {
 protected:
  const PlaceMethod& method() const { return place_methods()[GetParam()]; }
};

TEST_P(PlaceMethods, KeepTheirBudgetAndRepeatThemselves) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const CostGraph graph = testing::random_cost_graph(2 + static_cast<int>(rng.below(12)), rng);
    const Topology topology = testing::random_topology(rng);
    std::vector<Placement> found;
    for (int run = 0; run < 2; ++run) {
      Evaluator evaluator(graph, topology, kMakespan, {.evaluations = 150});
      method().run(evaluator, seed);
      ASSERT_TRUE(evaluator.has_best());
      EXPECT_LE(evaluator.evaluations(), 150);
      EXPECT_GE(evaluator.best_outcome().makespan, interval_bound(graph, topology));
      found.push_back(evaluator.best());
    }
    EXPECT_EQ(found[0].device, found[1].device);
    EXPECT_EQ(found[0].priority, found[1].priority);
  }
}

TEST_P(PlaceMethods, KeepGroupsTogether) {
  std::vector<CostNode> nodes(6, {.name = "n", .op = "task"});
  nodes[0].group = nodes[3].group = nodes[5].group = 4;
  const CostGraph graph("groups", {"d"}, nodes, std::vector(6, Picoseconds{2}), {});
  const Topology topology = ideal_devices(3, "d");
  Evaluator evaluator(graph, topology, kMakespan, {.evaluations = 200});
  method().run(evaluator, 1);
  const std::vector<int>& device = evaluator.best().device;
  EXPECT_EQ(device[0], device[3]);
  EXPECT_EQ(device[0], device[5]);
}

INSTANTIATE_TEST_SUITE_P(All, PlaceMethods, ::testing::Range(size_t{0}, place_methods().size()),
                         [](const auto& one) { return place_methods()[one.param].name; });

TEST(PlaceMethod, UnknownNamesAreToldWithThoseThatThereAre) {
  EXPECT_THROW(place_method(place_methods(), "magic"), InputError);
}

TEST(PlaceMethod, AnnealingEndsWhenItsSecondsAreOver) {
  const CostGraph graph = generated_graph("generate:layers:120:1");
  const Topology topology = read_topology("2xv100-nvlink");
  for (const double seconds : {1e-9, 1e-3, 0.02}) {
    Evaluator evaluator(graph, topology, kMakespan, {.seconds = seconds});
    place_method(place_methods(), "annealing").run(evaluator, 1);
    EXPECT_TRUE(evaluator.spent());
  }
}

TEST(PlaceMethod, SearchesFindNineOfTenOptimaWithCommunication) {
  const auto files = testing::reference_files("optimal-comm");
  if (files.empty()) GTEST_SKIP() << "no reference data";
  for (const char* name : {"local", "annealing"}) {
    int found = 0;
    for (const std::string& file : files) {
      const testing::ExactCase one(file);
      Evaluator evaluator(one.graph, one.topology, kMakespan,
                          {.evaluations = 20000, .enough = static_cast<double>(one.optimal)});
      place_method(place_methods(), name).run(evaluator, 1);
      EXPECT_GE(evaluator.best_outcome().makespan.count, one.optimal) << file;
      found += evaluator.best_outcome().makespan.count == one.optimal ? 1 : 0;
    }
    EXPECT_GE(found, name == std::string("local") ? 69 : 64) << name << ", of " << files.size();
  }
}

TEST(PlaceMethod, LocalSearchIsNeverWorseThanAQuickHeuristic) {
  for (const char* name : {"generate:recurrent:200:31", "generate:branches:200:31"}) {
    SCOPED_TRACE(name);
    const Topology topology = read_topology("8xh100");
    const CostGraph graph = generated_graph(name);
    const auto cost_of = [&](const char* method) {
      Evaluator evaluator(graph, topology, kMakespan, {.evaluations = 10});
      place_method(place_methods(), method).run(evaluator, 1);
      return evaluator.cost(evaluator.best_outcome());
    };
    for (const char* heuristic : {"m_topo", "etf", "heft"})
      EXPECT_LE(cost_of("local"), cost_of(heuristic)) << heuristic;
  }
}

TEST(PlaceMethod, LocalSearchFindsNineteenOfTwentyOptimaWithoutCommunication) {
  const auto files = testing::reference_files("optimal");
  if (files.empty()) GTEST_SKIP() << "no reference data";
  int found = 0, known = 0;
  for (const std::string& file : files) {
    const Json json = Json::parse(read_file(file));
    const CostGraph graph = read_cost_graph(file);
    for (const Json& row : json.at("reference").array()) {
      const Json* optimal = row.find("optimal");
      if (optimal == nullptr || optimal->is_null()) continue;
      ++known;
      const Topology topology = ideal_devices(row.at("processors").get<int>(), "processor");
      const auto best = static_cast<double>(optimal->get<int64_t>() * testing::ExactCase::kUnit);
      Evaluator evaluator(graph, topology, kMakespan, {.evaluations = 10000, .enough = best});
      place_method(place_methods(), "local").run(evaluator, 1);
      found += evaluator.cost(evaluator.best_outcome()) == best ? 1 : 0;
    }
  }
  EXPECT_GE(found, 0.95 * known) << "of " << known;
}

TEST(PlaceMethod, PlansKeepRoomForOutputsWhereTheyMust) {
  // By persistent bytes all four fit on the faster device; with outputs two do.
  std::vector<CostNode> nodes(4, {.name = "n", .op = "task", .persistent_bytes = 10});
  std::vector<Picoseconds> costs;
  for (int node = 0; node < 4; ++node) costs.insert(costs.end(), {{1}, {9}});
  std::vector<CostTensor> tensors;
  for (int node = 0; node < 4; ++node)
    tensors.push_back({.producer = node, .bytes = 10, .readers = {}});
  const CostGraph graph("memory", {"fast", "slow"}, nodes, costs, tensors);
  Topology topology = ideal_devices(2, "fast");
  topology.devices[1].kind = "slow";
  topology.devices[0].memory_bytes = 45;
  for (const char* name : {"heft", "etf", "local"}) {
    Evaluator evaluator(graph, topology, kMakespan, {.evaluations = 100});
    place_method(place_methods(), name).run(evaluator, 1);
    EXPECT_TRUE(evaluator.best_outcome().feasible()) << name;
    EXPECT_EQ(evaluator.best_outcome().makespan.count, 18) << name;
  }
}

}  // namespace
}  // namespace reverie
