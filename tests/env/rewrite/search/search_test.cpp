#include "env/rewrite/search/search.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/ir/structural_hash.h"
#include "env/rewrite/search/rewrite_problem.h"
#include "tests/support/unary_world.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;
using testing::unary_state;

constexpr int64_t kNanosecond = 1000;

int64_t nanoseconds(const Cost& cost) { return cost.runtime.count / kNanosecond; }

RewriteSearchOptions within(int64_t budget) {
  RewriteSearchOptions options;
  options.budget = budget;
  return options;
}

constexpr int64_t kNoEnd = 100000;

std::vector<std::string> rule_names(const RewriteState& state, const SearchResult& result) {
  std::vector<std::string> names;
  for (const RewriteStep& step : result.rewrites) names.push_back(state.rules().name(step.rule));
  return names;
}

void collect_states(const RewriteState& state, std::map<uint64_t, int64_t>* costs) {
  if (!costs->emplace(state.hash(), nanoseconds(state.cost())).second) return;
  for (int rule = 0; rule < state.rules().size(); ++rule)
    for (const Match& match : state.locations(rule)) {
      RewriteState next = state;
      next.commit(next.propose(match));
      collect_states(next, costs);
    }
}

int64_t least_of(const std::map<uint64_t, int64_t>& costs) {
  int64_t least = costs.begin()->second;
  for (const auto& [hash, cost] : costs) least = std::min(least, cost);
  return least;
}

/// Every reachable state, by its hash.
std::map<uint64_t, int64_t> reachable(const RewriteState& start) {
  std::map<uint64_t, int64_t> costs;
  collect_states(start, &costs);
  return costs;
}

TEST(Greedy, TakesGainsUntilNoneIsLeft) {
  const RewriteState start = unary_state({{"Sqrt", "Sqrt"}, {"Sqrt"}, {"Exp"}});
  const SearchResult result = search_rewrites(start, {}, search::Greedy());
  EXPECT_EQ(nanoseconds(result.initial_cost), 6 * 3 + 5 + 3);
  EXPECT_EQ(nanoseconds(result.best_cost), 4 * 3 + 5 + 3);
  EXPECT_EQ(rule_names(start, result), (std::vector<std::string>{"shave", "shave", "shave"}));
  EXPECT_EQ(result.stopped_by, StoppedBy::kExhausted);
  EXPECT_EQ(result.expansions, 4);
}

TEST(Greedy, TakesTheLargestGainFirst) {
  const RewriteState start = unary_state({{"Sqrt"}, {"Sigmoid"}});
  EXPECT_EQ(rule_names(start, search_rewrites(start, {}, search::Greedy())),
            (std::vector<std::string>{"leap", "shave"}));
}

TEST(Taso, FindsAGainBehindARiseWhereGreedyIsStuck) {
  const RewriteState start = unary_state({{"Tanh"}});
  EXPECT_EQ(nanoseconds(search_rewrites(start, {}, search::Greedy()).best_cost), 11);
  const SearchResult result = search_rewrites(start, within(kNoEnd), search::Taso{.alpha = 1.2});
  EXPECT_EQ(nanoseconds(result.best_cost), 4);
  EXPECT_EQ(rule_names(start, result), (std::vector<std::string>{"climb", "leap"}));
}

TEST(Taso, AlphaBoundsTheRise) {
  const RewriteState start = unary_state({{"Tanh"}});  // 11, and 12 after the climb
  const auto best = [&](double alpha) {
    return search_rewrites(start, within(kNoEnd), search::Taso{.alpha = alpha}).best_cost;
  };
  EXPECT_EQ(nanoseconds(best(1.05)), 11);
  EXPECT_EQ(nanoseconds(best(12.0 / 11 + 1e-9)), 4);
  EXPECT_THROW(best(0.99), InputError);
}

TEST(Taso, WithoutARiseItDescends) {
  const RewriteState start = unary_state({{"Sqrt", "Sqrt"}, {"Sqrt"}});
  EXPECT_EQ(search_rewrites(start, within(kNoEnd), search::Taso{.alpha = 1}).best_cost,
            search_rewrites(start, {}, search::Greedy()).best_cost);
}

TEST(Taso, ExpandsEachStateOnceThoughRewritesCommute) {
  const RewriteState start = unary_state({{"Exp"}, {"Exp"}, {"Exp"}, {"Exp"}});
  const SearchResult result = search_rewrites(start, within(kNoEnd), search::Taso{.alpha = 1e9});
  EXPECT_EQ(result.expansions, 16);
  EXPECT_EQ(result.candidates, 16 * 4);
  EXPECT_EQ(result.duplicates, 16 * 4 - 15);
  EXPECT_EQ(result.stopped_by, StoppedBy::kExhausted);
}

