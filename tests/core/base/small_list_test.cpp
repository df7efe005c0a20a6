#include "core/base/small_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/base/random.h"

namespace reverie {
namespace {

using List = SmallList<int, 3>;

std::vector<int> contents(const List& list) { return {list.begin(), list.end()}; }

/// Below and beyond what lies in the object itself, lists behave as vectors do.
TEST(SmallList, BehavesAsAVectorDoes) {
  Rng rng(2);
  std::vector<List> lists(4);
  std::vector<std::vector<int>> plain(4);
  for (int step = 0; step < 20000; ++step) {
    const size_t i = rng.below(4);
    const size_t j = rng.below(4);
    const auto value = static_cast<int>(rng.below(6));
    switch (rng.below(6)) {
      case 0:
        lists[i] = lists[j];
        plain[i] = plain[j];
        break;
      case 1:
        if (i != j) plain[i] = std::exchange(plain[j], {});
        if (i != j) lists[i] = std::exchange(lists[j], {});
        break;
      case 2: {
        const auto at = std::find(plain[i].begin(), plain[i].end(), value);
        EXPECT_EQ(lists[i].remove_unordered(value), at != plain[i].end());
        if (at == plain[i].end()) break;
        *at = plain[i].back();
        plain[i].pop_back();
        break;
      }
      case 3:
        lists[i].assign(plain[j]);
        plain[i] = std::vector<int>(plain[j]);
        break;
      default:
        lists[i].push_back(value);
        plain[i].push_back(value);
    }
    ASSERT_EQ(contents(lists[i]), plain[i]);
    ASSERT_EQ(contents(lists[j]), plain[j]);
  }
}

}  // namespace
}  // namespace reverie
