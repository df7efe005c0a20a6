#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tools/fast_start.h"

namespace {

/// LibTorch seeds its generator anew in every process; a test has to give the same each time.
class SeededTests : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { torch::manual_seed(1); }
};

}  // namespace

/// main of the test executables that use LibTorch: as fast as the program itself.
int main(int argc, char** argv) {
  reverie::start_fast(argv);
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new SeededTests);
  return RUN_ALL_TESTS();
}
