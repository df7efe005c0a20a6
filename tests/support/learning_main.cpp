#include <gtest/gtest.h>

#include "core/base/fast_start.h"

/// main of the test executables that use LibTorch: as fast as the program itself.
int main(int argc, char** argv) {
  reverie::start_fast(argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