TEST(Taso, FindsTheOptimumOfEveryReachableState) {
  const RewriteState start = unary_state({{"Tanh", "Sqrt"}, {"Exp", "Tanh"}, {"Sqrt"}});
  const std::map<uint64_t, int64_t> states = reachable(start);
  const SearchResult result = search_rewrites(start, within(kNoEnd), search::Taso{.alpha = 1e9});
  EXPECT_EQ(nanoseconds(result.best_cost), least_of(states));
  EXPECT_EQ(result.expansions, static_cast<int64_t>(states.size()));
}

TEST(Taso, TheBudgetCountsExpansions) {
  const RewriteState start = unary_state({{"Exp"}, {"Exp"}, {"Exp"}, {"Exp"}});
  const SearchResult result =
      search_rewrites(start, within(7), search::Taso{.alpha = 1e9, .finish = false});
  EXPECT_EQ(result.expansions, 7);
  EXPECT_EQ(result.stopped_by, StoppedBy::kBudget);
}

TEST(Taso, FinishesTheBestGraphWhenTheBudgetIsSpent) {
  const RewriteState start = unary_state({{"Sqrt", "Sqrt", "Sqrt"}});
  const auto best = [&](const search::Taso& taso) {
    return nanoseconds(search_rewrites(start, within(1), taso).best_cost);
  };
  EXPECT_EQ(best({.alpha = 1.05, .finish = false}), 4 + 6 + 6 + 1);
  EXPECT_EQ(best({.alpha = 1.05}), 4 + 4 + 4 + 1);
}

TEST(Taso, TheDearestLeaveAFullQueueAndAreCounted) {
  const RewriteState start =
      unary_state({{"Tanh", "Exp"}, {"Exp", "Tanh"}, {"Exp", "Sqrt"}, {"Exp"}, {"Exp"}});
  RewriteSearchOptions options = within(kNoEnd);
  const SearchResult all = search_rewrites(start, options, search::Taso{.alpha = 10});
  EXPECT_EQ(all.forgotten, 0);
  const search::Taso small{.alpha = 10, .queue = 4};
  const SearchResult few = search_rewrites(start, options, small);
  EXPECT_GT(few.forgotten, 0);
  EXPECT_LT(few.expansions, all.expansions);
  EXPECT_LE(few.best_cost.runtime, search_rewrites(start, {}, search::Greedy()).best_cost.runtime);
  EXPECT_EQ(few.stopped_by, StoppedBy::kExhausted);
  options.threads = 3;
  const SearchResult many = search_rewrites(start, options, small);
  EXPECT_EQ(many.rewrites, few.rewrites);
  EXPECT_EQ(many.forgotten, few.forgotten);
  EXPECT_EQ(many.expansions, few.expansions);
}

TEST(RuleList, CombinesForcedRulesWithGains) {
  const RewriteState start = unary_state({{"Tanh", "Sqrt"}, {"Tanh"}});
  const SearchResult result = search_rewrites(start, within(50), search::RuleLists());
  EXPECT_EQ(nanoseconds(result.best_cost), 3 + 4 + 3 + 2);
  EXPECT_EQ(result.stopped_by, StoppedBy::kBudget);
}

TEST(RuleList, TheFirstIsGreedySearch) {
  const RewriteState start = unary_state({{"Tanh", "Sqrt", "Exp"}, {"Sqrt", "Relu"}});
  EXPECT_EQ(search_rewrites(start, within(1), search::RuleLists()).rewrites,
            search_rewrites(start, {}, search::Greedy()).rewrites);
}

TEST(RandomSearch, WalksAllEquallyLong) {
  const RewriteState start = unary_state({{"Exp"}, {"Exp"}});  // a walk never ends by itself
  const SearchResult result = search_rewrites(start, within(7), search::RandomWalks());
  EXPECT_EQ(result.expansions, 7 * 10);
  EXPECT_EQ(result.steps, 7 * 10);
}

TEST(RandomSearch, SeesGainsBehindRises) {
  const SearchResult result =
      search_rewrites(unary_state({{"Tanh"}}), within(5), search::RandomWalks());
  EXPECT_EQ(nanoseconds(result.best_cost), 4);
}

