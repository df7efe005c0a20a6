#include "env/adapt/standing.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "env/adapt/published_table.h"

namespace reverie::testing {
namespace {

RecordedSequence recorded(const std::optional<ChangeAtRate>& decision,
                          const std::vector<double>& ends) {
  RecordedSequence sequence{{decision}, {}};
  for (const double end : ends)
    sequence.runs.push_back(
        {sequence.runs.size(), {{0.5, 0, 0, 0.6}, {end, 0, 0, 1}}, {{2, 1, 1, 0.4}}});
  return sequence;
}

TEST(Standing, CountsWhatIsBetter) {
  const ChangeAtRate first{ChangeKind::kDeepen, 0, 0.01}, second{ChangeKind::kDeepen, 2, 0.01};
  AdaptTable table;
  table.network = published_network("cnn1");
  table.curve = {{0.2, 0, 0, 0.2}};
  table.sequences = {recorded(std::nullopt, {0.4, 0.6}), recorded(first, {0.9, 0.5}),
                     recorded(second, {0.7, 0.7})};
  const Standing tied = standing(table, {first}, 1);
  EXPECT_EQ(tied.rank, 1);
  EXPECT_NEAR(tied.accuracy, 70, 1e-9);
  EXPECT_NEAR(tied.best, 70, 1e-9);
  EXPECT_NEAR(tied.mean, (50 + 70 + 70) / 3.0, 1e-9);
  EXPECT_EQ(standing(table, {std::nullopt}, 1).rank, 3);
  EXPECT_EQ(standing(table, {std::nullopt}, 1).sequences, 3);
  EXPECT_NEAR(standing(table, {second}, 2).accuracy, 60, 1e-9);
  EXPECT_NEAR(standing(table, {second}, 9).accuracy, 100 * (0.2 + 0.5 + 0.7) / 3, 1e-9);
  EXPECT_THROW(standing(table, {std::nullopt, std::nullopt}, 1), InputError);
}

}  // namespace
}  // namespace reverie::testing
