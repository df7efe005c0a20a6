#include "core/base/part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace reverie {
namespace {

TEST(Part, SharesTogetherAreAllAndDifferByOne) {
  for (int of = 1; of < 9; ++of)
    for (const int count : {0, 1, 7, 8, 100}) {
      int next = 0;
      for (int number = 1; number <= of; ++number) {
        const auto [first, end] = Part{number, of}.range(count);
        EXPECT_EQ(first, next);
        EXPECT_GE(end - first, count / of);
        EXPECT_LE(end - first, count / of + 1);
        next = end;
      }
      EXPECT_EQ(next, count);
    }
}

TEST(Part, ATextIsAPart) {
  const Part part = Part::parse("3/16");
  EXPECT_EQ(part.number, 3);
  EXPECT_EQ(part.of, 16);
  EXPECT_EQ(part.text(), "3/16");
  EXPECT_EQ(part.folder_name(), "part-3-of-16");
  EXPECT_FALSE(part.is_whole());
  EXPECT_TRUE(Part::parse("1/1").is_whole());
}

TEST(Part, RefusesWhatIsNone) {
  for (const char* text : {"", "3", "/", "3/", "/16", "0/16", "17/16", "-1/2", "1/0", "a/b",
                           "1/2/3", "1 /2", "99999999999/999999999999"}) {
    EXPECT_THROW(Part::parse(text), InputError) << text;
  }
}

}  // namespace
}  // namespace reverie
