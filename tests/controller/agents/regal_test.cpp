#include "controller/agents/regal.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/base/error.h"
#include "tests/env/placement/placements.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

TEST(Beta, ChangesInLogOddsOfTheMeanAndInSpread) {
  const Beta usual{0.4, 1.6};
  const Beta same = changed(usual, {});
  EXPECT_NEAR(same.alpha, usual.alpha, 1e-12);
  EXPECT_NEAR(same.beta, usual.beta, 1e-12);

  const Beta higher = changed(usual, {.mean = BetaClasses::kMiddleMean + 2});
  EXPECT_NEAR(higher.alpha / higher.beta, 0.25 * std::exp(1), 1e-12);
  EXPECT_NEAR(higher.alpha + higher.beta, 2, 1e-12);

  const Beta wider = changed(usual, {.variance = BetaClasses::kMiddleVariance + 0.5});
  EXPECT_NEAR(wider.alpha / wider.beta, 0.25, 1e-12);
  EXPECT_NEAR(wider.alpha + wider.beta, 2 * std::exp(-0.5), 1e-12);
}

TEST(Beta, StaysWithinBounds) {
  const Beta most = changed({1.98, 0.02}, {.mean = BetaClasses::kMeans - 1});
  EXPECT_NEAR(most.alpha / (most.alpha + most.beta), 0.99, 1e-12);
}

/// Pairs of nodes, of which the second reads of the first. Device 1 takes four times as long, or
/// has memory for a fifth of the nodes.
struct Uneven {
  explicit Uneven(bool memory, int pairs = 10)
      : graph(graph_of(memory, pairs)), topology(ideal_devices(2, "fast")) {
    if (memory) topology.devices[1].memory_bytes = 4 * pairs;
    if (!memory) topology.devices[1].kind = "slow";
  }

  static CostGraph graph_of(bool memory, int pairs) {
    std::vector<CostNode> nodes;
    std::vector<CostTensor> tensors;
    std::vector<Picoseconds> costs;
    for (int node = 0; node < 2 * pairs; ++node) {
      nodes.push_back({.name = "n", .op = "task", .persistent_bytes = memory ? 10 : 0});
      costs.insert(costs.end(), {{10 + node}, {4 * (10 + node)}});
      if (node % 2 == 0)
        tensors.push_back({.producer = node, .bytes = 1, .transfer = {5}, .readers = {node + 1}});
    }
    return CostGraph("uneven", {"fast", "slow"}, nodes, costs, tensors);
  }
  Evaluator evaluator(int64_t evaluations) const {
    return {graph, topology, PlacementObjective::kMakespan, {.evaluations = evaluations}};
  }

  CostGraph graph;
  Topology topology;
};

void learn(PlacementLearner& learner, Evaluator& evaluator) {
  Evaluator* const one[] = {&evaluator};
  learner.learn(one);
}

/// Of all entities, the mean of the distribution of their affinities to a device.
double mean_affinity(const GeneBias& bias, const GeneLayout& layout, int device) {
  double sum = 0;
  for (int entity = 0; entity < layout.entities().size(); ++entity) {
    const auto gene = static_cast<size_t>(layout.affinity(entity, device));
    sum += bias.alpha[gene] / (bias.alpha[gene] + bias.beta[gene]);
  }
  return sum / layout.entities().size();
}

/// The mean cost that is reached with few evaluations.
template <class Run>
double mean_cost(const Uneven& toy, const Run& run) {
  double sum = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Evaluator few = toy.evaluator(10);
    run(few, seed);
    EXPECT_EQ(few.evaluations(), 10);
    sum += few.cost(few.best_outcome()) / 20;
  }
  return sum;
}

TEST(Regal, KnowsNothingAtFirst) {
  const Uneven toy(false);
  Evaluator evaluator = toy.evaluator(1);
  const GeneBias usual = pipeline_bias(evaluator.simulator(), evaluator.objective());
  const GeneBias bias = Regal(2, 3).expected(evaluator);
  for (size_t gene = 0; gene < bias.alpha.size(); ++gene) {
    EXPECT_NEAR(bias.alpha[gene], usual.alpha[gene], 0.2);
    EXPECT_NEAR(bias.beta[gene], usual.beta[gene], 0.2);
  }
}

