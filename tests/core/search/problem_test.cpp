#include "core/search/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/error.h"
#include "core/search/algorithms.h"
#include "tests/support/problem_conformance.h"
#include "tests/support/row_of_digits.h"

namespace reverie {
namespace {

using testing::check_problem;
using ::testing::ElementsAre;
using testing::RowOfDigits;

constexpr int64_t kStates = 5 * 5 * 5;
constexpr double kOptimum = 3 * RowOfDigits::kLeast;

std::shared_ptr<RowOfDigits> row(std::vector<int> digits) {
  return std::make_shared<RowOfDigits>(std::move(digits));
}

SearchOptions options_of(int64_t budget) {
  SearchOptions options;
  options.budget = budget;
  return options;
}

/// These do nothing before and after what their names say.
search::Taso taso(double alpha) { return {.alpha = alpha, .finish = false}; }
search::Beam beam(int64_t width) {
  return {.width = width, .greedy_first = false, .finish = false};
}

std::vector<int> digits_after(const RowOfDigits& start, const Path& path) {
  return dynamic_cast<const RowOfDigits&>(*replay(start, path.moves())).digits();
}

TEST(ProblemConformance, RowOfDigits) {
  RowOfDigits start({0, 2, 4});
  check_problem(start, 100);
  start.is_bounded = true;
  start.most = 7;
  start.only_thirds = true;
  check_problem(start, 100);
  start.keeps_order = true;
  check_problem(start, 100);
}

TEST(GreedyOnAnyProblem, DescendsByTheLargestGain) {
  const auto start = row({1, 3, 1});
  const SearchOutcome outcome = solve(start, {}, search::Greedy());
  EXPECT_THAT(digits_after(*start, outcome.best.path), ElementsAre(2, 4, 2));
  EXPECT_EQ(outcome.best.path.moves().front(), (Move{RowOfDigits::kRaise, 0, 0}));
  EXPECT_EQ(outcome.best.cost, 4 + 3 + 4);
  EXPECT_EQ(outcome.initial_cost, 11 + 6 + 11);
  EXPECT_EQ(outcome.expansions, 4);
  EXPECT_EQ(outcome.improvements.size(), 3u);
}

TEST(GreedyOnAnyProblem, LooksAtFewWhereTheProblemKeepsThemInOrder) {
  const auto start = row({1, 3, 1});
  start->keeps_order = true;
  const SearchOutcome outcome = solve(start, {}, search::Greedy());
  EXPECT_THAT(digits_after(*start, outcome.best.path), ElementsAre(2, 4, 2));
  EXPECT_EQ(outcome.candidates, 4);
}

TEST(GreedyOnAnyProblem, IsStuckBeforeARise) {
  EXPECT_EQ(solve(row({0, 0, 0}), {}, search::Greedy()).best.cost, 30);
}

TEST(BestFirstOnAnyProblem, ExpandsEachStateOnce) {
  const SearchOutcome outcome = solve(row({0, 0, 0}), options_of(1000), taso(100));
  EXPECT_EQ(outcome.best.cost, kOptimum);
  EXPECT_EQ(outcome.expansions, kStates);
  EXPECT_EQ(outcome.stopped_by, StoppedBy::kExhausted);
}

TEST(BestFirstOnAnyProblem, AsPublishedExpandsThemAsOftenAsTheyAreReached) {
  const SearchOutcome outcome =
      solve(row({0, 0, 0}), options_of(1000), search::Taso{.alpha = 100, .published = true});
  EXPECT_EQ(outcome.expansions, 1000);
  EXPECT_EQ(outcome.duplicates, 0);
}

TEST(BestFirstOnAnyProblem, AlphaBoundsTheRiseWhateverTheSignOfCosts) {
  for (const double offset : {0.0, -100.0}) {  // 10 and 11, or -90 and -89
    const auto start = row({0});
    start->offset = offset;
    const double rise = std::abs(10 + offset) > 50 ? 90.0 / 89 : 1.1;
    EXPECT_EQ(solve(start, options_of(100), taso(rise - 1e-9)).best.cost, 10 + offset);
    EXPECT_EQ(solve(start, options_of(100), taso(1.5 * rise + 1e-9)).best.cost, 3 + offset);
  }
}

TEST(ExhaustiveOnAnyProblem, KnowsTheOptimum) {
  const SearchOutcome all = solve(row({0, 0, 0}), {}, search::Exhaustive());
  EXPECT_EQ(all.best.cost, kOptimum);
  EXPECT_EQ(all.expansions, kStates);
  EXPECT_TRUE(all.optimal);
}

TEST(ExhaustiveOnAnyProblem, ALowerBoundSavesExpansions) {
  const auto start = row({0, 0, 0});
  start->is_bounded = true;
  const SearchOutcome outcome = solve(start, {}, search::Exhaustive());
  EXPECT_EQ(outcome.best.cost, kOptimum);
  EXPECT_LT(outcome.expansions, kStates / 2);
  EXPECT_TRUE(outcome.optimal);
}

TEST(BeamOnAnyProblem, AWideOneFindsTheOptimumANarrowOneDoesNot) {
  const SearchOutcome wide = solve(row({0, 0, 0}), options_of(1000), beam(1000));
  EXPECT_EQ(wide.best.cost, kOptimum);
  EXPECT_EQ(wide.expansions, kStates);
  EXPECT_GT(solve(row({0, 0, 0}), options_of(5), beam(1)).best.cost, kOptimum);
}

/// Thinks that raising is so many times as likely as lowering.
class RaisingPrior : public MovePrior {
 public:
  explicit RaisingPrior(double odds) : odds_(odds) {}

