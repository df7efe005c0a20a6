#include "core/cost/paired_benchmark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/base/random.h"

namespace reverie {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

/// A machine on which runs take known times, up to noise of its own and a shift that is drawn for
/// each contestant in each round, as memory layout does it.
struct FakeMachine {
  std::vector<double> seconds;
  double noise = 0.05;
  double shift = 0.02;
  Rng rng = Rng(3);
  std::vector<std::vector<int>> rounds = {};
  int runs = 0;

  NewRound round_maker() {
    return [this](std::span<const int> contestants) {
      rounds.emplace_back(contestants.begin(), contestants.end());
      return std::make_unique<FakeRound>(*this);
    };
  }

  class FakeRound : public BenchmarkRound {
   public:
    explicit FakeRound(FakeMachine& machine) : machine_(machine) {
      for (const double time : machine.seconds)
        times_.push_back(time * (1 + machine.shift * machine.rng.uniform(-1, 1)));
    }
    double run(int contestant) override {
      ++machine_.runs;
      return times_[static_cast<size_t>(contestant)] *
             (1 + machine_.noise * machine_.rng.uniform());
    }

    int fallbacks(int contestant) const override { return contestant == 0 ? 2 : 1; }

   private:
    FakeMachine& machine_;
    std::vector<double> times_;
  };
};

BenchmarkOptions quick() {
  BenchmarkOptions options;
  options.round_seconds = 0;
  options.max_seconds = 1e9;
  return options;
}

TEST(PairedBenchmark, CountsTheNodesOnReferenceKernels) {
  FakeMachine machine{.seconds = {1, 0.8}};
  EXPECT_EQ(run_paired_benchmark(2, machine.round_maker(), quick()).fallbacks, 2);
}

TEST(PairedBenchmark, TheFastestWins) {
  FakeMachine machine{.seconds = {1, 0.97, 0.8, 1.2, 0.9}};
  const BenchmarkResult result = run_paired_benchmark(5, machine.round_maker(), quick());
  EXPECT_EQ(result.winner, 2);
  ASSERT_THAT(result.contestants, SizeIs(5));
  EXPECT_NEAR(result.contestants[2].ratio.median, 0.8, 0.02);
  EXPECT_LT(result.contestants[2].ratio.high, 0.85);
  EXPECT_NEAR(result.contestants[0].ratio.median, 1, 1e-12);
  EXPECT_TRUE(result.contestants[2].finalist);
  EXPECT_FALSE(result.contestants[3].finalist);
}

TEST(PairedBenchmark, TheFirstKeepsItsPlaceWhereNobodyIsFasterBeyondTheInterval) {
  int lost = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FakeMachine machine{.seconds = {1, 1, 1, 1}, .rng = Rng(seed)};
    lost += run_paired_benchmark(4, machine.round_maker(), quick()).winner != 0;
  }
  EXPECT_LE(lost, 5);  // two finalists, each taken wrongly in 2.5 % of all benchmarks
  FakeMachine slower{.seconds = {1, 1.1, 1.3}};
  EXPECT_EQ(run_paired_benchmark(3, slower.round_maker(), quick()).winner, 0);
}