TEST(TasoAsPublished, ExpandsAStateAsOftenAsItIsReached) {
  const RewriteState start = unary_state({{"Sqrt"}, {"Sqrt"}, {"Sqrt"}});
  const SearchResult result =
      search_rewrites(start, within(kNoEnd), search::Taso{.alpha = 10, .published = true});
  EXPECT_EQ(result.expansions, 1 + 3 + 3 * 2 + 3 * 2 * 1);
  EXPECT_EQ(result.duplicates, 0);
  EXPECT_EQ(search_rewrites(start, within(kNoEnd), search::Taso{.alpha = 10}).expansions, 8);
}

TEST(Exhaustive, FindsTheOptimumAndSaysSo) {
  const RewriteState start = unary_state({{"Tanh", "Sqrt"}, {"Exp", "Tanh"}, {"Sqrt"}});
  const std::map<uint64_t, int64_t> states = reachable(start);
  const SearchResult result = search_rewrites(start, {}, search::Exhaustive());
  EXPECT_EQ(nanoseconds(result.best_cost), least_of(states));
  EXPECT_EQ(result.expansions, static_cast<int64_t>(states.size()));
  EXPECT_TRUE(result.optimal);
}

TEST(Exhaustive, ClaimsNothingWhenStatesWereLeftOut) {
  const RewriteState start = unary_state({{"Tanh", "Sqrt"}, {"Exp", "Tanh"}, {"Sqrt"}});
  const auto states = static_cast<int64_t>(reachable(start).size());
  EXPECT_TRUE(search_rewrites(start, {}, search::Exhaustive{.states = states}).optimal);
  const SearchResult cut = search_rewrites(start, {}, search::Exhaustive{.states = states - 1});
  EXPECT_FALSE(cut.optimal);
  EXPECT_EQ(cut.stopped_by, StoppedBy::kBudget);
}

TEST(Exhaustive, TheBoundLeavesOutWhatCostsMore) {
  const RewriteState start = unary_state({{"Tanh"}});  // 11, and 12 after the climb
  const SearchResult bounded = search_rewrites(start, {}, search::Exhaustive{.bound = 1});
  EXPECT_EQ(nanoseconds(bounded.best_cost), 11);
  EXPECT_FALSE(bounded.optimal);
  const SearchResult wider =
      search_rewrites(start, {}, search::Exhaustive{.bound = 12.0 / 11 + 1e-9});
  EXPECT_EQ(nanoseconds(wider.best_cost), 4);
  EXPECT_TRUE(wider.optimal) << "nothing was left out";
}

TEST(Classes, OneLocationOfEachIsACandidate) {
  const RewriteState start = unary_state({std::vector<std::string>(12, "Exp")});
  const size_t classes = start.classes(start.rules().find("there")).size();
  ASSERT_LT(classes, 12u);
  RewriteSearchOptions options = within(1);
  const search::Taso taso{.finish = false};
  EXPECT_EQ(search_rewrites(start, options, taso).candidates, 12);
  options.classes = true;
  EXPECT_EQ(search_rewrites(start, options, taso).candidates, static_cast<int64_t>(classes));
  EXPECT_FALSE(search_rewrites(start, options, search::Exhaustive()).optimal);
}

TEST(Classes, GreedyTakesTheSamePath) {
  const RewriteState start = unary_state({std::vector<std::string>(12, "Sqrt"), {"Sigmoid"}});
  RewriteSearchOptions options;
  options.classes = true;
  const SearchResult result = search_rewrites(start, options, search::Greedy());
  EXPECT_EQ(result.rewrites, search_rewrites(start, {}, search::Greedy()).rewrites);
}

TEST(GreedyOnRewrites, LooksAtWhatItTakesAlone) {
  for (const size_t operators : {3u, 300u}) {
    const RewriteState start =
        unary_state({std::vector<std::string>(operators, "Sqrt"), {"Exp", "Tanh"}});
    const SearchResult result = search_rewrites(start, {}, search::Greedy());
    EXPECT_EQ(result.steps, static_cast<int64_t>(operators));
    EXPECT_EQ(result.candidates, result.steps + 1);  // at last one that does not gain
  }
}

TEST(TreeSearch, TheBudgetCountsRolloutsOfWhichTheFirstIsGreedy) {
  const RewriteState start = unary_state({{"Tanh", "Sqrt", "Sqrt"}, {"Sqrt"}});
  const SearchResult first = search_rewrites(start, within(1), search::Mcts());
  EXPECT_EQ(first.rewrites, search_rewrites(start, {}, search::Greedy()).rewrites);
  EXPECT_EQ(first.expansions, search_rewrites(start, {}, search::Greedy()).expansions);
  EXPECT_LT(search_rewrites(start, within(30), search::Mcts()).best_cost.runtime,
            first.best_cost.runtime);
}

