#pragma once

#include <gtest/gtest.h>

#include "env/environment.h"
#include "tests/support/random_actions.h"

namespace reverie::testing {

/// Both show the same and go the same way under the same random actions of `one`.
inline void expect_same_episodes(Environment& one, Environment& two, uint64_t seeds = 4) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    one.reset(seed);
    two.reset(seed);
    Rng rng(seed);
    for (bool over = false; !over;) {
      const Observation seen = one.observe();
      ASSERT_EQ(two.observe(), seen);
      for (int primary = 0; primary < one.spec().primary_actions(); ++primary)
        EXPECT_EQ(two.gains(primary), one.gains(primary));
      const Action action = random_action(seen.mask, rng, 0.05);
      const StepResult expected = one.step(action), result = two.step(action);
      EXPECT_EQ(result.reward, expected.reward);
      EXPECT_EQ(result.info, expected.info);
      EXPECT_EQ(result.truncated, expected.truncated);
      ASSERT_EQ(result.terminated, expected.terminated);
      over = result.terminated || result.truncated;
    }
    ASSERT_EQ(two.observe(), one.observe());
  }
}

}  // namespace reverie::testing
