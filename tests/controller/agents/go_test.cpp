#include "controller/agents/go.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/env/placement/placements.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

CostTensor edge(int from, int to, int64_t transfer) {
  return {.producer = from, .bytes = 1, .transfer = {transfer}, .readers = {to}};
}

/// Two chains: nodes of the first take 10, those of the second 8 or another time.
CostGraph chains(int length, int64_t transfer, int64_t second = 8) {
  std::vector<int64_t> times;
  std::vector<CostTensor> tensors;
  for (int node = 0; node < 2 * length; ++node) {
    times.push_back(node % 2 == 0 ? 10 : second);
    if (node + 2 < 2 * length) tensors.push_back(edge(node, node + 2, transfer));
  }
  return testing::graph_of(times, tensors);
}

/// Every node reads of the one before and of the one before that.
CostGraph ladder(int length, int64_t transfer) {
  std::vector<CostTensor> tensors;
  for (int node = 0; node + 1 < length; ++node) {
    tensors.push_back(edge(node, node + 1, transfer));
    if (node + 2 < length) tensors.back().readers.push_back(node + 2);
  }
  return testing::graph_of(std::vector<int64_t>(static_cast<size_t>(length), 10), tensors);
}

const Topology kTwo = ideal_devices(2, "d");

Evaluator evaluator_of(const CostGraph& graph, int64_t evaluations) {
  return {graph, kTwo, PlacementObjective::kMakespan, {.evaluations = evaluations}};
}

void learn(PlacementLearner& learner, Evaluator& evaluator) {
  Evaluator* const one[] = {&evaluator};
  learner.learn(one);
}

int64_t makespan(const Evaluator& evaluator) { return evaluator.best_outcome().makespan.count; }

int64_t makespan_placed(PlacementLearner& learner, const CostGraph& graph) {
  Evaluator evaluator = evaluator_of(graph, 10);
  learner.place(evaluator);
  EXPECT_EQ(evaluator.evaluations(), 1);
  return makespan(evaluator);
}

class GoKinds : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<PlacementLearner> learner(uint64_t seed, int devices = 2) const {
    return learner_kind(GetParam()).make(devices, seed);
  }
};

TEST_P(GoKinds, LearnThatOneDeviceIsBest) {
  const CostGraph graph = ladder(12, 500);
  for (const uint64_t seed : {1, 2, 3}) {
    const auto go = learner(seed);
    Evaluator evaluator = evaluator_of(graph, 600);
    learn(*go, evaluator);
    EXPECT_EQ(makespan(evaluator), 120);
    EXPECT_EQ(makespan_placed(*go, graph), 120);
  }
}

TEST_P(GoKinds, LearnThatChainsBelongOnDevicesOfTheirOwn) {
  const CostGraph graph = chains(4, 5);
  int found = 0;
  for (const uint64_t seed : {1, 2, 3}) {
    const auto go = learner(seed);
    Evaluator evaluator = evaluator_of(graph, 800);
    learn(*go, evaluator);
    found += makespan(evaluator) == 40 ? 1 : 0;
  }
  EXPECT_GE(found, 2);
}

TEST_P(GoKinds, TheLikeliestDecisionPartsEqualChains) {
  const CostGraph graph = chains(4, 5, /*second=*/10);
  int parted = 0;
  for (const uint64_t seed : {1, 2, 3}) {
    const auto go = learner(seed);
    Evaluator evaluator = evaluator_of(graph, 800);
    learn(*go, evaluator);
    parted += makespan_placed(*go, graph) == 40 ? 1 : 0;
  }
  EXPECT_GE(parted, 2) << "80 where both are on one device";
}

TEST_P(GoKinds, SpendTheBudgetOfEachGraphAndNoMore) {
  const CostGraph first = ladder(5, 3), second = chains(4, 3);
  Evaluator one = evaluator_of(first, 37), other = evaluator_of(second, 5);
  Evaluator* const both[] = {&one, &other};
  learner(1)->learn(both);
  EXPECT_EQ(one.evaluations(), 37);
  EXPECT_EQ(other.evaluations(), 5);
}

TEST_P(GoKinds, EqualSeedsLearnEquallyAndFilesHoldWhatWasLearned) {
  const CostGraph graph = chains(6, 5);
  const TemporaryDirectory directory;
  const std::string path = directory / "go.pt";
  std::vector<Placement> found, placed;
  for (const uint64_t seed : {4, 4, 5}) {
    const auto go = learner(seed);
    Evaluator evaluator = evaluator_of(graph, 100), after = evaluator_of(graph, 1);
    learn(*go, evaluator);
    go->place(after);
    found.push_back(evaluator.best());
    placed.push_back(after.best());
    save_learner(path, GetParam(), 2, *go);
  }
  EXPECT_EQ(found[0].device, found[1].device);
  EXPECT_EQ(found[0].priority, found[1].priority);
  EXPECT_EQ(placed[0].device, placed[1].device);
  EXPECT_NE(found[0].device, found[2].device);
  Evaluator after = evaluator_of(graph, 1);
  load_learner(path, 9).learner->place(after);
  EXPECT_EQ(after.best().device, placed[2].device);
  EXPECT_EQ(after.best().priority, placed[2].priority);
}

