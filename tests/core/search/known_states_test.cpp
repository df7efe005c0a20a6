#include "core/search/known_states.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/row_of_digits.h"

namespace reverie {
namespace {

TEST(KnownStates, HoldSoManySnapshotsAndKnowAll) {
  KnownStates known(3);
  std::vector<testing::RowOfDigits> states;
  for (int i = 0; i < 10; ++i)  // no two of one hash
    states.emplace_back(std::vector<int>{i / 5, i % 5, 0});
  for (const Problem& state : states) {
    EXPECT_TRUE(known.add(state));
    EXPECT_LE(known.held(), 3);
  }
  for (const Problem& state : states) EXPECT_FALSE(known.add(state));
}

}  // namespace
}  // namespace reverie
