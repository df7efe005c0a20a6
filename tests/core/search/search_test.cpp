#include "core/search/search.h"

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
#include "core/search/known_states.h"
#include "core/search/rewrite_problem.h"
#include "tests/support/unary_world.h"

namespace reverie {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::unary_state;

constexpr int64_t kNanosecond = 1000;

int64_t nanoseconds(const Cost& cost) { return cost.runtime.count / kNanosecond; }

SearchOptions wide(double alpha = 1e9, int64_t budget = 100000) {
  SearchOptions options;
  options.alpha = alpha;
  options.budget = budget;
  return options;
}

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
  const SearchResult result = greedy_search(start, {});
  EXPECT_EQ(nanoseconds(result.initial_cost), 6 * 3 + 5 + 3);
  EXPECT_EQ(nanoseconds(result.best_cost), 4 * 3 + 5 + 3);
  EXPECT_EQ(rule_names(start, result), (std::vector<std::string>{"shave", "shave", "shave"}));
  EXPECT_EQ(result.stopped_by, StoppedBy::kExhausted);
  EXPECT_EQ(result.expansions, 4);
}

TEST(Greedy, TakesTheLargestGainFirst) {
  const RewriteState start = unary_state({{"Sqrt"}, {"Sigmoid"}});
  EXPECT_EQ(rule_names(start, greedy_search(start, {})),
            (std::vector<std::string>{"leap", "shave"}));
}

TEST(Taso, FindsAGainBehindARiseWhereGreedyIsStuck) {
  const RewriteState start = unary_state({{"Tanh"}});
  EXPECT_EQ(nanoseconds(greedy_search(start, {}).best_cost), 11);
  const SearchResult result = taso_search(start, wide(1.2));
  EXPECT_EQ(nanoseconds(result.best_cost), 4);
  EXPECT_EQ(rule_names(start, result), (std::vector<std::string>{"climb", "leap"}));
}

TEST(Taso, AlphaBoundsTheRise) {
  const RewriteState start = unary_state({{"Tanh"}});  // 11, and 12 after the climb
  EXPECT_EQ(nanoseconds(taso_search(start, wide(1.05)).best_cost), 11);
  EXPECT_EQ(nanoseconds(taso_search(start, wide(12.0 / 11 + 1e-9)).best_cost), 4);
  EXPECT_THROW(taso_search(start, wide(0.99)), InputError);
}

TEST(Taso, WithoutARiseItDescends) {
  const RewriteState start = unary_state({{"Sqrt", "Sqrt"}, {"Sqrt"}});
  EXPECT_EQ(taso_search(start, wide(1)).best_cost, greedy_search(start, {}).best_cost);
}

TEST(Taso, ExpandsEachStateOnceThoughRewritesCommute) {
  const RewriteState start = unary_state({{"Exp"}, {"Exp"}, {"Exp"}, {"Exp"}});
  const SearchResult result = taso_search(start, wide());
  EXPECT_EQ(result.expansions, 16);
  EXPECT_EQ(result.candidates, 16 * 4);
  EXPECT_EQ(result.duplicates, 16 * 4 - 15);
  EXPECT_EQ(result.stopped_by, StoppedBy::kExhausted);
}

TEST(Taso, FindsTheOptimumOfEveryReachableState) {
  const RewriteState start = unary_state({{"Tanh", "Sqrt"}, {"Exp", "Tanh"}, {"Sqrt"}});
  const std::map<uint64_t, int64_t> states = reachable(start);
  const SearchResult result = taso_search(start, wide());
  EXPECT_EQ(nanoseconds(result.best_cost), least_of(states));
  EXPECT_EQ(result.expansions, static_cast<int64_t>(states.size()));
}

