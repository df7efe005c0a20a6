#include "datasets/episode.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

double improvement(bool less_is_better, std::vector<double> objective,
                   std::vector<uint8_t> feasible = {}) {
  EnvSpec spec;
  spec.less_is_better = less_is_better;
  Episode episode;
  episode.objective = std::move(objective);
  episode.feasible = std::move(feasible);
  return episode.improvement_percent(spec);
}

TEST(EpisodeImprovement, IsThatOfTheBestState) {
  EXPECT_DOUBLE_EQ(improvement(true, {8, 6, 7, 9}), 25);
  EXPECT_DOUBLE_EQ(improvement(true, {8, 9}), 0) << "the first is one of them";
  EXPECT_DOUBLE_EQ(improvement(false, {8, 6, 10, 9}), 25);
  EXPECT_DOUBLE_EQ(improvement(false, {8, 6}), 0);
  EXPECT_EQ(improvement(true, {0, -3}), 0) << "no percent of nothing";
}

TEST(EpisodeImprovement, LeavesOutWhatIsInfeasible) {
  EXPECT_DOUBLE_EQ(improvement(false, {8, 12, 10}, {1, 0, 1}), 25);
  EXPECT_DOUBLE_EQ(improvement(true, {8, 2, 6}, {1, 0, 1}), 25);
  EXPECT_DOUBLE_EQ(improvement(false, {8, 12, 10}, {1, 0, 0}), 0);
  EXPECT_DOUBLE_EQ(improvement(false, {8, 6, 7}, {0, 1, 1}), -12.5) << "the first was none";
  EXPECT_EQ(improvement(false, {8, 12}, {0, 0}), 0) << "nothing was reached";
  EXPECT_EQ(improvement(true, {8, 2}, {0, 0}), 0);
}

}  // namespace
}  // namespace reverie
