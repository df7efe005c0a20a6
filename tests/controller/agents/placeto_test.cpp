#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/agents/placeto_graph.h"
#include "controller/agents/placeto_network.h"
#include "tests/controller/agents/toys.h"

namespace reverie::testing {
namespace {

constexpr auto kShortest = PlacementObjective::kMakespan;

/// 0 -> {1, 2}, 1 -> 3 on two devices; what is sent takes 5.
struct Fork {
  CostGraph graph =
      graph_of({10, 20, 30, 40},
               {{.producer = 0, .bytes = 8, .transfer = {5}, .readers = {1, 2}}, sent(1, 3, 5)});
  Topology topology = ideal_devices(2, "d");
  Evaluator evaluator{graph, topology, kShortest, {}};
};

TEST(PlacetoGraph, KnowsWhoIsBeforeWhom) {
  Fork fork;
  const PlacetoGraph graph(fork.evaluator, 10);
  const PlacetoRelations& relations = graph.relations();
  const auto row = [](const torch::Tensor& rows, int i) {
    const auto one = rows[i].contiguous();
    return std::vector<float>(one.data_ptr<float>(), one.data_ptr<float>() + one.numel());
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(row(relations.children, 0), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(row(relations.parents, 3), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(row(relations.descendants, 0), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(row(relations.ancestors, 3), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(row(relations.apart, 2), ElementsAre(0, 1, 0, 1));
}

TEST(PlacetoGraph, FeaturesTellOfStartsAndOfWhatIsDone) {
  Fork fork;
  const PlacetoGraph graph(fork.evaluator, 10);
  PlacetoState state = graph.start();
  EXPECT_EQ(state.devices, (std::vector<int>{0, 0, 0, 0}));
  state.devices[2] = 1;
  state.current = 1;
  // 0 starts at 0, 1 at 10, 2 at 15 and 3 at 30: since 10 and over 20
  const auto expected = torch::tensor({{0.25f, 1.0f, 0.0f, 1.0f, 0.0f, -0.5f, 1.0f, 0.0f},
                                       {0.5f, 0.625f, 0.0f, 0.0f, 1.0f, 0.0f, 1.0f, 0.0f},
                                       {0.75f, 0.0f, 0.0f, 0.0f, 0.0f, 0.25f, 0.0f, 1.0f},
                                       {1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 1.0f, 1.0f, 0.0f}});
  EXPECT_TRUE(torch::allclose(graph.features(state), expected)) << graph.features(state);
  EXPECT_EQ(fork.evaluator.evaluations(), 0);
}

TEST(PlacetoGraph, WhatDoesNotFitIsJudgedWorseButNoWorseThanTen) {
  Fork fork;
  const PlacetoGraph graph(fork.evaluator, 10);
  const auto judged = [&](int64_t bytes_over) {
    return graph.judgement({.makespan = {50}, .peak_bytes = 1, .bytes_over = bytes_over});
  };
  EXPECT_DOUBLE_EQ(judged(0), 0.5);
  EXPECT_DOUBLE_EQ(judged(1), 1.5);
  EXPECT_DOUBLE_EQ(judged(3'000'000'000), 6.5);
  EXPECT_DOUBLE_EQ(judged(300'000'000'000), 10);
}

/// States of one batch do not mix, and everything that is before or after the current group counts.
TEST(PlacetoNetwork, ReadsEachStateAlone) {
  Fork fork;
  const PlacetoGraph graph(fork.evaluator, 10);
  const PlacetoNetwork network(PlacetoGraph::columns(2), 2, Rng(1));
  PlacetoState first = graph.start(), second = graph.start();
  first.current = 1;
  second.current = 2;
  second.devices[0] = 1;
  const auto both = torch::stack({graph.features(first), graph.features(second)}, 1);
  const auto logits = network.logits(graph.relations(), both, torch::tensor({1, 2}, torch::kInt64));
  for (int64_t i = 0; i < 2; ++i) {
    const auto alone = network.logits(graph.relations(), both.slice(1, i, i + 1),
                                      torch::tensor({i + 1}, torch::kInt64));
    EXPECT_TRUE(torch::allclose(alone[0], logits[i], 1e-4, 1e-6));
  }
  EXPECT_FALSE(torch::allclose(logits[0], logits[1]));
}

}  // namespace
}  // namespace reverie::testing