TEST(Taso, TheBudgetCountsExpansions) {
  const RewriteState start = unary_state({{"Exp"}, {"Exp"}, {"Exp"}, {"Exp"}});
  SearchOptions options = wide(1e9, 7);
  options.finish = false;
  const SearchResult result = taso_search(start, options);
  EXPECT_EQ(result.expansions, 7);
  EXPECT_EQ(result.stopped_by, StoppedBy::kBudget);
}

TEST(Taso, FinishesTheBestGraphWhenTheBudgetIsSpent) {
  const RewriteState start = unary_state({{"Sqrt", "Sqrt", "Sqrt"}});
  SearchOptions options = wide(1.05, 1);
  options.finish = false;
  EXPECT_EQ(nanoseconds(taso_search(start, options).best_cost), 4 + 6 + 6 + 1);
  options.finish = true;
  EXPECT_EQ(nanoseconds(taso_search(start, options).best_cost), 4 + 4 + 4 + 1);
}

TEST(Taso, TheDearestLeaveAFullQueueAndAreCounted) {
  const RewriteState start =
      unary_state({{"Tanh", "Exp"}, {"Exp", "Tanh"}, {"Exp", "Sqrt"}, {"Exp"}, {"Exp"}});
  SearchOptions options = wide(10);
  const SearchResult all = taso_search(start, options);
  EXPECT_EQ(all.forgotten, 0);
  options.queue = 4;
  const SearchResult few = taso_search(start, options);
  EXPECT_GT(few.forgotten, 0);
  EXPECT_LT(few.expansions, all.expansions);
  EXPECT_LE(few.best_cost.runtime, greedy_search(start, {}).best_cost.runtime);
  EXPECT_EQ(few.stopped_by, StoppedBy::kExhausted);
  options.threads = 3;
  const SearchResult many = taso_search(start, options);
  EXPECT_EQ(many.rewrites, few.rewrites);
  EXPECT_EQ(many.forgotten, few.forgotten);
  EXPECT_EQ(many.expansions, few.expansions);
}

TEST(RuleList, CombinesForcedRulesWithGains) {
  const RewriteState start = unary_state({{"Tanh", "Sqrt"}, {"Tanh"}});
  const SearchResult result = rule_list_search(start, wide(1.05, 50));
  EXPECT_EQ(nanoseconds(result.best_cost), 3 + 4 + 3 + 2);
  EXPECT_EQ(result.stopped_by, StoppedBy::kBudget);
}

TEST(RuleList, TheFirstIsGreedySearch) {
  const RewriteState start = unary_state({{"Tanh", "Sqrt", "Exp"}, {"Sqrt", "Relu"}});
  const std::vector<RewriteStep> greedy = greedy_search(start, {}).rewrites;
  EXPECT_EQ(rule_list_search(start, wide(1, 1)).rewrites, greedy);
  EXPECT_EQ(rule_list_cmaes_search(start, wide(1, 1)).rewrites, greedy);
}

TEST(RandomSearch, WalksAllEquallyLong) {
  const RewriteState start = unary_state({{"Exp"}, {"Exp"}});  // a walk never ends by itself
  const SearchResult result = random_search(start, wide(1.05, 7));
  EXPECT_EQ(result.expansions, 7 * 10);
  EXPECT_EQ(result.steps, 7 * 10);
}

TEST(RandomSearch, SeesGainsBehindRises) {
  const SearchResult result = random_search(unary_state({{"Tanh"}}), wide(1.05, 5));
  EXPECT_EQ(nanoseconds(result.best_cost), 4);
}

TEST(TasoAsPublished, ExpandsAStateAsOftenAsItIsReached) {
  const RewriteState start = unary_state({{"Sqrt"}, {"Sqrt"}, {"Sqrt"}});
  const SearchResult result = taso_published_search(start, wide(10));
  EXPECT_EQ(result.expansions, 1 + 3 + 3 * 2 + 3 * 2 * 1);
  EXPECT_EQ(result.duplicates, 0);
  EXPECT_EQ(taso_search(start, wide(10)).expansions, 8);
}

