#include "tools/fast_start.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

TEST(FastStart, SlowKernelsOnAFastProcessorAreReplaced) {
  const BlasProbe wide{.core_name = "Prescott", .avx2 = true, .avx512 = true};
  EXPECT_EQ(better_settings(wide).core_type, "SkylakeX");
  const BlasProbe narrow{.core_name = "Prescott", .avx2 = true};
  EXPECT_EQ(better_settings(narrow).core_type, "Haswell");
  const BlasProbe amd{.core_name = "Zen", .avx2 = true, .avx512 = true, .amd = true};
  EXPECT_EQ(better_settings(amd).core_type, "SkylakeX");
  EXPECT_EQ(better_settings(amd).capability, "avx512");
}

TEST(FastStart, WhatIsRightOrChosenStays) {
  const BlasProbe wide_intel{.core_name = "SkylakeX", .avx2 = true, .avx512 = true};
  EXPECT_EQ(better_settings(wide_intel).core_type, "");
  EXPECT_EQ(better_settings({.core_name = "Zen", .avx2 = true}).core_type, "");
  EXPECT_EQ(better_settings({.core_name = "Zen", .avx2 = true, .amd = true}).capability, "");
  EXPECT_EQ(better_settings(wide_intel).capability, "");
  EXPECT_EQ(better_settings({.core_name = "Prescott"}).core_type, "");
  EXPECT_EQ(better_settings({.avx2 = true, .avx512 = true}).core_type, "");
  const BlasProbe chosen{.core_name = "Prescott",
                         .avx2 = true,
                         .avx512 = true,
                         .amd = true,
                         .core_type_is_set = true,
                         .capability_is_set = true,
                         .wait_policy_is_set = true};
  EXPECT_TRUE(better_settings(chosen).empty());
}

}  // namespace
}  // namespace reverie
