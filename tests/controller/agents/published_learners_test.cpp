#include <gmock/gmock.h>

#include <ostream>
#include <tuple>

#include "controller/agents/learner.h"
#include "core/base/error.h"
#include "env/placement/simulator/ordered_placement.h"
#include "tests/controller/agents/toys.h"
#include "tests/support/temporary_directory.h"
#include "worldmodel/network/checkpoint.h"

namespace reverie::testing {
namespace {

constexpr auto kTime = PlacementObjective::kMakespan;

/// A learner, and how many evaluations it needs for a toy, and to hold another placement than at
/// first.
struct Published {
  const char* name;
  int64_t for_toy, for_change;
  friend void PrintTo(const Published& value, std::ostream* out) { *out << value.name; }
};

class PublishedLearner : public ::testing::TestWithParam<Published> {
 protected:
  const LearnerKind& kind() const { return learner_kind(GetParam().name); }

  /// Of a random graph on two unequal devices, learned from and then placed by the same evaluator.
  Placement learned(PlacementLearner& learner, int64_t evaluations) const {
    Evaluator evaluator(graph_, topology_, kTime, {.evaluations = evaluations});
    Evaluator* const one[] = {&evaluator};
    learner.learn(one);
    return evaluator.best();
  }
  /// Devices of what a learner holds best.
  std::vector<int> placed(PlacementLearner& learner) const {
    Evaluator evaluator(graph_, topology_, kTime, {.evaluations = 1});
    learner.place(evaluator);
    EXPECT_EQ(evaluator.evaluations(), 1);
    return evaluator.best().device;
  }

  static CostGraph random_graph() {
    Rng rng(3);
    return random_cost_graph(12, rng);
  }
  static Topology unequal_devices() {
    Topology topology = ideal_devices(2, "a");
    topology.devices[1].kind = "b";
    return topology;
  }

  const CostGraph graph_ = random_graph();
  const Topology topology_ = unequal_devices();
};

TEST_P(PublishedLearner, FindsThatOneDeviceIsBest) {
  const Toy toy = dear_transfers();
  for (const uint64_t seed : {1, 2})
    EXPECT_EQ(makespan_learned(kind(), toy, GetParam().for_toy / 2, seed), toy.optimum) << seed;
}

TEST_P(PublishedLearner, FindsThatTwoChainsBelongOnTwoDevices) {
  const Toy toy = two_chains();
  for (const uint64_t seed : {1, 2})
    EXPECT_EQ(makespan_learned(kind(), toy, GetParam().for_toy, seed), toy.optimum) << seed;
}

TEST_P(PublishedLearner, SpendsExactlyWhatItMayOnEachGraph) {
  const Toy toys[] = {dear_transfers(), two_chains()};
  Evaluator first(toys[0].graph, toys[0].topology, kTime, {.evaluations = 37});
  Evaluator second(toys[1].graph, toys[1].topology, kTime, {.evaluations = 13});
  Evaluator* const both[] = {&first, &second};
  kind().make(2, 1)->learn(both);
  EXPECT_EQ(first.evaluations(), 37);
  EXPECT_EQ(second.evaluations(), 13);
}

TEST_P(PublishedLearner, EqualSeedsLearnEqually) {
  std::vector<Placement> found;
  std::vector<std::vector<int>> held;
  for (const uint64_t seed : {5, 5, 6}) {
    torch::manual_seed(held.size());
    const auto learner = kind().make(2, seed);
    found.push_back(learned(*learner, 60));
    held.push_back(placed(*learner));
  }
  EXPECT_EQ(found[0].device, found[1].device);
  EXPECT_EQ(found[0].priority, found[1].priority);
  EXPECT_EQ(held[0], held[1]);
  EXPECT_NE(std::tie(found[0].device, held[0]), std::tie(found[2].device, held[2]));
}

TEST_P(PublishedLearner, AFileHoldsWhatItLearned) {
  const TemporaryDirectory directory;
  const std::string path = directory / "learner.pt";
  const auto learner = kind().make(2, 1);
  learned(*learner, GetParam().for_change);
  save_learner(path, GetParam().name, 2, *learner);
  const SavedLearner saved = load_learner(path, 2);
  EXPECT_EQ(saved.kind, GetParam().name);
  EXPECT_EQ(placed(*saved.learner), placed(*learner));
  EXPECT_NE(placed(*kind().make(2, 2)), placed(*learner));
}

TEST_P(PublishedLearner, AFileOfTheOlderFormOrOfAnotherKindIsRefused) {
  const TemporaryDirectory directory;
  const std::string older = directory / "older.pt", policy = directory / "policy.pt";
  torch::serialize::OutputArchive archive;
  archive.write("kind", c10::IValue(GetParam().name));
  archive.save_to(older);
  EXPECT_THAT([&] { load_learner(older, 1); },
              ::testing::ThrowsMessage<InputError>(::testing::HasSubstr(
                  "older.pt: an agent's file of an older form; have it learn again with")));
  Checkpoint checkpoint;
  checkpoint.kind = "policy";
  save_checkpoint(policy, checkpoint);
  EXPECT_THROW(load_learner(policy, 1), InputError);
  checkpoint.kind = "agent";
  save_checkpoint(policy, checkpoint);
  EXPECT_THROW(load_learner(policy, 1), InputError);
}

TEST_P(PublishedLearner, RefusesAnotherNumberOfDevices) {
  const auto learner = kind().make(3, 1);
  Evaluator evaluator(graph_, topology_, kTime, {.evaluations = 10});
  Evaluator* const one[] = {&evaluator};
  EXPECT_THROW(learner->learn(one), InputError);
  EXPECT_THROW(learner->place(evaluator), InputError);
}

TEST_P(PublishedLearner, KeepsColocationGroupsTogether) {
  std::vector<int> groups(static_cast<size_t>(graph_.size()), -1);
  groups[1] = groups[4] = groups[7] = 0;
  const CostGraph graph = graph_.with_groups(groups);
  Evaluator evaluator(graph, topology_, kTime, {.evaluations = 20});
  Evaluator* const one[] = {&evaluator};
  kind().make(2, 1)->learn(one);
  const std::vector<int>& device = evaluator.best().device;
  EXPECT_EQ(device[1], device[4]);
  EXPECT_EQ(device[1], device[7]);
}

INSTANTIATE_TEST_SUITE_P(All, PublishedLearner,
                         ::testing::Values(Published{"colocrl", 1000, 200},
                                           Published{"hdp", 2500, 400},
                                           Published{"placeto", 5000, 200}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace reverie::testing
