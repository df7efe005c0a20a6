#include <gtest/gtest.h>

#include "core/base/blas.h"

/// main of the test executables that use LibTorch: as fast as the program itself.
int main(int argc, char** argv) {
  reverie::restart_with_fast_blas(argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
