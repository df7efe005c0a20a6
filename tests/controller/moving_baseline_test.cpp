#include "controller/train/moving_baseline.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

torch::Tensor two(float first, float second) { return torch::tensor({first, second}); }
torch::Tensor seen(bool first, bool second) {
  return torch::tensor(std::vector<int64_t>{first, second}).to(torch::kBool);
}

TEST(MovingBaseline, IsTheFirstMeanAndThenMovesWhereAnythingIsSeen) {
  MovingBaseline baseline(3, 0.5);
  EXPECT_TRUE(baseline.advance(two(4, 8), seen(true, false)).equal(two(4, 8)));
  EXPECT_TRUE(baseline.advance(two(2, 6), seen(true, true)).equal(two(4, 6)));
  EXPECT_TRUE(baseline.advance(two(0, 0), seen(false, true)).equal(two(3, 6)));
  EXPECT_TRUE(baseline.advance(two(0, 0), seen(true, true)).equal(two(3, 3)));
}

TEST(MovingBaseline, ACheckpointHoldsIt) {
  MovingBaseline baseline(2, 0.5), again(2, 0.5);
  baseline.advance(two(4, 8), seen(true, false));
  Checkpoint checkpoint;
  baseline.store(checkpoint, "baseline");
  again.restore(checkpoint, "baseline");
  EXPECT_TRUE(again.advance(two(2, 6), seen(true, true)).equal(two(4, 6)));
}

}  // namespace
}  // namespace reverie