TEST(Exhaustive, FindsTheOptimumAndSaysSo) {
  const RewriteState start = unary_state({{"Tanh", "Sqrt"}, {"Exp", "Tanh"}, {"Sqrt"}});
  const std::map<uint64_t, int64_t> states = reachable(start);
  const SearchResult result = exhaustive_search(start, {});
  EXPECT_EQ(nanoseconds(result.best_cost), least_of(states));
  EXPECT_EQ(result.expansions, static_cast<int64_t>(states.size()));
  EXPECT_TRUE(result.optimal);
}

TEST(Exhaustive, ClaimsNothingWhenStatesWereLeftOut) {
  const RewriteState start = unary_state({{"Tanh", "Sqrt"}, {"Exp", "Tanh"}, {"Sqrt"}});
  const auto states = static_cast<int64_t>(reachable(start).size());
  SearchOptions options;
  options.exhaustive.states = states;
  EXPECT_TRUE(exhaustive_search(start, options).optimal);
  options.exhaustive.states = states - 1;
  const SearchResult cut = exhaustive_search(start, options);
  EXPECT_FALSE(cut.optimal);
  EXPECT_EQ(cut.stopped_by, StoppedBy::kBudget);
}

TEST(Exhaustive, TheBoundLeavesOutWhatCostsMore) {
  const RewriteState start = unary_state({{"Tanh"}});  // 11, and 12 after the climb
  SearchOptions options;
  options.exhaustive.bound = 1;
  const SearchResult bounded = exhaustive_search(start, options);
  EXPECT_EQ(nanoseconds(bounded.best_cost), 11);
  EXPECT_FALSE(bounded.optimal);
  options.exhaustive.bound = 12.0 / 11 + 1e-9;
  const SearchResult wider = exhaustive_search(start, options);
  EXPECT_EQ(nanoseconds(wider.best_cost), 4);
  EXPECT_TRUE(wider.optimal) << "nothing was left out";
}

TEST(Classes, OneLocationOfEachIsACandidate) {
  const RewriteState start = unary_state({std::vector<std::string>(12, "Exp")});
  const size_t classes = start.classes(start.rules().find("there")).size();
  ASSERT_LT(classes, 12u);
  SearchOptions options = wide(1.05, 1);
  options.finish = false;
  EXPECT_EQ(taso_search(start, options).candidates, 12);
  options.classes = true;
  EXPECT_EQ(taso_search(start, options).candidates, static_cast<int64_t>(classes));
  EXPECT_FALSE(exhaustive_search(start, options).optimal);
}

TEST(Classes, GreedyTakesTheSamePath) {
  const RewriteState start = unary_state({std::vector<std::string>(12, "Sqrt"), {"Sigmoid"}});
  SearchOptions options;
  options.classes = true;
  const SearchResult result = greedy_search(start, options);
  EXPECT_EQ(result.rewrites, greedy_search(start, {}).rewrites);
  EXPECT_LT(result.candidates, greedy_search(start, {}).candidates);
}

TEST(TreeSearch, TheBudgetCountsRolloutsOfWhichTheFirstIsGreedy) {
  const RewriteState start = unary_state({{"Tanh", "Sqrt", "Sqrt"}, {"Sqrt"}});
  SearchOptions options = wide(1, 1);
  const SearchResult first = mcts_search(start, options);
  EXPECT_EQ(first.rewrites, greedy_search(start, {}).rewrites);
  EXPECT_EQ(first.expansions, greedy_search(start, {}).expansions);
  EXPECT_LT(mcts_search(start, wide(1, 30)).best_cost.runtime, first.best_cost.runtime);
}

TEST(TreeSearch, StatesReachedInSeveralWaysAreOneNode) {
  const RewriteState start = unary_state({{"Exp"}, {"Exp"}, {"Exp"}});
  SearchOptions options = wide(1, 500);
  options.mcts.widening = 100;
  options.mcts.random_steps = 0;
  const SearchResult result = mcts_search(start, options);
  EXPECT_EQ(result.expansions - 8, 8)
      << "eight states are listed once, and each rollout ends at once";
  EXPECT_GT(result.duplicates, 0);
}