class RegalToys : public ::testing::TestWithParam<bool> {};

TEST_P(RegalToys, LearnWhichDeviceIsWorseAndBeatBrkgaWithFewEvaluations) {
  const Uneven toy(/*memory=*/GetParam());
  Regal regal(2, 1, {.evaluations = 20});
  Evaluator evaluator = toy.evaluator(12000);
  learn(regal, evaluator);
  EXPECT_EQ(evaluator.evaluations(), 12000);
  const GeneBias bias = regal.expected(evaluator);
  const GeneLayout layout(toy.graph, 2);
  EXPECT_GT(mean_affinity(bias, layout, 0), mean_affinity(bias, layout, 1) + 0.1);

  const double plain =
      mean_cost(toy, [](Evaluator& few, uint64_t seed) { brkga(few, {}, {}, Rng(seed)); });
  const double learned = mean_cost(toy, [&](Evaluator& few, uint64_t) { regal.place(few); });
  EXPECT_LT(learned, 0.9 * plain);
}

INSTANTIATE_TEST_SUITE_P(All, RegalToys, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "memory" : "slow"; });

TEST(Regal, KeepsBudgetsRepeatsItselfAndIsKeptInFiles) {
  const Uneven toy(false, 4), other(true, 3);
  const TemporaryDirectory directory;
  const std::string path = directory / "regal.pt";
  std::vector<std::vector<double>> held;
  for (const uint64_t seed : {7, 7, 8}) {
    const auto learner = learner_kind("regal").make(2, seed);
    Evaluator one = toy.evaluator(3700), second = other.evaluator(900);
    Evaluator* const both[] = {&one, &second};
    learner->learn(both);
    EXPECT_EQ(one.evaluations(), 3700);
    EXPECT_EQ(second.evaluations(), 900);
    held.emplace_back();
    for (const auto& parameter : learner->module().parameters())
      held.back().push_back(parameter.sum().item<double>());
    save_learner(path, "regal", 2, *learner);
  }
  EXPECT_EQ(held[0], held[1]);
  EXPECT_NE(held[0], held[2]);
  const SavedLearner saved = load_learner(path, 1);
  size_t next = 0;
  for (const auto& parameter : saved.learner->module().parameters())
    EXPECT_EQ(parameter.sum().item<double>(), held[2][next++]);
}

TEST(Regal, RefusesAnotherNumberOfDevices) {
  const Uneven toy(false);
  Evaluator evaluator = toy.evaluator(500);
  const auto learner = learner_kind("regal").make(3, 1);
  EXPECT_THROW(learn(*learner, evaluator), InputError);
  EXPECT_THROW(learner->place(evaluator), InputError);
}

TEST(Regal, ABudgetIsChargedWithWhatBrkgaEvaluates) {
  const Uneven toy(false);
  for (const int64_t runs : {2, 10}) {  // the last is not learned from, and one sample says nothing
    Regal regal(2, 1, {.evaluations = 20});
    const auto weights = [&] { return regal.module().parameters().back().detach().clone(); };
    const auto before = weights();
    Evaluator evaluator = toy.evaluator(20 * runs);
    learn(regal, evaluator);
    EXPECT_EQ(before.equal(weights()), runs == 2);
  }
}

TEST(Regal, DecidesAffinitiesAlone) {
  const Uneven toy(false);
  const GeneLayout layout(toy.graph, 2);
  Regal regal(2, 1, {.evaluations = 20});
  Evaluator evaluator = toy.evaluator(1200);
  learn(regal, evaluator);
  const GeneBias bias = regal.expected(evaluator);
  const GeneBias usual = pipeline_bias(evaluator.simulator(), evaluator.objective());
  for (int gene = 0; gene < layout.genes(); ++gene)
    EXPECT_EQ(bias.alpha[gene] == usual.alpha[gene], gene >= layout.priority(0));
}

}  // namespace
}  // namespace reverie