TEST(TreeSearch, StatesReachedInSeveralWaysAreOneNode) {
  const RewriteState start = unary_state({{"Exp"}, {"Exp"}, {"Exp"}});
  const SearchResult result =
      search_rewrites(start, within(500), search::Mcts{.widening = 100, .random_steps = 0});
  EXPECT_EQ(result.expansions - 8, 8)
      << "eight states are listed once, and each rollout ends at once";
  EXPECT_GT(result.duplicates, 0);
}

TEST(TreeSearch, SaysThatItSawEveryState) {
  const RewriteState start = unary_state({{"Tanh", "Exp", "Sqrt"}, {"Relu", "Exp"}});
  const SearchResult result = search_rewrites(start, within(1 << 20), search::Mcts());
  EXPECT_EQ(result.stopped_by, StoppedBy::kExhausted);
  EXPECT_EQ(nanoseconds(result.best_cost), least_of(reachable(start)));
  EXPECT_LT(result.steps, 1 << 16);
  EXPECT_EQ(search_rewrites(start, within(3), search::Mcts()).stopped_by, StoppedBy::kBudget);
  EXPECT_EQ(search_rewrites(start, within(0), search::Mcts()).stopped_by, StoppedBy::kBudget);
}

TEST(Beam, FindsTheOptimumOfEveryReachableStateWhenItIsWide) {
  const RewriteState start = unary_state({{"Tanh", "Sqrt"}, {"Exp", "Tanh"}, {"Sqrt"}});
  const std::map<uint64_t, int64_t> states = reachable(start);
  const SearchResult result =
      search_rewrites(start, within(kNoEnd), search::Beam{.width = 1000, .greedy_first = false});
  EXPECT_EQ(nanoseconds(result.best_cost), least_of(states));
  EXPECT_EQ(result.expansions, static_cast<int64_t>(states.size()));
  EXPECT_EQ(result.stopped_by, StoppedBy::kExhausted);
}

TEST(Beam, TheBudgetCountsExpansions) {
  const RewriteState start = unary_state({{"Exp"}, {"Exp"}, {"Exp"}, {"Exp"}});
  const SearchResult result = search_rewrites(
      start, within(8), search::Beam{.width = 3, .greedy_first = false, .finish = false});
  EXPECT_EQ(result.expansions, 8);
  EXPECT_EQ(result.stopped_by, StoppedBy::kBudget);
}

TEST(Beam, BeginsWithGreedySearchAndEndsWithADescentUnlessToldOtherwise) {
  const RewriteState start = unary_state({{"Sqrt", "Sqrt", "Sqrt"}});
  const auto best = [&](const search::Beam& beam) {
    return nanoseconds(search_rewrites(start, within(1), beam).best_cost);
  };
  EXPECT_EQ(best({.width = 1, .greedy_first = false, .finish = false}), 4 + 6 + 6 + 1);
  EXPECT_EQ(best({.width = 1, .greedy_first = true, .finish = false}), 4 + 4 + 4 + 1);
  EXPECT_EQ(best({.width = 1, .greedy_first = false, .finish = true}), 4 + 4 + 4 + 1);
}

TEST(Annealing, ProposesSoManyMovesPerLocation) {
  const RewriteState start = unary_state({{"Exp"}, {"Exp"}});  // two locations, for ever
  const SearchResult result = search_rewrites(start, within(4), search::Annealing{.sweeps = 25});
  EXPECT_EQ(result.steps, 3 * 50);
}

TEST(Methods, TheReadmeSaysWhatTheBudgetCounts) {
  std::ifstream file(REVERIE_SOURCE_DIR "/tools/README.md");
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  for (const Solver* solver : solvers_for("rewrite")) {
    const std::string unit = solver->budget_unit().empty() ? "" : solver->budget_unit() + " ";
    EXPECT_THAT(readme,
                HasSubstr(fmt::format("| `{}` | {} | {}|", solver->name(), solver->what(), unit)));
  }
}

TEST(Methods, AreFoundByNameWithTheirSettings) {
  const RewriteState start = unary_state({{"Tanh"}});  // 11, and 12 after the climb
  SolverSettings settings("rewrite");
  EXPECT_EQ(nanoseconds(method_named("taso", settings)(start, {}).best_cost), 11);
  settings.of<search::Taso>("taso").alpha = 1.2;
  EXPECT_EQ(nanoseconds(method_named("taso", settings)(start, {}).best_cost), 4);
  EXPECT_THROW(method_named("softmax", settings), InputError);
}