TEST(TreeSearch, SaysThatItSawEveryState) {
  const RewriteState start = unary_state({{"Tanh", "Exp", "Sqrt"}, {"Relu", "Exp"}});
  const SearchResult result = mcts_search(start, wide(1, 1 << 20));
  EXPECT_EQ(result.stopped_by, StoppedBy::kExhausted);
  EXPECT_EQ(nanoseconds(result.best_cost), least_of(reachable(start)));
  EXPECT_LT(result.steps, 1 << 16);
  EXPECT_EQ(mcts_search(start, wide(1, 3)).stopped_by, StoppedBy::kBudget);
  EXPECT_EQ(mcts_search(start, wide(1, 0)).stopped_by, StoppedBy::kBudget);
}

TEST(TunedRuleList, FindsWhatToForce) {
  const RewriteState start = unary_state({{"Tanh", "Exp", "Sqrt"}, {"Relu", "Tanh"}, {"Sqrt"}});
  const SearchResult result = rule_list_cmaes_search(start, wide(1, 200));
  EXPECT_EQ(nanoseconds(result.best_cost), least_of(reachable(start)));
  EXPECT_EQ(result.stopped_by, StoppedBy::kBudget);
}

TEST(Beam, FindsTheOptimumOfEveryReachableStateWhenItIsWide) {
  const RewriteState start = unary_state({{"Tanh", "Sqrt"}, {"Exp", "Tanh"}, {"Sqrt"}});
  const std::map<uint64_t, int64_t> states = reachable(start);
  SearchOptions options = wide();
  options.greedy_first = false;
  options.beam.width = 1000;
  const SearchResult result = beam_search(start, options);
  EXPECT_EQ(nanoseconds(result.best_cost), least_of(states));
  EXPECT_EQ(result.expansions, static_cast<int64_t>(states.size()));
  EXPECT_EQ(result.stopped_by, StoppedBy::kExhausted);
}

TEST(Beam, TheBudgetCountsExpansions) {
  const RewriteState start = unary_state({{"Exp"}, {"Exp"}, {"Exp"}, {"Exp"}});
  SearchOptions options = wide(1, 8);
  options.greedy_first = options.finish = false;
  options.beam.width = 3;
  const SearchResult result = beam_search(start, options);
  EXPECT_EQ(result.expansions, 8);
  EXPECT_EQ(result.stopped_by, StoppedBy::kBudget);
}

TEST(Softmax, ColdSamplesTakeNoRiseWhereHotOnesDo) {
  const RewriteState start = unary_state({{"Tanh"}, {"Exp", "Sqrt"}});
  SearchOptions options = wide(1, 20);
  options.softmax.temperature = 1e-3;
  EXPECT_EQ(softmax_search(start, options).best_cost, greedy_search(start, {}).best_cost);
  options.softmax.temperature = 10;
  EXPECT_EQ(nanoseconds(softmax_search(start, options).best_cost), least_of(reachable(start)));
}

TEST(Annealing, ProposesSoManyMovesPerLocation) {
  const RewriteState start = unary_state({{"Exp"}, {"Exp"}});  // two locations, for ever
  SearchOptions options = wide(1, 4);
  options.annealing.sweeps = 25;
  const SearchResult result = annealing_search(start, options);
  EXPECT_EQ(result.steps, 3 * 50);
}

TEST(Methods, HelpAndReadmeSayWhatTheBudgetCounts) {
  std::ifstream file(REVERIE_SOURCE_DIR "/tools/README.md");
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  for (const NamedMethod& method : search_methods()) {
    const std::string unit = method.budget_unit.empty() ? "" : method.budget_unit + " ";
    const std::string row = fmt::format("| `{}` | {} | {}|", method.name, method.what, unit);
    EXPECT_THAT(readme, HasSubstr(row));
    if (!unit.empty()) {
      EXPECT_THAT(budget_units(), ContainsRegex(unit + "\\([a-z_, ]*" + method.name + "[,)]"));
    }
  }
}

