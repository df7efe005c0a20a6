#include "env/translated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/error.h"
#include "env/selected_starts.h"
#include "env/toy/knapsack_environment.h"
#include "env/toy/toy_environment.h"
#include "tests/support/renamed_environment.h"
#include "tests/support/same_episodes.h"

namespace reverie {
namespace {

using testing::expect_same_episodes;
using ::testing::HasSubstr;
using testing::RenamedEnvironment;

const ToyEnvironment& toy() {
  static const ToyEnvironment environment({.blocks = 3, .start_states = 64, .entities = true});
  return environment;
}

/// The toy as it is called now, seen by one who knows it as it is.
std::unique_ptr<Environment> seen_again(EnvSpec now) {
  return translated(std::make_unique<RenamedEnvironment>(toy().fork(), std::move(now)),
                    toy().spec());
}

std::string refusal(const EnvSpec& known, const EnvSpec& real) {
  try {
    require_names(known, real);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Translated, EqualNamesNeedNoTranslation) {
  auto environment = toy().fork();
  const Environment* same = environment.get();
  EXPECT_EQ(translated(std::move(environment), toy().spec()).get(), same);
}

TEST(Translated, NamesInAnotherOrderMakeNoDifference) {
  const EnvSpec now = testing::reversed(toy().spec());
  ASSERT_NE(now, toy().spec());
  const auto again = seen_again(now);
  EXPECT_EQ(again->spec(), toy().spec());
  expect_same_episodes(*toy().fork(), *again);
  expect_same_episodes(*toy().fork(), *again->fork());
}

TEST(Translated, TargetsOfBothLevelsAreFoundByName) {
  const KnapsackEnvironment knapsack({.items = 4, .start_states = 3});
  auto now =
      std::make_unique<RenamedEnvironment>(knapsack.fork(), testing::reversed(knapsack.spec()));
  const auto again = translated(std::move(now), knapsack.spec());
  expect_same_episodes(*knapsack.fork(), *again);
}

TEST(Translated, MoreActionsColumnsAndTargetsAreNotSeen) {
  EnvSpec now = toy().spec();
  now.actions.insert(now.actions.begin() + 1, {"split", "rotate"});
  now.node_features.insert(now.node_features.begin(), "age");
  now.edge_features.push_back("colour");
  now.action_features.insert(now.action_features.begin(), "price");
  now.targets.insert(now.targets.begin(), {"node colour", TargetLevel::kNode, TargetLoss::kShare});
  now.targets.push_back({"weather", TargetLevel::kGraph, TargetLoss::kRegression});
  now.max_choices = 30000;
  const auto again = seen_again(now);
  EXPECT_EQ(again->spec(), toy().spec());
  expect_same_episodes(*toy().fork(), *again);
}

TEST(Translated, ANewRowInTheMiddleOfTheTableOfTypesMakesNoDifference) {
  EnvSpec now = toy().spec();
  now.node_types.insert(now.node_types.begin() + 4, "twisted");
  expect_same_episodes(*toy().fork(), *seen_again(now));
}

TEST(Translated, UnknownActionsAreNamedAndNeverOffered) {
  EnvSpec known = toy().spec();
  std::erase(known.actions, "fold");
  std::erase(known.actions, "merge");
  EXPECT_EQ(unknown_actions(known, toy().spec()),
            "actions that it was not trained with are not taken: merge, fold");
  EXPECT_EQ(unknown_actions(toy().spec(), toy().spec()), "");
  const auto again = translated(toy().fork(), known);
  again->reset(5);
  EXPECT_EQ(again->mask().primary_actions(), 3);
  EXPECT_THROW(again->step({3, 0, 0}), InputError);
  auto whole = toy().fork();
  whole->reset(5);
  const double reward = again->step({1, 1, 0}).reward;
  EXPECT_EQ(reward, whole->step({ToyEnvironment::kSwap, 1, 0}).reward);
  EXPECT_EQ(again->observe().state_key, whole->observe().state_key);
}

TEST(Translated, WhatIsLackingIsNamed) {
  const EnvSpec& known = toy().spec();
  const auto without = [&](const char* name, auto change) {
    EnvSpec real = known;
    change(real);
    EXPECT_THAT(refusal(known, real), HasSubstr(name));
    EXPECT_THAT(refusal(real, known), ::testing::Eq("accepted")) << "less is asked for";
  };
  without("lacks actions that this was trained with: fold",
          [](EnvSpec& s) { std::erase(s.actions, "fold"); });
  without("lacks node features that this was trained with: width / 3",
          [](EnvSpec& s) { std::erase(s.node_features, "width / 3"); });
  without("lacks edge features that this was trained with: operand",
          [](EnvSpec& s) { std::erase(s.edge_features, "operand"); });
  without("lacks action features that this was trained with: best gain",
          [](EnvSpec& s) { s.action_features.clear(); });
  without("lacks targets that this was trained with: log nodes",
          [](EnvSpec& s) { s.targets.pop_back(); });
  without("lacks targets that this was trained with: cost share",
          [](EnvSpec& s) { s.targets.erase(s.targets.begin()); });
  EXPECT_THROW(seen_again(KnapsackEnvironment(KnapsackConfig{}).spec()), InputError);
}

TEST(Translated, OfManyNamesThatAreLackingTheFirstAreShown) {
  EnvSpec known = toy().spec();
  for (int i = 0; i < 9; ++i)
    known.actions.insert(known.actions.begin() + i, fmt::format("new {}", i));
  EXPECT_THAT(refusal(known, toy().spec()),
              HasSubstr("new 0, new 1, new 2, new 3, new 4 and 4 more"));
}

TEST(Translated, AnotherEnvironmentOrObjectiveIsRefused) {
  const EnvSpec& known = toy().spec();
  EnvSpec real = known;
  real.name = "game";
  EXPECT_EQ(refusal(known, real), "trained on the environment 'toy', not on 'game'");
  real = known;
  real.metrics[0].name = "price";
  EXPECT_EQ(refusal(known, real), "trained for the objective 'cost', not for 'price'");
  real = known;
  real.less_is_better = false;
  EXPECT_THAT(refusal(known, real), HasSubstr("trained for the objective"));
}

TEST(Translated, TypesThatAreUnknownAreTheOtherType) {
  EnvSpec known = toy().spec();
  std::erase(known.node_types, "wide");
  known.other_type = "output";
  const auto again = translated(toy().fork(), known);
  auto whole = toy().fork();
  const auto& real_types = toy().spec().node_types;
  again->reset(0);
  whole->reset(0);
  const Observation seen = again->observe(), all = whole->observe();
  int others = 0;
  for (size_t node = 0; node < seen.graph.node_types.size(); ++node) {
    const std::string& type = known.node_types[static_cast<size_t>(seen.graph.node_types[node])];
    const std::string& real = real_types[static_cast<size_t>(all.graph.node_types[node])];
    EXPECT_EQ(type, real == "wide" ? "output" : real);
    others += real == "wide";
  }
  EXPECT_GT(others, 0);
  EXPECT_EQ(seen.graph.nodes, all.graph.nodes);
}

TEST(Translated, WithoutAnotherTypeAnUnknownOneIsRefusedOnceItIsSeen) {
  EnvSpec known = toy().spec();
  std::erase(known.node_types, "wide");
  const auto again = translated(toy().fork(), known);
  again->reset(0b010101);
  EXPECT_NO_THROW(again->observe()) << "all blocks are even and narrow";
  again->step({ToyEnvironment::kEnlarge, 1, 0});
  try {
    again->observe();
    FAIL() << "the type is not known";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'wide'"));
  }
}

TEST(RequireSameNames, RefusesMoreNamesAnotherOrderAndOtherCounts) {
  const EnvSpec& known = toy().spec();
  EXPECT_NO_THROW(require_same_names(known, known));
  EnvSpec elsewhere = known;
  elsewhere.starts = {{"elsewhere", 3}};
  elsewhere.source = "cpu";
  EXPECT_NO_THROW(require_same_names(known, elsewhere)) << "names alone count";
  EXPECT_THROW(require_same_names(known, testing::reversed(known)), InputError);
  const auto refused = [&](auto change) {
    EnvSpec real = known;
    change(real);
    EXPECT_THROW(require_same_names(known, real), InputError);
  };
  refused([](EnvSpec& s) { s.actions.insert(s.actions.begin(), "more"); });
  refused([](EnvSpec& s) { s.node_types.push_back("more"); });
  refused([](EnvSpec& s) { s.max_choices += 1; });
  refused([](EnvSpec& s) { s.max_choices -= 1; });
  refused([](EnvSpec& s) { s.name = "game"; });
}

TEST(Translated, TheEnvironmentItselfIsBehindTheNames) {
  auto environment = toy().fork();
  const Environment* itself = environment.get();
  auto again =
      translated(select_starts(std::move(environment), {1}), testing::reversed(toy().spec()));
  EXPECT_NE(again.get(), itself);
  EXPECT_EQ(&again->unwrapped(), itself);
}

TEST(Translated, CountsAreCutAtWhatIsKnown) {
  EnvSpec known = toy().spec();
  known.max_choices = 1;
  const auto again = translated(toy().fork(), known);
  auto whole = toy().fork();
  again->reset(0b010101);
  whole->reset(0b010101);
  EXPECT_EQ(again->spec().max_choices, 1);
  EXPECT_EQ(whole->mask().total(ToyEnvironment::kEnlarge), 6);
  EXPECT_EQ(again->mask().total(ToyEnvironment::kEnlarge), 3);
  EXPECT_EQ(again->gains(ToyEnvironment::kEnlarge).size(), 3u);
  EXPECT_THROW(again->step({ToyEnvironment::kEnlarge, 1, 1}), InputError);
  again->step({ToyEnvironment::kEnlarge, 1, 0});
  whole->step({ToyEnvironment::kEnlarge, 1, 0});
  EXPECT_EQ(again->observe().state_key, whole->observe().state_key);
}

}  // namespace
}  // namespace reverie
