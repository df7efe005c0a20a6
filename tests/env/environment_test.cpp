#include "env/environment.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "env/selected_starts.h"
#include "env/toy/toy_environment.h"

namespace reverie {
namespace {

TEST(SelectedStarts, BeginsFromThoseAlone) {
  const ToyConfig config{.blocks = 3, .start_states = 16};
  const auto some = select_starts(std::make_unique<ToyEnvironment>(config), {11, 2, 5});
  EXPECT_EQ(some->spec().start_states(), 3);
  ToyEnvironment all(config);
  for (const uint64_t seed :
       {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{301}, ~uint64_t{0} - 1}) {
    some->reset(seed);
    all.reset(std::array{11, 2, 5}[seed % 3]);
    EXPECT_EQ(some->observe().state_key, all.observe().state_key) << seed;
    EXPECT_EQ(some->fork()->observe().state_key, all.observe().state_key) << seed;
  }
}

TEST(SelectedStarts, KeepTheirNames) {
  const ToyEnvironment all({.blocks = 3, .start_states = 16});
  const auto some = select_starts(all.fork(), {11, 2});
  EXPECT_EQ(some->spec().starts,
            (std::vector<StartState>{all.spec().starts[11], all.spec().starts[2]}));
}

/// Three actions at three entities: 2, 0 and 3 choices, none, NO-OP.
ActionMask small_mask() {
  ActionMask mask(3, 3);
  mask.at(0, 0) = 2;
  mask.at(0, 2) = 3;
  return mask;
}

TEST(ActionMask, BeginsWithNoOpAlone) {
  const ActionMask mask(4, 5);
  EXPECT_EQ(mask.primary_actions(), 4);
  for (int primary = 0; primary < 3; ++primary) EXPECT_EQ(mask.total(primary), 0);
  EXPECT_EQ(mask.total(3), 1);
  EXPECT_TRUE(mask.allows({3, 0, 0}));
  EXPECT_THROW(ActionMask(3, 0), InternalError);
  EXPECT_THROW(ActionMask(0, 3), InternalError);
}

TEST(ActionMask, NumbersChoicesEntityByEntity) {
  const ActionMask mask = small_mask();
  const std::vector<Action> expected = {{0, 0, 0}, {0, 0, 1}, {0, 2, 0}, {0, 2, 1}, {0, 2, 2}};
  EXPECT_EQ(mask.total(0), 5);
  for (int n = 0; n < 5; ++n) {
    EXPECT_EQ(mask.choice(0, n), expected[static_cast<size_t>(n)]) << n;
    EXPECT_EQ(mask.number(expected[static_cast<size_t>(n)]), n);
  }
  EXPECT_EQ(mask.choice(2, 0), (Action{2, 0, 0})) << "NO-OP";
}

TEST(ActionMask, AllowsWhatItCounts) {
  const ActionMask mask = small_mask();
  EXPECT_TRUE(mask.allows({0, 2, 2}));
  for (const Action action : {Action{0, 2, 3},
                              {0, 1, 0},
                              {1, 0, 0},
                              {2, 1, 0},
                              {3, 0, 0},
                              {-1, 0, 0},
                              {0, 3, 0},
                              {0, -1, 0},
                              {0, 0, -1}})
    EXPECT_FALSE(mask.allows(action))
        << action.primary << ' ' << action.entity << ' ' << action.index;
}

TEST(ActionMask, ChoicesThatDoNotExistAreBrokenInvariants) {
  const ActionMask mask = small_mask();
  EXPECT_THROW(mask.choice(0, 5), InternalError);
  EXPECT_THROW(mask.choice(0, -1), InternalError);
  EXPECT_THROW(mask.choice(1, 0), InternalError);
  EXPECT_THROW(mask.choice(3, 0), InternalError);
  EXPECT_THROW(mask.number({0, 1, 0}), InternalError);
  EXPECT_THROW(mask.number({0, 2, 3}), InternalError);
}

TEST(ActionMask, ChoicesHaveABestValueAtEachEntity) {
  const ActionMask mask = small_mask();
  const std::vector<double> values = {-3, -2, 1, 7, 4};
  EXPECT_EQ(best_by_entity(mask, 0, values), (std::vector<float>{-2, 0, 7}));
  EXPECT_EQ(best_by_entity(mask, 1, {}), (std::vector<float>{0, 0, 0}));
  EXPECT_THROW(best_by_entity(mask, 2, values), InternalError);
}

TEST(RequireAllowed, SaysWhatIsWrong) {
  EnvSpec spec;
  spec.actions = {"fold", "swap", "NO-OP"};
  const auto refusal = [&](const Action& action) -> std::string {
    try {
      require_allowed(spec, small_mask(), action);
    } catch (const InputError& error) {
      return error.what();
    }
    return "allowed";
  };
  EXPECT_EQ(refusal({0, 2, 2}), "allowed");
  EXPECT_EQ(refusal({3, 0, 0}), "there is no action 3; actions are 0 to 2");
  EXPECT_EQ(refusal({1, 3, 0}), "swap: there is no entity 3; entities are 0 to 2");
  EXPECT_EQ(refusal({0, 0, 2}), "fold has 2 choices at entity 0, not number 2");
}

TEST(EnvSpec, JudgesByItsObjective) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EnvSpec less, more;
  more.less_is_better = false;
  EXPECT_TRUE(less.better(1, 2));
  EXPECT_FALSE(less.better(2, 2));
  EXPECT_TRUE(more.better(2, 1));
  EXPECT_EQ(less.worst(), kInfinity);
  EXPECT_EQ(more.worst(), -kInfinity);
  EXPECT_DOUBLE_EQ(less.improvement_percent(4, 3), 25);
  EXPECT_DOUBLE_EQ(more.improvement_percent(4, 3), -25);
  EXPECT_DOUBLE_EQ(more.improvement_percent(-4, -3), 25) << "of its size";
  EXPECT_EQ(more.improvement_percent(0, 3), 0);
  EXPECT_EQ(more.improvement_percent(4, more.worst()), 0) << "nothing feasible was reached";
}

}  // namespace
}  // namespace reverie