TEST_P(GoKinds, RefuseAnotherNumberOfDevices) {
  const CostGraph graph = ladder(4, 1);
  Evaluator evaluator = evaluator_of(graph, 10);
  EXPECT_THROW(learn(*learner(1, 3), evaluator), InputError);
  EXPECT_THROW(learner(1, 3)->place(evaluator), InputError);
}

TEST_P(GoKinds, AFewNodesBeyondASegmentAreDecidedToo) {
  const CostGraph graph = ladder(static_cast<int>(GoSizes().segment) + 3, 1);
  const auto go = learner(1);
  Evaluator evaluator = evaluator_of(graph, 32);
  learn(*go, evaluator);
  EXPECT_GE(makespan_placed(*go, graph), 10 * (GoSizes().segment + 3) / 2);
}

INSTANTIATE_TEST_SUITE_P(All, GoKinds, ::testing::Values("go", "go_separate", "go_placement"),
                         [](const auto& one) { return std::string(one.param); });

/// 1 and 2 read of 0, and take long. One launch is saved where 0 is fused with 1, but then 2 waits
/// for both on the other device.
CostGraph fork_that_fusion_delays() {
  const std::vector<CostNode> nodes{{"a", "light"}, {"b", "heavy"}, {"c", "heavy"}};
  return CostGraph(
      "fork", {"d"}, nodes, {{10}, {100}, {99}},
      {{.producer = 0, .bytes = 1, .transfer = {1}, .readers = {1, 2}}},
      CostParts{.kinds = {{1e12, {5}}}, .arithmetic = {{0}, {95}, {94}}, .moved_bytes = {5, 2, 2}});
}

std::vector<double> as_numbered() { return {2, 1, 0}; }

TEST(GoFusion, DecidesTogetherWithDevicesWhatIsFused) {
  const CostGraph graph = fork_that_fusion_delays();
  for (const char* kind : {"go", "go_separate"}) {
    int found = 0;
    for (const uint64_t seed : {1, 2, 3}) {
      const auto go = learner_kind(kind).make(2, seed);
      Evaluator evaluator(graph, kTwo, PlacementObjective::kMakespan, {.evaluations = 600},
                          as_numbered());
      learn(*go, evaluator);
      EXPECT_EQ(evaluator.evaluations(), 600);
      found += makespan(evaluator) <= 111 ? 1 : 0;
      Evaluator heads(graph, kTwo, PlacementObjective::kMakespan, {.evaluations = 1},
                      as_numbered());
      go->place(heads);
      EXPECT_EQ(heads.best().kernel.size(), 3u);
    }
    EXPECT_GE(found, 2) << kind << ": 199 where 0 is fused";
  }
}

TEST(GoFusion, IsNotDecidedWhereNothingIsFused) {
  const CostGraph graph = fork_that_fusion_delays();
  Evaluator evaluator = evaluator_of(graph, 40);
  learn(*learner_kind("go").make(2, 1), evaluator);
  EXPECT_TRUE(evaluator.best().kernel.empty());
}

TEST(GoFusion, SeparateTasksHoldWhatWasBestBefore) {
  // On one device alone all that matters is how much is fused: that is the last task's turn.
  const CostGraph graph(
      "chain", {"d"}, {{"a", "x"}, {"b", "x"}, {"c", "x"}}, {{10}, {10}, {10}},
      {{.producer = 0, .bytes = 2, .readers = {1}}, {.producer = 1, .bytes = 2, .readers = {2}}},
      CostParts{.kinds = {{1e12, {5}}}, .arithmetic = {{0}, {0}, {0}}, .moved_bytes = {5, 5, 5}});
  const Topology one = ideal_devices(1, "d");
  for (const auto& [evaluations, expected] : {std::pair{30, 30}, std::pair{60, 12}}) {
    Evaluator evaluator(graph, one, PlacementObjective::kMakespan, {.evaluations = evaluations},
                        as_numbered());
    Go go(1, 1, {.separate = true, .samples = 20});
    learn(go, evaluator);
    EXPECT_EQ(makespan(evaluator), expected) << evaluations;
  }
}

TEST(Go, FusionDependsOnAllThatWasDecidedBefore) {
  const CostGraph graph = chains(3, 5);
  GoNetwork network(2, GoOptions().tasks);
  const NodeFeatures features(Simulator(graph, kTwo));
  const auto encoded = network->encode(features);
  auto devices = torch::zeros({3, 6}, torch::kLong), levels = devices.clone();
  devices[1][2] = levels[2][4] = 1;
  const auto logits = network->levels(features, encoded, {devices, levels});
  EXPECT_EQ(logits.sizes(), (std::vector<int64_t>{3, 6, GoSizes().levels}));
  EXPECT_FALSE(logits[0].allclose(logits[1]));
  EXPECT_FALSE(logits[0].allclose(logits[2]));
}

TEST(Go, PrioritiesDependOnTheDevicesThatWereDrawn) {
  const CostGraph graph = chains(3, 5);
  GoNetwork network(2, std::vector{GoTask::kPlacement, GoTask::kScheduling});
  const NodeFeatures features(Simulator(graph, kTwo));
  const auto encoded = network->encode(features);
  auto devices = torch::zeros({2, 6}, torch::kLong);
  devices[1][2] = 1;
  const auto logits = network->levels(features, encoded, {devices});
  EXPECT_EQ(logits.sizes(), (std::vector<int64_t>{2, 6, GoSizes().levels}));
  EXPECT_FALSE(logits[0].allclose(logits[1]));
}

}  // namespace
}  // namespace reverie
