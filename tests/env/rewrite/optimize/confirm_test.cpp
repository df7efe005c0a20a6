#include "env/rewrite/optimize/confirm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/ir/structural_hash.h"
#include "env/rewrite/optimize/optimize.h"
#include "tests/support/host_device.h"
#include "tests/support/unary_world.h"

namespace reverie {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::unary_state;

RewriteState start() { return unary_state({{"Sqrt", "Sqrt"}, {"Sqrt"}, {"Exp", "Exp"}, {"Sqrt"}}); }

TEST(Contenders, BeginWithTheBestAndComeFromTheTrace) {
  const RewriteState state = start();
  const SearchResult result = search_rewrites(state, {}, search::Greedy());
  ASSERT_GE(result.improvements.size(), 4u);
  EXPECT_EQ(result.improvements.size(), result.trace.size() - 1);
  const std::vector<Contender> contenders = contenders_of(state, result, 3);
  ASSERT_THAT(contenders, SizeIs(3));
  EXPECT_TRUE(isomorphic(contenders[0].graph, result.best));
  for (size_t i = 0; i < contenders.size(); ++i) {
    const RewriteState again = replay(state, contenders[i].rewrites);
    EXPECT_TRUE(isomorphic(again.graph(), contenders[i].graph));
    EXPECT_EQ(again.cost(), contenders[i].cost);
    EXPECT_FALSE(isomorphic(contenders[i].graph, state.graph()));
    for (size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(isomorphic(contenders[i].graph, contenders[j].graph));
      EXPECT_LT(contenders[j].cost.runtime, contenders[i].cost.runtime);
    }
  }
}

TEST(Contenders, AreAsManyAsThereAre) {
  const RewriteState state = start();
  const SearchResult result = search_rewrites(state, {}, search::Greedy());
  EXPECT_EQ(contenders_of(state, result, 100).size(), result.improvements.size());
  EXPECT_THAT(contenders_of(state, result, 0), IsEmpty());
}

TEST(Contenders, AreNoneWhereNothingWasFound) {
  const RewriteState state = unary_state({{"Exp"}});
  SearchResult nothing;
  nothing.best = state.graph();
  nothing.initial_cost = nothing.best_cost = state.cost();
  EXPECT_THAT(contenders_of(state, nothing, 4), IsEmpty());
}

TEST(TakeWinner, MakesItTheResult) {
  const RewriteState state = start();
  SearchResult result = search_rewrites(state, {}, search::Greedy());
  const std::vector<Contender> contenders = contenders_of(state, result, 3);
  take_winner(state.graph(), contenders, 2, result);
  EXPECT_TRUE(isomorphic(result.best, contenders[1].graph));
  EXPECT_EQ(result.best_cost, contenders[1].cost);
  EXPECT_EQ(result.rewrites, contenders[1].rewrites);
  take_winner(state.graph(), contenders, 0, result);
  EXPECT_TRUE(isomorphic(result.best, state.graph()));
  EXPECT_EQ(result.best_cost, result.initial_cost);
  EXPECT_THAT(result.rewrites, IsEmpty());
}

TEST(TakeWinner, LeavesProvenWhatAloneWasThere) {
  const RewriteState state = start();
  SearchResult result;
  result.best = state.graph();
  result.initial_cost = result.best_cost = state.cost();
  result.optimal = true;
  take_winner(state.graph(), {}, 0, result);
  EXPECT_TRUE(result.optimal);
  take_winner(state.graph(), contenders_of(state, search_rewrites(state, {}, search::Greedy()), 1),
              0, result);
  EXPECT_FALSE(result.optimal) << "a contender that a measurement refused";
}

TEST(ConfirmOnCpu, RunsTheOriginalAndEveryContender) {
  const RewriteState state = start();
  std::vector<Contender> contenders =
      contenders_of(state, search_rewrites(state, {}, search::Greedy()), 3);
  BenchmarkOptions options;
  options.round_seconds = 0;
  options.target_spread = 1;
  const auto machine = cpu_machine();
  Contestants contestants(state.graph(), contenders, *machine);
  int rounds = 0;
  options.on_round = [&](int so_far) { EXPECT_EQ(so_far, ++rounds); };
  const BenchmarkResult result =
      confirm_end_to_end(contestants, static_cast<int>(contenders.size()), options);
  EXPECT_GT(rounds, 0);
  ASSERT_THAT(result.contestants, SizeIs(4));
  for (const ContestantResult& timed : result.contestants) EXPECT_GT(timed.median, 0);
}

TEST(ConfirmOnADevice, TellsWhatFinalistsLoseByRounding) {
  Graph graph;
  const auto x = graph.add_input("x", {DType::kFloat32, {4, 64}});
  const auto w = graph.add_constant(Weight::fill({DType::kFloat32, {64, 64}}, 0.5, "w"));
  graph.add_output("y", graph.add("MatMul", {x, w}));
  std::vector<Contender> contenders = {{graph, {}, {}}, {graph, {}, {}}, {graph, {}, {}}};
  BenchmarkOptions options;
  options.finalists = 1;
  options.max_rounds = 9;
  options.round_seconds = 0;
  const auto errors_on = [&](device::Precision precision) {
    const auto machine =
        device_machine("host", "t4", std::make_shared<testing::HostDevice>(precision));
    Contestants contestants(graph, contenders, *machine);
    std::vector<double> errors;
    for (const ContestantResult& timed : confirm_end_to_end(contestants, 3, options).contestants) {
      EXPECT_EQ(timed.error.has_value(), errors.empty() || timed.finalist);
      errors.push_back(timed.error.value_or(0));
    }
    return errors;
  };
  const std::vector<double> narrow = errors_on(device::Precision::kFloat16);
  EXPECT_GT(narrow[0], 1e-4);
  EXPECT_LT(narrow[0], 4e-3);
  EXPECT_GT(*std::max_element(narrow.begin() + 1, narrow.end()), 1e-4) << "a finalist";
  EXPECT_LT(errors_on(device::Precision::kFloat32)[0], 1e-6);
}

TEST(Optimize, ConfirmsWhatItReturns) {
  const RewriteState state = start();
  OptimizeConfig config;
  config.confirm = true;
  config.confirm_seconds = 0.01;
  const Optimized result = optimize(state.graph(), testing::unary_rules(), testing::unary_cost(),
                                    on_rewrites(search::Greedy()), config);
  ASSERT_THAT(result.benchmark.contestants, SizeIs(result.contenders.size() + 1));
  const int winner = result.benchmark.winner;
  EXPECT_TRUE(isomorphic(
      result.search.best,
      winner == 0 ? state.graph() : result.contenders[static_cast<size_t>(winner - 1)].graph));
  EXPECT_LT(result.promised.runtime, result.search.initial_cost.runtime);
}

}  // namespace
}  // namespace reverie
