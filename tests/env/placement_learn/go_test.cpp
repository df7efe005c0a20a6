#include "env/placement/learn/go.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/env/placement/placements.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

CostTensor edge(int from, int to, int64_t transfer) {
  return {.producer = from, .bytes = 1, .transfer = {transfer}, .readers = {to}};
}

/// Two chains: nodes of the first take 10, those of the second 8.
CostGraph chains(int length, int64_t transfer) {
  std::vector<int64_t> times;
  std::vector<CostTensor> tensors;
  for (int node = 0; node < 2 * length; ++node) {
    times.push_back(node % 2 == 0 ? 10 : 8);
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

INSTANTIATE_TEST_SUITE_P(All, GoKinds, ::testing::Values("go", "go_placement"),
                         [](const auto& one) { return std::string(one.param); });

TEST(Go, PrioritiesDependOnTheDevicesThatWereDrawn) {
  const CostGraph graph = chains(3, 5);
  GoNetwork network(2, std::vector{GoTask::kPlacement, GoTask::kScheduling});
  const NodeFeatures features(Simulator(graph, kTwo));
  const auto encoded = network->encode(features);
  auto devices = torch::zeros({2, 6}, torch::kLong);
  devices[1][2] = 1;
  const auto logits = network->logits(features, encoded, {devices});
  EXPECT_EQ(logits.sizes(), (std::vector<int64_t>{2, 6, GoSizes().levels}));
  EXPECT_FALSE(logits[0].allclose(logits[1]));
}

}  // namespace
}  // namespace reverie
