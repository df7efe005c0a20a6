#include "core/base/fast_start.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <vector>

#include "core/base/sanitized.h"

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

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

/// Pieces too small to be mapped by themselves, the last of which keeps the heap from shrinking.
TEST(FastStart, FreedMemoryIsGivenBack) {
#if REVERIE_SANITIZED
  GTEST_SKIP() << "sanitizers keep memory of their own";
#endif
  constexpr int kPieces = 4096, kPiece = 64 << 10;
  std::vector<std::unique_ptr<std::vector<char>>> pieces;
  for (int i = 0; i < kPieces; ++i)
    pieces.push_back(std::make_unique<std::vector<char>>(kPiece, '1'));
  pieces.erase(pieces.begin(), pieces.end() - 1);
  const int64_t kept = resident_bytes();
  give_back_memory();
  EXPECT_LT(resident_bytes(), kept - (int64_t{kPieces} * kPiece) / 2);
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
