#include "core/exec/device/attention_block.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <limits>
#include <thread>
#include <vector>

#include "core/base/random.h"
#include "tests/support/host_device.h"

namespace reverie::device {
namespace {

/// A thread of a block; `exchange` is what the block's threads see of each other.
class HostBlock {
 public:
  HostBlock(int thread, std::barrier<>& barrier, std::vector<float>& exchange)
      : thread_(thread), barrier_(barrier), exchange_(exchange) {}
  int thread() const { return thread_; }
  void wait() { barrier_.arrive_and_wait(); }
  float largest(float x) {
    return over_row(x, [](float a, float b) { return std::max(a, b); });
  }
  float sum(float x) {
    return over_row(x, [](float a, float b) { return a + b; });
  }

 private:
  template <typename Combine>
  float over_row(float x, Combine combine) {
    exchange_[static_cast<size_t>(thread_)] = x;
    wait();
    const int first = thread_ / kLanesOfRow * kLanesOfRow;
    float result = exchange_[static_cast<size_t>(first)];
    for (int lane = 1; lane < kLanesOfRow; ++lane)
      result = combine(result, exchange_[static_cast<size_t>(first + lane)]);
    wait();
    return result;
  }

  int thread_;
  std::barrier<>& barrier_;
  std::vector<float>& exchange_;
};

template <int kTileRows>
void attend_by_threads(const Attention& call, const AttentionMemory& memory) {
  const AttentionWork work = work_of(call);
  constexpr int kRows = kTileRows * kAttentionTile;
  const int64_t blocks = call.outer * call.heads * ((call.queries + kRows - 1) / kRows);
  std::vector<float> shared(
      static_cast<size_t>(AttentionShared<float>(work, kRows).bytes()) / sizeof(float),
      std::numeric_limits<float>::quiet_NaN());
  std::vector<float> exchange(kAttentionThreads);
  std::barrier barrier(kAttentionThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kAttentionThreads; ++thread)
    threads.emplace_back([&, thread] {
      HostBlock block(thread, barrier, exchange);
      for (int64_t index = 0; index < blocks; ++index) {
        attend<FloatTiles, kTileRows>(block, work, memory, index,
                                      reinterpret_cast<std::byte*>(shared.data()));
        block.wait();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

std::vector<float> drawn(Rng& rng, int64_t count) {
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) number = static_cast<float>(rng.uniform(-1, 1));
  return numbers;
}

/// Of [outer, heads, rows, columns], or of [outer, rows, heads, columns].
HeadStrides strides_of(const Attention& call, int64_t rows, int64_t columns, bool tokens_first) {
  if (tokens_first) return {rows * call.heads * columns, columns, call.heads * columns, 1};
  return {call.heads * rows * columns, rows * columns, columns, 1};
}

struct Case {
  int64_t outer, heads, queries, keys, depth, width;
  bool tokens_first;
  int masked = 0;  ///< keys at the end that the mask takes out; -1: no mask
};

template <int kTileRows>
void expect_as_plain_loops(const Case& one) {
  SCOPED_TRACE(fmt::format("{} rows: {} x {} x ({}, {}) of {} and {} columns", kTileRows * 16,
                           one.outer, one.heads, one.queries, one.keys, one.depth, one.width));
  Attention call{.outer = one.outer,
                 .heads = one.heads,
                 .queries = one.queries,
                 .keys = one.keys,
                 .depth = one.depth,
                 .width = one.width,
                 .scale = 1.7,
                 .has_mask = one.masked >= 0};
  call.q = strides_of(call, one.queries, one.depth, one.tokens_first);
  call.k = strides_of(call, one.keys, one.depth, one.tokens_first);
  call.v = strides_of(call, one.keys, one.width, one.tokens_first);
  call.result = strides_of(call, one.queries, one.width, one.tokens_first);
  call.mask = {0, 0, one.keys, 1};
  Rng rng(7);
  const int64_t heads = one.outer * one.heads;
  std::vector<float> q = drawn(rng, heads * one.queries * one.depth),
                     k = drawn(rng, heads * one.keys * one.depth),
                     v = drawn(rng, heads * one.keys * one.width),
                     mask = drawn(rng, one.queries * one.keys),
                     expected(static_cast<size_t>(heads * one.queries * one.width)),
                     result(expected.size(), std::numeric_limits<float>::quiet_NaN());
  for (size_t i = 0; i < mask.size(); ++i)
    if (static_cast<int64_t>(i) % one.keys >= one.keys - one.masked)
      mask[i] = -std::numeric_limits<float>::infinity();
  const auto bytes = [](std::vector<float>& numbers) {
    return reinterpret_cast<std::byte*>(numbers.data());
  };
  std::vector<std::byte*> memory = {bytes(q), bytes(k), bytes(v)};
  if (call.has_mask) memory.push_back(bytes(mask));
  memory.push_back(bytes(expected));
  testing::host_calls::run(call, memory);
  attend_by_threads<kTileRows>(call, {bytes(q), bytes(k), bytes(v), bytes(mask), bytes(result)});
  for (size_t i = 0; i < result.size(); ++i) ASSERT_NEAR(result[i], expected[i], 2e-6) << i;
}

TEST(AttentionBlock, ComputesWhatPlainLoopsDo) {
  for (const Case& one : {
           Case{1, 1, 16, 64, 16, 16, false, -1},
           Case{2, 3, 5, 7, 4, 6, true, -1},        // fills no tile
           Case{1, 2, 33, 130, 20, 40, true},       // several portions, masked
           Case{1, 1, 70, 65, 64, 64, false, 2},    // the last portion is masked as a whole
           Case{1, 2, 17, 64, 128, 128, true, -1},  // most columns
       }) {
    expect_as_plain_loops<1>(one);
    expect_as_plain_loops<2>(one);
    expect_as_plain_loops<4>(one);
  }
}

/// What is added to the scores of the first portion takes out all of it.
TEST(AttentionBlock, TakesAPortionThatIsMaskedAsAWhole) {
  std::vector<float> q(16), k(128 * 16), v(128 * 16), mask(128), result(16);
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i / 16);
  std::fill_n(mask.begin(), 64, -std::numeric_limits<float>::infinity());
  const Attention call{.keys = 128,
                       .depth = 16,
                       .width = 16,
                       .has_mask = true,
                       .q = {0, 0, 16, 1},
                       .k = {0, 0, 16, 1},
                       .v = {0, 0, 16, 1},
                       .mask = {0, 0, 0, 1},
                       .result = {0, 0, 16, 1}};
  const auto bytes = [](std::vector<float>& numbers) {
    return reinterpret_cast<std::byte*>(numbers.data());
  };
  attend_by_threads<1>(call, {bytes(q), bytes(k), bytes(v), bytes(mask), bytes(result)});
  EXPECT_NEAR(result[0], 95.5, 1e-4);
}

}  // namespace
}  // namespace reverie::device