/// Names of all searches that rewriting has.
std::vector<std::string> searches() {
  std::vector<std::string> names;
  for (const Solver* solver : solvers_for("rewrite"))
    if (dynamic_cast<const SearchSolver*>(solver) != nullptr) names.push_back(solver->name());
  return names;
}

class EveryMethod : public ::testing::TestWithParam<std::string> {
 protected:
  SearchResult search(const RewriteState& start, const RewriteSearchOptions& options,
                      double alpha = 1.5) const {
    SolverSettings settings("rewrite");
    settings.of<search::Taso>("taso").alpha = alpha;
    return method_named(name(), settings)(start, options);
  }
  const std::string& name() const { return GetParam(); }
  RewriteState mixed() const {
    return unary_state({{"Tanh", "Sqrt", "Exp"}, {"Relu", "Tanh"}, {"Exp", "Sqrt"}});
  }
};

TEST_P(EveryMethod, FindsTheOptimumBehindARise) {
  if (name() == "greedy") return;  // stuck, as its own test says
  const RewriteState start = unary_state({{"Tanh", "Sqrt"}, {"Tanh"}});
  EXPECT_EQ(nanoseconds(search(start, within(100)).best_cost), least_of(reachable(start)));
}

TEST_P(EveryMethod, AnyNumberOfThreadsGivesTheSame) {
  RewriteSearchOptions options = within(37);
  const SearchResult one = search(mixed(), options);
  for (const int threads : {2, 4}) {
    options.threads = threads;
    const SearchResult many = search(mixed(), options);
    EXPECT_EQ(many.best_cost, one.best_cost);
    EXPECT_EQ(many.rewrites, one.rewrites);
    EXPECT_EQ(many.expansions, one.expansions);
    EXPECT_EQ(many.candidates, one.candidates);
    EXPECT_EQ(many.steps, one.steps);
    EXPECT_EQ(many.duplicates, one.duplicates);
    ASSERT_EQ(many.improvements.size(), one.improvements.size());
    for (size_t i = 0; i < one.improvements.size(); ++i) {
      EXPECT_EQ(many.improvements[i].runtime, one.improvements[i].runtime);
      EXPECT_EQ(many.improvements[i].path, one.improvements[i].path);
    }
    ASSERT_EQ(many.trace.size(), one.trace.size());
    for (size_t i = 0; i < one.trace.size(); ++i) {
      EXPECT_EQ(many.trace[i].best, one.trace[i].best);
      EXPECT_EQ(many.trace[i].candidates, one.trace[i].candidates);
      EXPECT_EQ(many.trace[i].expansions, one.trace[i].expansions);
    }
  }
}

TEST_P(EveryMethod, IsAtLeastGreedyWhereGreedyFitsIntoTheTime) {
  if (name() == "random") return;  // what chance alone does
  std::vector<std::vector<std::string>> operators(12, {"Exp", "Tanh", "Log"});
  operators.push_back(std::vector<std::string>(20, "Sqrt"));
  const RewriteState start = unary_state(operators);
  RewriteSearchOptions options = within(1 << 30);
  int64_t looks = 0;
  options.clock = [&] { return static_cast<double>(looks++); };
  options.time_limit = 1e9;
  const SearchResult greedy = search_rewrites(start, options, search::Greedy());
  options.time_limit = static_cast<double>(looks) * 1.5;
  looks = 0;
  const SearchResult result = search(start, options, 1.05);
  EXPECT_LE(result.best_cost.runtime, greedy.best_cost.runtime);
}

TEST_P(EveryMethod, LooksAtTheClockBetweenAnyTwoPiecesOfWork) {
  const RewriteState start = unary_state(std::vector(200, std::vector<std::string>{"Exp"}));
  RewriteSearchOptions options = within(1 << 30);
  int64_t looks = 0;
  options.clock = [&] { return static_cast<double>(looks++); };
  options.time_limit = 1000;
  const SearchResult result = search(start, options);
  EXPECT_EQ(result.stopped_by, name() == "greedy" ? StoppedBy::kExhausted : StoppedBy::kTimeLimit);
  EXPECT_LE(result.candidates + result.steps, 2000);
}

