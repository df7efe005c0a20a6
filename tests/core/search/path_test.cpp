#include "core/search/path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reverie {
namespace {

using ::testing::ElementsAre;

TEST(PathTest, ACopyGoesOnByItself) {
  Path one;
  EXPECT_TRUE(one.empty());
  one.push_back({1});
  Path other = one;
  one.push_back({2});
  other.push_back({3});
  EXPECT_THAT(one.moves(), ElementsAre(Move{1}, Move{2}));
  EXPECT_THAT(other.moves(), ElementsAre(Move{1}, Move{3}));
  EXPECT_EQ(one.size(), 2u);
  EXPECT_EQ(other.back(), Move{3});
}

TEST(PathTest, EqualMovesMakeEqualPaths) {
  Path one, other;
  for (Path* path : {&one, &other})
    for (int kind = 0; kind < 3; ++kind) path->push_back({kind});
  EXPECT_EQ(one, other);
  one.push_back({7});
  EXPECT_NE(one, other);
  other.push_back({8});
  EXPECT_NE(one, other);
}

TEST(PathTest, AVeryLongOneCanBeGivenUp) {
  Path path;
  for (int i = 0; i < 1000000; ++i) path.push_back({i});
  const Path half = path;
  path.push_back({});
  EXPECT_EQ(path.size(), 1000001u);
  EXPECT_EQ(half.moves()[4711], Move{4711});
}

}  // namespace
}  // namespace reverie