/// With one round however long, the shift passes for a difference.
TEST(PairedBenchmark, EveryRoundMakesThoseThatAreLeftReadyAnew) {
  FakeMachine machine{.seconds = {1, 0.5, 0.6, 2, 3, 4}};
  run_paired_benchmark(6, machine.round_maker(), quick());
  ASSERT_GE(machine.rounds.size(), 2u + 9u);
  EXPECT_THAT(machine.rounds.front(), UnorderedElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(machine.rounds.back(), UnorderedElementsAre(0, 1, 2));
  std::set<std::vector<int>> orders;
  for (const auto& round : machine.rounds)
    if (round.size() == 3) orders.insert(round);
  EXPECT_GT(orders.size(), 2u);
}

TEST(PairedBenchmark, AFewAtATimeMeetTheFirst) {
  FakeMachine machine{.seconds = {1, 1.1, 0.9, 0.8, 1.2, 0.95}};
  BenchmarkOptions options = quick();
  options.together = 2;
  options.screening = 1;
  const BenchmarkResult result = run_paired_benchmark(6, machine.round_maker(), options);
  EXPECT_EQ(result.winner, 3);
  std::set<int> screened;
  for (size_t i = 0; i < machine.rounds.size(); ++i) {
    EXPECT_THAT(machine.rounds[i], ::testing::Contains(0));
    EXPECT_LE(machine.rounds[i].size(), 3u);
    if (i < 3) screened.insert(machine.rounds[i].begin(), machine.rounds[i].end());
  }
  EXPECT_THAT(screened, SizeIs(6));
}

TEST(PairedBenchmark, EndsOnceIntervalsAreNarrowOrTheTimeIsOver) {
  FakeMachine exact{.seconds = {1, 0.9}, .noise = 0, .shift = 0};
  run_paired_benchmark(2, exact.round_maker(), quick());
  EXPECT_THAT(exact.rounds, SizeIs(quick().min_rounds));
  FakeMachine rough{.seconds = {1, 0.3}, .noise = 0.5, .shift = 0.2};
  BenchmarkOptions options = quick();
  run_paired_benchmark(2, rough.round_maker(), options);
  EXPECT_THAT(rough.rounds, SizeIs(options.max_rounds));
  FakeMachine slow{.seconds = {100, 90}, .noise = 0.5, .shift = 0.5};
  options.max_seconds = 60;
  run_paired_benchmark(2, slow.round_maker(), options);
  EXPECT_THAT(slow.rounds, SizeIs(6));
}

TEST(PairedBenchmark, GoesOnWhileAnIntervalHoldsOne) {
  FakeMachine machine{.seconds = {1, 0.95}, .noise = 0.02, .shift = 0.15};
  BenchmarkOptions options = quick();
  options.max_rounds = options.min_rounds;
  const BenchmarkResult result = run_paired_benchmark(2, machine.round_maker(), options);
  EXPECT_GT(machine.rounds.size(), static_cast<size_t>(options.max_rounds))
      << "nine rounds show nothing";
  EXPECT_EQ(machine.rounds.size() % static_cast<size_t>(options.max_rounds), 0u)
      << "it looks after doublings alone";
  EXPECT_EQ(result.winner, 1);
  FakeMachine slow{.seconds = {100, 95}, .noise = 0.02, .shift = 0.15};
  options.max_seconds = 60;
  run_paired_benchmark(2, slow.round_maker(), options);
  EXPECT_THAT(slow.rounds, SizeIs(6)) << "not when the time is over";
}

TEST(PairedBenchmark, TheNextTakesThePlaceOfOneThatIsNotAdmitted) {
  FakeMachine machine{.seconds = {1, 0.97, 0.8, 1.2, 0.9}};
  BenchmarkOptions options = quick();
  options.finalists = 1;
  std::vector<int> asked;
  options.admit = [&](int contestant) {
    asked.push_back(contestant);
    return contestant == 4;
  };
  const BenchmarkResult result = run_paired_benchmark(5, machine.round_maker(), options);
  EXPECT_EQ(result.winner, 4);
  EXPECT_THAT(asked, ElementsAre(2, 4));
  EXPECT_FALSE(result.contestants[2].finalist);
  options.admit = [](int) { return false; };
  const BenchmarkResult none = run_paired_benchmark(5, machine.round_maker(), options);
  EXPECT_EQ(none.winner, 0);
  EXPECT_EQ(none.contestants[0].ratio.samples, 0);
}

TEST(PairedBenchmark, WhatWasOnlyScreenedHasNoInterval) {
  FakeMachine machine{.seconds = {1, 0.5, 0.6, 0.9}};
  const BenchmarkResult result = run_paired_benchmark(4, machine.round_maker(), quick());
  const MedianInterval screened = result.contestants[3].ratio, kept = result.contestants[1].ratio;
  EXPECT_NEAR(screened.median, 0.9, 0.1);
  EXPECT_EQ(screened.low, 0);
  EXPECT_TRUE(std::isinf(screened.high));
  EXPECT_GT(kept.low, 0.4);
  EXPECT_LT(kept.high, 0.6);
}

/// Runs of a worker process: what goes on around a run takes longer than the run.
TEST(PairedBenchmark, ARoundEndsByTheClockToo) {
  int runs = 0;
  class Remote : public BenchmarkRound {
   public:
    explicit Remote(int& runs) : runs_(runs) {}
    double run(int) override {
      if (++runs_ > 1000) throw std::runtime_error("no end");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return 1e-9;
    }

   private:
    int& runs_;
  };
  BenchmarkOptions options = quick();
  options.round_seconds = 0.02;
  options.screening = 1;
  run_paired_benchmark(
      1, [&](std::span<const int>) { return std::make_unique<Remote>(runs); }, options);
  EXPECT_LE(runs, 2 + 20) << "two of them warm up";
}

TEST(PairedBenchmark, GoesTheSameWayWithTheSameTimes) {
  const auto play = [] {
    FakeMachine machine{.seconds = {1, 0.99, 0.98, 1.01}};
    const BenchmarkResult result = run_paired_benchmark(4, machine.round_maker(), quick());
    return std::tuple(result.winner, result.contestants[2].ratio.median, machine.runs);
  };
  EXPECT_EQ(play(), play());
}

TEST(PairedBenchmark, AloneTheFirstWinsAndIsTimed) {
  FakeMachine machine{.seconds = {1}};
  const BenchmarkResult result = run_paired_benchmark(1, machine.round_maker(), quick());
  EXPECT_EQ(result.winner, 0);
  ASSERT_THAT(result.contestants, SizeIs(1));
  EXPECT_NEAR(result.contestants[0].median, 1, 0.1);
  EXPECT_EQ(result.contestants[0].ratio.median, 1);
  EXPECT_EQ(result.contestants[0].ratio.samples, 0);
  EXPECT_EQ(result.fallbacks, 2);
  EXPECT_THAT(machine.rounds, SizeIs(static_cast<size_t>(quick().screening)));
}

}  // namespace
}  // namespace reverie
