#include "core/base/shared_vector.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "core/base/random.h"

namespace reverie {
namespace {

template <class Shared>
void expect_equal(const Shared& shared, const std::vector<int>& plain) {
  ASSERT_EQ(shared.size(), plain.size());
  for (size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(shared[i], plain[i]) << i;
}

/// Copies that go separate ways behave as vectors do.
TEST(SharedVector, CopiesAreIndependent) {
  Rng rng(1);
  std::vector<SharedVector<int, 1>> shared(1);  // small blocks: three levels of tables at 10,000
  std::vector<std::vector<int>> plain(1);
  for (int step = 0; step < 40000; ++step) {
    const size_t i = rng.below(shared.size());
    const auto value = static_cast<int>(rng.below(1000));
    const uint64_t what = rng.below(100);
    if (what == 0 && shared.size() < 8) {
      shared.push_back(shared[i]);
      plain.push_back(plain[i]);
    } else if (what == 1) {
      const size_t from = rng.below(shared.size());
      shared[i] = shared[from];
      plain[i] = plain[from];
    } else if (what < 50 || plain[i].empty()) {
      for (int k = 0; k < 3; ++k) {
        shared[i].push_back(value);
        plain[i].push_back(value);
      }
    } else if (what < 60) {
      shared[i].pop_back();
      plain[i].pop_back();
    } else {
      const size_t at = rng.below(plain[i].size());
      shared[i].edit(at) = value;
      plain[i][at] = value;
    }
  }
  for (size_t i = 0; i < shared.size(); ++i) expect_equal(shared[i], plain[i]);
  EXPECT_GT(plain[0].size(), 2000u);
}

TEST(SharedVector, ExtendsWithDefaultsAndReusesWhatWasRemoved) {
  SharedVector<int> vector;
  vector.extend(3);
  vector.edit(2) = 5;
  vector.pop_back();
  vector.extend(40);
  EXPECT_EQ(vector[2], 0);
  EXPECT_EQ(vector[39], 0);
  EXPECT_EQ(vector.size(), 40u);
}

TEST(SharedVector, ElementsLiveAsLongAsSomeVectorHoldsThem) {
  const auto counted = std::make_shared<int>(1);
  {
    SharedVector<std::shared_ptr<int>, 2> vector;
    for (int i = 0; i < 1000; ++i) vector.push_back(counted);
    EXPECT_EQ(counted.use_count(), 1001);
    SharedVector<std::shared_ptr<int>, 2> copy = vector;
    EXPECT_EQ(counted.use_count(), 1001);
    copy.edit(500).reset();  // a block of four is copied, one of them dropped
    EXPECT_EQ(counted.use_count(), 1004);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(SharedVector, AnElementStaysInPlaceUntilASharedOneIsEdited) {
  SharedVector<int> vector;
  for (int i = 0; i < 100; ++i) vector.push_back(i);
  const int* first = &vector[0];
  for (int i = 0; i < 10000; ++i) vector.push_back(i);
  vector.edit(0) = 7;
  EXPECT_EQ(&vector[0], first);
  const SharedVector<int> copy = vector;
  vector.edit(0) = 8;
  EXPECT_NE(&vector[0], first);
  EXPECT_EQ(&copy[0], first);
  EXPECT_EQ(*first, 7);
}

TEST(SharedVector, ThreadsEditCopiesOfTheirOwn) {
  SharedVector<int> original;
  for (int i = 0; i < 5000; ++i) original.push_back(i);
  std::vector<std::thread> threads;
  std::vector<int64_t> sums(4, 0);
  for (size_t t = 0; t < sums.size(); ++t)
    threads.emplace_back([&, t, mine = original]() mutable {
      for (size_t i = t; i < mine.size(); i += sums.size()) mine.edit(i) += 1;
      for (size_t i = 0; i < mine.size(); ++i) sums[t] += mine[i];
    });
  original = {};
  for (std::thread& thread : threads) thread.join();
  for (const int64_t sum : sums) EXPECT_EQ(sum, 5000 * 4999 / 2 + 1250);
}

}  // namespace
}  // namespace reverie