TEST_P(EveryMethod, ThePathLeadsToTheBestGraph) {
  const RewriteState start = mixed();
  const SearchResult result = search(start, within(20));
  EXPECT_LT(result.best_cost.runtime, result.initial_cost.runtime);
  EXPECT_EQ(graph_cost(start.cost_model(), result.best), result.best_cost);
  if (result.details == nullptr || result.details->name() != "saturation") {
    const RewriteState end = replay(start, result.rewrites);
    EXPECT_EQ(end.cost(), result.best_cost);
    EXPECT_TRUE(isomorphic(end.graph(), result.best));
  }
  result.best.validate();
}

TEST_P(EveryMethod, TheTraceFallsFromStartToBest) {
  const SearchResult result = search(mixed(), within(20));
  EXPECT_EQ(picoseconds(result.trace.front().best), result.initial_cost.runtime);
  EXPECT_EQ(picoseconds(result.trace.back().best), result.best_cost.runtime);
  for (size_t i = 1; i < result.trace.size(); ++i) {
    EXPECT_LT(result.trace[i].best, result.trace[i - 1].best);
    EXPECT_LE(result.trace[i - 1].seconds, result.trace[i].seconds);
  }
}

TEST_P(EveryMethod, EqualSeedsGiveEqualResults) {
  const SearchResult one = search(mixed(), within(20));
  const SearchResult two = search(mixed(), within(20));
  EXPECT_EQ(one.rewrites, two.rewrites);
  EXPECT_EQ(one.candidates, two.candidates);
  EXPECT_EQ(one.expansions, two.expansions);
}

TEST_P(EveryMethod, WeightsStayBelowTheBound) {
  const RewriteState start = unary_state({{"Relu", "Sqrt"}});
  RewriteSearchOptions options = within(20);
  const SearchResult free = search(start, options);
  EXPECT_EQ(nanoseconds(free.best_cost), 1 + 4 + 1);
  EXPECT_EQ(free.best.weight_bytes(), 16);
  options.max_weight_growth = 1.0;
  const SearchResult bounded = search(start, options);
  EXPECT_EQ(nanoseconds(bounded.best_cost), 5 + 4 + 1);
  EXPECT_EQ(bounded.best.weight_bytes(), 0);
}

TEST(WeightLimit, MoreThanAnyNumberOfBytesIsNoLimit) {
  const SearchResult heavy = search_rewrites(unary_state({{"Relu", "Sqrt"}}), {}, search::Greedy());
  const RewriteState start(heavy.best, std::make_shared<RuleSet>(RuleSet::builtin()),
                           make_cost_model("roofline:t4"));
  ASSERT_GT(start.graph().weight_bytes(), 0);
  RewriteSearchOptions options;
  options.max_weight_growth = 1e300;
  EXPECT_EQ(weight_limit(RewriteRun(start, options)), std::numeric_limits<int64_t>::max());
  options.max_weight_growth = 2;
  EXPECT_EQ(weight_limit(RewriteRun(start, options)), 2 * start.graph().weight_bytes());
}

TEST_P(EveryMethod, AStopBeforeTheFirstStepReturnsTheStart) {
  const RewriteState start = mixed();
  RewriteSearchOptions options = within(kNoEnd);
  options.stop.request();
  const SearchResult result = search(start, options, 1e9);
  EXPECT_EQ(result.stopped_by, StoppedBy::kInterrupt);
  EXPECT_EQ(result.best_cost, start.cost());
  EXPECT_TRUE(isomorphic(result.best, start.graph()));
  EXPECT_TRUE(result.rewrites.empty());
}

TEST_P(EveryMethod, AStopOnTheWayKeepsTheBestSoFar) {
  RewriteSearchOptions options = within(1000);
  options.on_progress = [&](const SearchProgress& progress) {
    if (picoseconds(progress.best) < mixed().cost().runtime) options.stop.request();
  };
  const SearchResult result = search(mixed(), options);
  EXPECT_EQ(result.stopped_by, StoppedBy::kInterrupt);
  EXPECT_LT(result.best_cost.runtime, result.initial_cost.runtime);
  EXPECT_EQ(graph_cost(mixed().cost_model(), result.best), result.best_cost);
}

TEST_P(EveryMethod, TheTimeLimitEndsTheSearch) {
  RewriteSearchOptions options = within(1 << 30);
  options.time_limit = 1e-9;
  EXPECT_EQ(search(mixed(), options, 1e9).stopped_by, StoppedBy::kTimeLimit);
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryMethod, ::testing::ValuesIn(searches()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace reverie