TEST(KnownStates, HoldSoManySnapshotsAndKnowAll) {
  KnownStates known(3);
  std::vector<RewriteProblem> states;
  for (size_t i = 1; i <= 10; ++i)
    states.emplace_back(unary_state({std::vector<std::string>(i, "Exp")}), SearchOptions());
  for (const RewriteProblem& state : states) {
    EXPECT_TRUE(known.add(state));
    EXPECT_LE(known.held(), 3);
  }
  for (const RewriteProblem& state : states) EXPECT_FALSE(known.add(state));
}

class EveryMethod : public ::testing::TestWithParam<int> {
 protected:
  SearchResult search(const RewriteState& start, const SearchOptions& options) const {
    return search_methods()[static_cast<size_t>(GetParam())].run(start, options);
  }
  const std::string& name() const { return search_methods()[static_cast<size_t>(GetParam())].name; }
  RewriteState mixed() const {
    return unary_state({{"Tanh", "Sqrt", "Exp"}, {"Relu", "Tanh"}, {"Exp", "Sqrt"}});
  }
};

TEST_P(EveryMethod, FindsTheOptimumBehindARise) {
  if (name() == "greedy") return;  // stuck, as its own test says
  const RewriteState start = unary_state({{"Tanh", "Sqrt"}, {"Tanh"}});
  EXPECT_EQ(nanoseconds(search(start, wide(1.5, 100)).best_cost), least_of(reachable(start)));
}

TEST_P(EveryMethod, AnyNumberOfThreadsGivesTheSame) {
  SearchOptions options = wide(1.5, 37);
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
      EXPECT_EQ(many.improvements[i].rewrites, one.improvements[i].rewrites);
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
  SearchOptions options = wide(1.05, 1 << 30);
  int64_t looks = 0;
  options.clock = [&] { return static_cast<double>(looks++); };
  options.time_limit = 1e9;
  const SearchResult greedy = greedy_search(start, options);
  options.time_limit = static_cast<double>(looks) * 1.5;
  looks = 0;
  const SearchResult result = search(start, options);
  EXPECT_LE(result.best_cost.runtime, greedy.best_cost.runtime);
}

TEST_P(EveryMethod, LooksAtTheClockBetweenAnyTwoPiecesOfWork) {
  const RewriteState start = unary_state(std::vector(200, std::vector<std::string>{"Exp"}));
  SearchOptions options = wide(1.5, 1 << 30);
  int64_t looks = 0;
  options.clock = [&] { return static_cast<double>(looks++); };
  options.time_limit = 1000;
  const SearchResult result = search(start, options);
  EXPECT_EQ(result.stopped_by, name() == "greedy" ? StoppedBy::kExhausted : StoppedBy::kTimeLimit);
  EXPECT_LE(result.candidates + result.steps, 2000);
}

TEST_P(EveryMethod, ThePathLeadsToTheBestGraph) {
  const RewriteState start = mixed();
  const SearchResult result = search(start, wide(1.5, 20));
  EXPECT_LT(result.best_cost.runtime, result.initial_cost.runtime);
  EXPECT_EQ(graph_cost(start.cost_model(), result.best), result.best_cost);
  if (!result.saturation) {
    const RewriteState end = replay(start, result.rewrites);
    EXPECT_EQ(end.cost(), result.best_cost);
    EXPECT_TRUE(isomorphic(end.graph(), result.best));
  }
  result.best.validate();
}

