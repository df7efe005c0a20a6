#include "core/base/tally.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

TEST(Tally, CountsWordsTheMostFrequentFirst) {
  EXPECT_EQ(tally({"Relu", "Conv", "Add", "Conv", "Relu", "Conv"}), "3 Conv, 2 Relu, 1 Add");
  EXPECT_EQ(tally({"b", "a"}), "1 a, 1 b") << "then by name";
  EXPECT_EQ(tally({}), "");
}

TEST(Tally, JoinsNumbersThatFollowEachOther) {
  EXPECT_EQ(runs_text({1, 2, 3, 7, 9, 10}), "1-3, 7, 9-10");
  EXPECT_EQ(runs_text({4}), "4");
  EXPECT_EQ(runs_text({}), "");
}

}  // namespace
}  // namespace reverie
