#include "core/base/blas.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

TEST(Blas, SlowKernelsOnAFastProcessorAreReplaced) {
  const BlasProbe wide{.core_name = "Prescott", .avx2 = true, .avx512 = true};
  EXPECT_EQ(better_settings(wide).core_type, "SkylakeX");
  const BlasProbe narrow{.core_name = "Prescott", .avx2 = true};
  EXPECT_EQ(better_settings(narrow).core_type, "Haswell");
}

TEST(Blas, WhatIsRightOrChosenStays) {
  EXPECT_EQ(better_settings({.core_name = "Zen", .avx2 = true}).core_type, "");
  EXPECT_EQ(better_settings({.core_name = "Prescott"}).core_type, "");
  EXPECT_EQ(better_settings({.avx2 = true, .avx512 = true}).core_type, "");
  const BlasProbe chosen{.core_name = "Prescott",
                         .avx2 = true,
                         .core_type_is_set = true,
                         .wait_policy_is_set = true};
  EXPECT_TRUE(better_settings(chosen).empty());
}

}  // namespace
}  // namespace reverie