TEST_P(EveryMethod, TheTraceFallsFromStartToBest) {
  const SearchResult result = search(mixed(), wide(1.5, 20));
  EXPECT_EQ(picoseconds(result.trace.front().best), result.initial_cost.runtime);
  EXPECT_EQ(picoseconds(result.trace.back().best), result.best_cost.runtime);
  for (size_t i = 1; i < result.trace.size(); ++i) {
    EXPECT_LT(result.trace[i].best, result.trace[i - 1].best);
    EXPECT_LE(result.trace[i - 1].seconds, result.trace[i].seconds);
  }
}

TEST_P(EveryMethod, EqualSeedsGiveEqualResults) {
  const SearchResult one = search(mixed(), wide(1.5, 20));
  const SearchResult two = search(mixed(), wide(1.5, 20));
  EXPECT_EQ(one.rewrites, two.rewrites);
  EXPECT_EQ(one.candidates, two.candidates);
  EXPECT_EQ(one.expansions, two.expansions);
}

TEST_P(EveryMethod, WeightsStayBelowTheBound) {
  const RewriteState start = unary_state({{"Relu", "Sqrt"}});
  SearchOptions options = wide(1.5, 20);
  const SearchResult free = search(start, options);
  EXPECT_EQ(nanoseconds(free.best_cost), 1 + 4 + 1);
  EXPECT_EQ(free.best.weight_bytes(), 16);
  options.max_weight_growth = 1.0;
  const SearchResult bounded = search(start, options);
  EXPECT_EQ(nanoseconds(bounded.best_cost), 5 + 4 + 1);
  EXPECT_EQ(bounded.best.weight_bytes(), 0);
}

TEST(WeightLimit, MoreThanAnyNumberOfBytesIsNoLimit) {
  const SearchResult heavy = greedy_search(unary_state({{"Relu", "Sqrt"}}), {});
  const RewriteState start(heavy.best, std::make_shared<RuleSet>(RuleSet::builtin()),
                           make_cost_model("roofline:t4"));
  ASSERT_GT(start.graph().weight_bytes(), 0);
  SearchOptions options;
  options.max_weight_growth = 1e300;
  EXPECT_EQ(RewriteRun(start, options).weight_limit(), std::numeric_limits<int64_t>::max());
  options.max_weight_growth = 2;
  EXPECT_EQ(RewriteRun(start, options).weight_limit(), 2 * start.graph().weight_bytes());
}

TEST_P(EveryMethod, AStopBeforeTheFirstStepReturnsTheStart) {
  const RewriteState start = mixed();
  SearchOptions options = wide();
  options.stop.request();
  const SearchResult result = search(start, options);
  EXPECT_EQ(result.stopped_by, StoppedBy::kInterrupt);
  EXPECT_EQ(result.best_cost, start.cost());
  EXPECT_TRUE(isomorphic(result.best, start.graph()));
  EXPECT_TRUE(result.rewrites.empty());
}

TEST_P(EveryMethod, AStopOnTheWayKeepsTheBestSoFar) {
  SearchOptions options = wide(1.5, 1000);
  options.on_progress = [&](const SearchProgress& progress) {
    if (picoseconds(progress.best) < mixed().cost().runtime) options.stop.request();
  };
  const SearchResult result = search(mixed(), options);
  EXPECT_EQ(result.stopped_by, StoppedBy::kInterrupt);
  EXPECT_LT(result.best_cost.runtime, result.initial_cost.runtime);
  EXPECT_EQ(graph_cost(mixed().cost_model(), result.best), result.best_cost);
}

TEST_P(EveryMethod, TheTimeLimitEndsTheSearch) {
  SearchOptions options = wide(1e9, 1 << 30);
  options.time_limit = 1e-9;
  EXPECT_EQ(search(mixed(), options).stopped_by, StoppedBy::kTimeLimit);
}

INSTANTIATE_TEST_SUITE_P(Methods, EveryMethod,
                         ::testing::Range(0, static_cast<int>(search_methods().size())),
                         [](const auto& info) {
                           return search_methods()[static_cast<size_t>(info.param)].name;
                         });

}  // namespace
}  // namespace reverie
