#include "core/cost/contest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>

#include "core/base/random.h"

namespace reverie {
namespace {

using ::testing::Each;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

/// A machine on which runs take known times, up to noise of its own and a shift that is drawn for
/// each contestant in each sitting, as memory layout does it.
struct FakeMachine {
  std::vector<double> seconds;
  double noise = 0.05;
  double shift = 0.02;
  Rng rng = Rng(3);
  std::vector<std::vector<int>> sittings = {};
  int runs = 0;

  NewSitting sitting_maker() {
    return [this](std::span<const int> contestants) {
      sittings.emplace_back(contestants.begin(), contestants.end());
      return std::make_unique<FakeSitting>(*this);
    };
  }

  class FakeSitting : public Sitting {
   public:
    explicit FakeSitting(FakeMachine& machine) : machine_(machine) {
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

ContestOptions quick() {
  ContestOptions options;
  options.sitting_seconds = 0;
  options.max_seconds = 1e9;
  return options;
}

TEST(Contest, CountsTheNodesOnReferenceKernels) {
  FakeMachine machine{.seconds = {1, 0.8}};
  EXPECT_EQ(hold_contest(2, machine.sitting_maker(), quick()).fallbacks, 2);
}

TEST(Contest, TheFastestWins) {
  FakeMachine machine{.seconds = {1, 0.97, 0.8, 1.2, 0.9}};
  const ContestResult result = hold_contest(5, machine.sitting_maker(), quick());
  EXPECT_EQ(result.winner, 2);
  ASSERT_THAT(result.standings, SizeIs(5));
  EXPECT_NEAR(result.standings[2].ratio.median, 0.8, 0.02);
  EXPECT_LT(result.standings[2].ratio.high, 0.85);
  EXPECT_NEAR(result.standings[0].ratio.median, 1, 1e-12);
  EXPECT_TRUE(result.standings[2].finalist);
  EXPECT_FALSE(result.standings[3].finalist);
}

TEST(Contest, TheFirstKeepsItsPlaceWhereNobodyIsFasterBeyondTheInterval) {
  int lost = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FakeMachine machine{.seconds = {1, 1, 1, 1}, .rng = Rng(seed)};
    lost += hold_contest(4, machine.sitting_maker(), quick()).winner != 0;
  }
  EXPECT_LE(lost, 5);  // two finalists, each taken wrongly in 2.5 % of all contests
  FakeMachine slower{.seconds = {1, 1.1, 1.3}};
  EXPECT_EQ(hold_contest(3, slower.sitting_maker(), quick()).winner, 0);
}

/// With one sitting however long, the shift passes for a difference.
TEST(Contest, EverySittingMakesThoseThatAreLeftReadyAnew) {
  FakeMachine machine{.seconds = {1, 0.5, 0.6, 2, 3, 4}};
  hold_contest(6, machine.sitting_maker(), quick());
  ASSERT_GE(machine.sittings.size(), 2u + 9u);
  EXPECT_THAT(machine.sittings.front(), UnorderedElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(machine.sittings.back(), UnorderedElementsAre(0, 1, 2));
  std::set<std::vector<int>> orders;
  for (const auto& sitting : machine.sittings)
    if (sitting.size() == 3) orders.insert(sitting);
  EXPECT_GT(orders.size(), 2u);
}

TEST(Contest, EndsOnceIntervalsAreNarrowOrTheTimeIsOver) {
  FakeMachine exact{.seconds = {1, 0.9}, .noise = 0, .shift = 0};
  hold_contest(2, exact.sitting_maker(), quick());
  EXPECT_THAT(exact.sittings, SizeIs(quick().min_sittings));
  FakeMachine rough{.seconds = {1, 0.9}, .noise = 0.5, .shift = 0.5};
  ContestOptions options = quick();
  hold_contest(2, rough.sitting_maker(), options);
  EXPECT_THAT(rough.sittings, SizeIs(options.max_sittings));
  FakeMachine slow{.seconds = {100, 90}, .noise = 0.5, .shift = 0.5};
  options.max_seconds = 60;
  hold_contest(2, slow.sitting_maker(), options);
  EXPECT_THAT(slow.sittings, SizeIs(6));
}

/// Runs of a worker process: what goes on around a run takes longer than the run.
TEST(Contest, ASittingEndsByTheClockToo) {
  int runs = 0;
  class Remote : public Sitting {
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
  ContestOptions options = quick();
  options.sitting_seconds = 0.02;
  options.screening = 1;
  hold_contest(1, [&](std::span<const int>) { return std::make_unique<Remote>(runs); }, options);
  EXPECT_LE(runs, 2 + 20) << "two of them warm up";
}

TEST(Contest, GoesTheSameWayWithTheSameTimes) {
  const auto play = [] {
    FakeMachine machine{.seconds = {1, 0.99, 0.98, 1.01}};
    const ContestResult result = hold_contest(4, machine.sitting_maker(), quick());
    return std::tuple(result.winner, result.standings[2].ratio.median, machine.runs);
  };
  EXPECT_EQ(play(), play());
}

TEST(Contest, AloneTheFirstWinsAndIsTimed) {
  FakeMachine machine{.seconds = {1}};
  const ContestResult result = hold_contest(1, machine.sitting_maker(), quick());
  EXPECT_EQ(result.winner, 0);
  ASSERT_THAT(result.standings, SizeIs(1));
  EXPECT_NEAR(result.standings[0].median, 1, 0.1);
  EXPECT_EQ(result.standings[0].ratio.median, 1);
  EXPECT_EQ(result.standings[0].ratio.samples, 0);
  EXPECT_EQ(result.fallbacks, 2);
  EXPECT_THAT(machine.sittings, SizeIs(static_cast<size_t>(quick().screening)));
}

}  // namespace
}  // namespace reverie
