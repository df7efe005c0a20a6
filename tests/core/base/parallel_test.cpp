#include "core/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>

namespace reverie {
namespace {

TEST(WorkerPool, RunsEachIndexOnce) {
  for (const int workers : {1, 2, 5}) {
    WorkerPool pool(workers);
    EXPECT_EQ(pool.workers(), workers);
    for (const size_t count : {0, 1, 3, 100}) {
      std::vector<std::atomic<int>> runs(count);
      pool.run(count, [&](size_t index, int worker) {
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, workers);
        ++runs[index];
      });
      for (const auto& run : runs) EXPECT_EQ(run, 1);
    }
  }
}

TEST(WorkerPool, ThrowsWhatAnIndexThrewAndWorksOn) {
  WorkerPool pool(3);
  for (int round = 0; round < 20; ++round) {
    EXPECT_THROW(pool.run(50,
                          [](size_t index, int) {
                            if (index == 7) throw std::runtime_error("seven");
                          }),
                 std::runtime_error);
    std::atomic<int> runs = 0;
    pool.run(50, [&](size_t, int) { ++runs; });
    EXPECT_EQ(runs, 50);
  }
}

TEST(OrderedParallel, ConsumesInOrderAndWithinTheWindow) {
  for (const int workers : {1, 2, 7}) {
    std::atomic<size_t> begun = 5;
    size_t expected = 5;
    ordered_parallel<std::string>(
        5, 200, workers, 3,
        [&](size_t index, int) {
          ++begun;
          return std::to_string(index);
        },
        [&](size_t index, std::string result) {
          EXPECT_EQ(index, expected++);
          EXPECT_EQ(result, std::to_string(index));
          EXPECT_LE(begun, index + 3);
        });
    EXPECT_EQ(expected, 200u);
  }
}

TEST(OrderedParallel, FailuresOfEitherSideComeOutInOrder) {
  for (const int workers : {1, 4}) {
    size_t consumed = 0;
    const auto count = [&](size_t, int) { ++consumed; };
    EXPECT_THROW(ordered_parallel<int>(
                     0, 100, workers, 8,
                     [](size_t index, int) {
                       if (index >= 20) throw std::runtime_error("produce");
                       return 0;
                     },
                     count),
                 std::runtime_error);
    EXPECT_EQ(consumed, 20u);
    EXPECT_THROW(ordered_parallel<int>(
                     0, 100, workers, 8, [](size_t, int) { return 0; },
                     [](size_t index, int) {
                       if (index == 3) throw std::logic_error("consume");
                     }),
                 std::logic_error);
  }
}

}  // namespace
}  // namespace reverie