  mutable size_t most_at_once = 0;
  mutable int deepest = 0;

  std::vector<Advice> look(std::span<const Arrival> arrivals, WorkerPool*) const override {
    most_at_once = std::max(most_at_once, arrivals.size());
    std::vector<Advice> all;
    for (const Arrival& arrival : arrivals) {
      EXPECT_EQ(arrival.from == nullptr, arrival.depth == 0);
      if (arrival.from) {
        EXPECT_EQ(*std::static_pointer_cast<const int>(arrival.from) + 1, arrival.depth);
      }
      deepest = std::max(deepest, arrival.depth);
      all.push_back({moves_of(*arrival.state), std::make_shared<const int>(arrival.depth)});
    }
    return all;
  }

 private:
  std::vector<AdvisedMove> moves_of(const Problem& state) const {
    std::vector<AdvisedMove> moves;
    for (const int kind : {RowOfDigits::kRaise, RowOfDigits::kLower})
      for (int i = 0; i < state.moves(kind); ++i)
        moves.push_back({state.move(kind, i), kind == RowOfDigits::kRaise ? std::log(odds_) : 0});
    return moves;
  }

  double odds_;
};

SearchOutcome guided(const RaisingPrior& prior, double gain_weight, int64_t width) {
  return solve(row({2, 2, 2}), options_of(100), [&](SearchRun& run) {
    search::run_guided_beam(run, beam(width),
                            {.prior = prior, .gain_weight = gain_weight, .batch = 2});
  });
}

TEST(GuidedBeam, AGoodPriorNeedsFewerExpansions) {
  const RaisingPrior good(10), none(1);
  const SearchOutcome outcome = guided(good, 0, 2);
  EXPECT_EQ(outcome.best.cost, kOptimum);
  EXPECT_LT(2 * outcome.trace.back().expansions, guided(none, 0, 100).trace.back().expansions);
  EXPECT_EQ(good.most_at_once, 2u);
  EXPECT_GE(good.deepest, 6);
}

TEST(GuidedBeam, GainsOutweighPriorsAsTheWeightSays) {
  const RaisingPrior bad(1e-3);
  const auto best = [&](double gain_weight) {  // a raise gains 3 of 10, a lowering 2
    return solve(row({3, 2}), options_of(1),
                 [&](SearchRun& run) {
                   search::run_guided_beam(run, beam(1),
                                           {.prior = bad, .gain_weight = gain_weight});
                 })
        .best.cost;
  };
  EXPECT_EQ(best(0), 4 + 4);
  EXPECT_EQ(best(1), 3 + 4);
}

TEST(TreeSearchOnAnyProblem, SaysThatItSawEveryState) {
  const SearchOutcome outcome = solve(row({0, 0, 0}), options_of(100000), search::Mcts());
  EXPECT_EQ(outcome.best.cost, kOptimum);
  EXPECT_EQ(outcome.stopped_by, StoppedBy::kExhausted);
}

TEST(AnnealingOnAnyProblem, WithoutSweepsItIsOneChainThatLastsAsLongAsTheTime) {
  const search::Annealing annealing{.hot = 5, .sweeps = 0};
  SearchOptions options;
  EXPECT_THROW(solve(row({0, 0}), options, annealing), InputError);
  double looks = 0;
  options.clock = [&] { return looks++; };
  options.time_limit = 3000;
  const SearchOutcome outcome = solve(row({0, 0}), options, annealing);
  EXPECT_EQ(outcome.best.cost, 2 * RowOfDigits::kLeast);
  EXPECT_EQ(outcome.stopped_by, StoppedBy::kTimeLimit);
  EXPECT_GE(looks, 3000);
}

struct NamedSearch {
  const char* name;
  Search run;
};

class AnySearch : public ::testing::TestWithParam<NamedSearch> {};

TEST_P(AnySearch, FindsTheOptimumBehindRises) {
  EXPECT_EQ(solve(row({0, 0}), options_of(300), GetParam().run).best.cost, 6);
}

TEST_P(AnySearch, TheBestIsFeasibleThoughTheStartIsNot) {
  const auto start = row({0, 1});
  start->only_thirds = true;
  const SearchOutcome outcome = solve(start, options_of(300), GetParam().run);
  EXPECT_EQ(outcome.best.cost, 4 + 3);
  EXPECT_TRUE(replay(*start, outcome.best.path.moves())->feasible());
  EXPECT_EQ(outcome.trace.front().best, std::numeric_limits<double>::infinity());
}

TEST_P(AnySearch, AnyNumberOfThreadsGivesTheSame) {
  SearchOptions options = options_of(40);
  const SearchOutcome one = solve(row({0, 1, 3}), options, GetParam().run);
  options.threads = 3;
  const SearchOutcome many = solve(row({0, 1, 3}), options, GetParam().run);
  EXPECT_EQ(one.best.path, many.best.path);
  EXPECT_EQ(one.expansions, many.expansions);
  EXPECT_EQ(one.candidates, many.candidates);
  EXPECT_EQ(one.steps, many.steps);
}

/// The candidates that it looks at are the only difference.
TEST_P(AnySearch, AProblemThatKeepsItsMovesInOrderGivesTheSame) {
  for (const int most : {5, std::numeric_limits<int>::max()})
    for (const bool only_thirds : {false, true}) {
      const auto plain = row({0, 1, 3}), ordered = row({0, 1, 3});
      plain->most = ordered->most = most;
      plain->only_thirds = ordered->only_thirds = only_thirds;
      ordered->keeps_order = true;
      const SearchOutcome one = solve(plain, options_of(40), GetParam().run);
      const SearchOutcome other = solve(ordered, options_of(40), GetParam().run);
      EXPECT_EQ(one.best.path, other.best.path);
      EXPECT_EQ(one.expansions, other.expansions);
      EXPECT_EQ(one.steps, other.steps);
      EXPECT_EQ(one.duplicates, other.duplicates);
      EXPECT_GE(one.candidates, other.candidates);
    }
}

TEST_P(AnySearch, TakesNoMoveThatIsRefused) {
  const auto start = row({0, 0, 0});
  start->most = 5;
  const SearchOutcome outcome = solve(start, options_of(300), GetParam().run);
  const std::vector<int> digits = digits_after(*start, outcome.best.path);
  EXPECT_LE(std::accumulate(digits.begin(), digits.end(), 0), 5);
  EXPECT_GE(outcome.best.cost, 10 + 4 + 4);
  EXPECT_TRUE(replay(*start, outcome.best.path.moves())->is(*outcome.best.state));
}

INSTANTIATE_TEST_SUITE_P(
    All, AnySearch,
    ::testing::Values(NamedSearch{"random", search::RandomWalks()}, NamedSearch{"taso", taso(4)},
                      NamedSearch{"taso_published", search::Taso{.alpha = 4, .published = true}},
                      NamedSearch{"exhaustive", search::Exhaustive()}, NamedSearch{"beam", beam(8)},
                      NamedSearch{"greedy_beam", search::Beam{.width = 3}},
                      NamedSearch{"annealing", search::Annealing{.hot = 100, .sweeps = 200}},
                      NamedSearch{"mcts", search::Mcts()}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace reverie
