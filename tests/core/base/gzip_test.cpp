#include "core/base/gzip.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace reverie {
namespace {

/// "a word, " twenty times, by gzip -n.
constexpr std::string_view kPacked(
    "\037\213\010\000\000\000\000\000\000\003\113\124\050\317\057\112\321\121\110\034"
    "\244\064\000\065\341\055\110\240\000\000\000",
    31);

TEST(Gzip, UnpacksAWholeFile) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "a word, ";
  EXPECT_EQ(gunzip(kPacked), text);
  EXPECT_EQ(gunzip(std::string(kPacked).append(kPacked)), text + text) << "of two members";
}

TEST(Gzip, RefusesWhatIsCutOffDamagedOrFollowedByMore) {
  for (size_t size = 0; size < kPacked.size(); ++size)
    EXPECT_THROW(gunzip(kPacked.substr(0, size)), InputError) << size;
  for (const size_t at : {size_t{0}, kPacked.size() / 2, kPacked.size() - 5}) {
    std::string damaged(kPacked);
    damaged[at] ^= 1;
    EXPECT_THROW(gunzip(damaged), InputError) << at;
  }
  EXPECT_THROW(gunzip(std::string(kPacked) + "x"), InputError);
  EXPECT_THROW(gunzip("plain text"), InputError);
}

}  // namespace
}  // namespace reverie
