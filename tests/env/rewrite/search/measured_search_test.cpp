#include "env/rewrite/search/measured_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/ir/structural_hash.h"
#include "env/rewrite/optimize/optimize.h"
#include "tests/support/unary_world.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;
using testing::OpCost;
using ::testing::SizeIs;
using testing::unary_rules;

/// As `chains`, of sizes 4, 8, 12, ...: each chain has signatures of its own.
RewriteState sized_chains(const std::vector<std::vector<std::string>>& operators) {
  Graph graph;
  for (size_t i = 0; i < operators.size(); ++i) {
    const auto size = static_cast<int64_t>(4 * (i + 1));
    ValueId value = graph.add_input(fmt::format("x{}", i), {DType::kFloat32, {size}});
    for (const std::string& op : operators[i]) value = graph.add(op, {value});
    graph.add_output(fmt::format("y{}", i), graph.add("Floor", {value}));
  }
  return {std::move(graph), unary_rules(), testing::unary_cost()};
}

/// A machine on which operators cost other than the model of the unary world says, by name and
/// size, and more where a Log follows an Abs.
class Machine {
 public:
  explicit Machine(double noise, uint64_t seed = 1) : noise_(noise), rng_(seed) {}
  virtual ~Machine() = default;

  virtual double truth(const Graph& graph) const {
    double nanoseconds = 0;
    for (const NodeId node : graph.nodes())
      if (graph.is_work(node)) nanoseconds += of(graph, node);
    return nanoseconds * 1e-9;
  }

  NewTimer as_new_timer() {
    return [this](const Graph&) -> TimeGraph {
      return [this](const Graph& graph) { return measure(graph); };
    };
  }

  std::vector<Graph> measured;  ///< in order

 protected:
  virtual MedianInterval measure(const Graph& graph) {
    measured.push_back(graph);
    const double exact = truth(graph), seconds = exact * (1 + noise_ * rng_.normal());
    const double half = 1.96 * noise_ * exact;
    return {seconds, seconds - half, seconds + half, 9};
  }

 private:
  double of(const Graph& graph, NodeId node) const {
    static const std::map<std::string, double> usual = {{"Tanh", 30}, {"Sigmoid", 25}, {"Neg", 28},
                                                        {"Exp", 15},  {"Log", 16},     {"Sqrt", 18},
                                                        {"Abs", 17},  {"Relu", 15},    {"Add", 14}};
    const OpSignature signature = signature_of(graph, node);
    const auto known = usual.find(signature.op->name);
    Rng rng(hash_combine(7, hash_string(signature.text())));
    const double own = (known == usual.end() ? 3 : known->second) * (1 + 0.4 * rng.normal());
    return std::max(own, 1.0) + (signature.op->name == "Log" && follows_abs(graph, node) ? 3 : 0);
  }
  static bool follows_abs(const Graph& graph, NodeId node) {
    const ValueId input = graph.inputs(node)[0];
    return graph.producer(input).valid() && graph.op(graph.producer(input)).name == "Abs";
  }

  double noise_;
  Rng rng_;
};

RewriteState world() {
  return sized_chains({{"Tanh", "Exp", "Sqrt"},
                       {"Sqrt", "Exp", "Relu"},
                       {"Exp", "Tanh", "Sqrt"},
                       {"Relu", "Sqrt", "Log"}});
}

MeasuredOptions measuring(int64_t budget) {
  MeasuredOptions measured;
  measured.budget = budget;
  return measured;
}

RewriteSearchOptions with_seed(uint64_t seed) {
  RewriteSearchOptions options;
  options.seed = seed;
  return options;
}

SearchMethod method_of(const std::string& name, Machine& machine, const MeasuredOptions& measured) {
  return measured_search(measured_arm(name, measured, SolverSettings("rewrite")), measured,
                         machine.as_new_timer());
}

SearchResult search(const std::string& name, Machine& machine, const RewriteState& start,
                    const MeasuredOptions& measured,
                    const RewriteSearchOptions& options = with_seed(1)) {
  return method_of(name, machine, measured)(start, options);
}

class EveryArm : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Measured, EveryArm,
                         ::testing::Values("surrogate", "beam", "taso", "greedy", "rulelist",
                                           "random"),
                         [](const auto& info) { return info.param; });

TEST_P(EveryArm, StaysWithinItsBudgetAndBeginsWithTheOriginal) {
  const RewriteState start = world();
  for (const int64_t budget : {1, 2, 12, 40}) {
    Machine machine(0.01);
    const SearchResult result = search(GetParam(), machine, start, measuring(budget));
    ASSERT_TRUE(result.measured);
    EXPECT_THAT(result.measured->trace, SizeIs(machine.measured.size()));
    EXPECT_LE(static_cast<int64_t>(machine.measured.size()), budget);
    EXPECT_TRUE(isomorphic(machine.measured[0], start.graph()));
    EXPECT_TRUE(isomorphic(replay(start, result.rewrites).graph(), result.best));
    EXPECT_EQ(replay(start, result.rewrites).cost(), result.best_cost);
    EXPECT_LE(machine.truth(result.best), machine.truth(start.graph()) * 1.03);
  }
}

TEST_P(EveryArm, MeasuresEachGraphOnceBeforeTheEnd) {
  Machine machine(0.01);
  MeasuredOptions measured = measuring(30);
  measured.again = 0;
  const SearchResult result = search(GetParam(), machine, world(), measured);
  std::set<uint64_t> hashes;
  for (const Graph& graph : machine.measured) hashes.insert(StructuralHash(graph).value());
  EXPECT_THAT(machine.measured, SizeIs(hashes.size()));
  EXPECT_EQ(result.measured->graphs, static_cast<int64_t>(hashes.size()));
  double best = 1;
  for (const MeasuredPoint& point : result.measured->trace) {
    best = std::min(best, point.measured);
    EXPECT_EQ(point.best, best);
  }
}

TEST_P(EveryArm, IsDeterministicForASeed) {
  const auto times = [&](uint64_t seed) {
    Machine machine(0.01);
    const SearchResult result =
        search(GetParam(), machine, world(), measuring(20), with_seed(seed));
    std::vector<double> times;
    for (const MeasuredPoint& point : result.measured->trace) times.push_back(point.measured);
    return times;
  };
  EXPECT_EQ(times(3), times(3));
  const bool draws =
      GetParam() == "surrogate" || GetParam() == "rulelist" || GetParam() == "random";
  EXPECT_EQ(times(3) != times(4), draws);
}

TEST_P(EveryArm, StopsWhenAskedTo) {
  Machine machine(0.01);
  RewriteSearchOptions options;
  MeasuredOptions measured = measuring(30);
  measured.on_measured = [&](const MeasuredReport& report) {
    if (report.trace.size() == 3) options.stop.request();
  };
  const SearchResult result = search(GetParam(), machine, world(), measured, options);
  EXPECT_THAT(machine.measured, SizeIs(3));
  EXPECT_EQ(result.stopped_by, StoppedBy::kInterrupt);
}

TEST_P(EveryArm, StopsWhenTheTimeIsOver) {
  Machine machine(0.01);
  RewriteSearchOptions options = with_seed(1);
  options.clock = [&] { return static_cast<double>(machine.measured.size()); };
  options.time_limit = 3;  // begins before the first
  const SearchResult result = search(GetParam(), machine, world(), measuring(30), options);
  EXPECT_THAT(machine.measured, SizeIs(3));
  EXPECT_EQ(result.stopped_by, StoppedBy::kTimeLimit);
}

TEST_P(EveryArm, KeepsTheOriginalWhereNothingIsFaster) {
  class Conservative : public Machine {
   public:
    Conservative() : Machine(0) {}
    double truth(const Graph& graph) const override {
      return isomorphic(graph, world().graph()) ? 1e-9 : 2e-9;
    }
  };
  Conservative machine;
  const SearchResult result = search(GetParam(), machine, world(), measuring(12));
  EXPECT_TRUE(isomorphic(result.best, world().graph()));
  EXPECT_TRUE(result.rewrites.empty());
}

TEST(Surrogate, FindsWhatTheModelHides) {
  const RewriteState start = world();
  const auto truth_of = [&](const std::string& name, int64_t budget) {
    double sum = 0;
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      Machine machine(0.005, seed);
      sum += machine.truth(search(name, machine, start, measuring(budget), with_seed(seed)).best);
    }
    return sum / 5;
  };
  Machine machine(0);
  double least = machine.truth(start.graph());
  RewriteSearchOptions all;
  all.on_state = [&](const RewriteState& state, std::span<const RewriteStep>) {
    least = std::min(least, machine.truth(state.graph()));
  };
  const SearchResult everything = search_rewrites(start, all, search::Exhaustive());
  ASSERT_TRUE(everything.optimal);
  ASSERT_GT(everything.expansions, 500);
  ASSERT_LT(least, 0.85 * machine.truth(start.graph()));
  const double surrogate = truth_of("surrogate", 60);
  EXPECT_LT(surrogate, 1.02 * least);
  for (const std::string other : {"beam", "taso", "greedy", "rulelist", "random"})
    EXPECT_LT(surrogate, truth_of(other, 60)) << other;
}

TEST(Surrogate, SaysHowItFitted) {
  Machine machine(0.01);
  const SearchResult result = search("surrogate", machine, world(), measuring(20));
  EXPECT_GT(result.measured->scale, 1);  // the machine is slower than the model
  EXPECT_GT(result.measured->deviation, 0);
  EXPECT_GT(result.measured->mismatch, 0);
}

/// The first measurement of a graph can be far off; later ones are exact.
class Lucky : public Machine {
 public:
  Lucky() : Machine(0.3) {}

 protected:
  MedianInterval measure(const Graph& graph) override {
    const bool again = std::any_of(measured.begin(), measured.end(), [&](const Graph& earlier) {
      return isomorphic(earlier, graph);
    });
    if (!again) return Machine::measure(graph);
    measured.push_back(graph);
    return {truth(graph) * 1e3, 0, 0, 9};  // so that only what is measured again can tell
  }
};

TEST(MeasuredAgain, TheMeanDecides) {
  Lucky machine;
  const SearchResult result = search("random", machine, world(), measuring(20));
  ASSERT_THAT(machine.measured, SizeIs(20));
  // Four again: each of the three fastest, and one of them twice. All look worse than the original
  // then.
  const auto& trace = result.measured->trace;
  EXPECT_GT(trace[19].best, trace[15].best);
  EXPECT_TRUE(isomorphic(result.best, world().graph()));
  for (size_t i = 16; i < 19; ++i)
    for (size_t j = 16; j < i; ++j)
      EXPECT_FALSE(isomorphic(machine.measured[i], machine.measured[j]));
  EXPECT_TRUE(isomorphic(machine.measured[19], machine.measured[16]));
}

TEST(MeasuredSearch, IsExhaustedInASmallWorld) {
  const RewriteState start = sized_chains({{"Sqrt"}});
  for (const std::string name : {"surrogate", "beam", "rulelist", "random"}) {
    Machine machine(0.01);
    const SearchResult result = search(name, machine, start, measuring(100));
    EXPECT_EQ(result.stopped_by, StoppedBy::kExhausted) << name;
    EXPECT_EQ(result.measured->graphs, 2) << name;
    EXPECT_THAT(machine.measured, SizeIs(2 + 6)) << name;
  }
}

TEST(MeasuredSearch, IsOptimizedAndVerifiedLikeAnyOther) {
  Machine machine(0.01);
  OptimizeConfig config;
  config.search = with_seed(1);
  const Graph graph = sized_chains({{"Exp"}, {"Exp"}}).graph();
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  const Optimized result = optimize(graph, rules, testing::unary_cost(),
                                    method_of("surrogate", machine, measuring(12)), config);
  EXPECT_TRUE(result.verified.agree);
  EXPECT_TRUE(result.search.measured);
}

TEST(MeasuredSearch, RefusesUnknownNamesAndNoBudget) {
  Machine machine(0);
  try {
    method_of("softmax", machine, measuring(12));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("known are annealing, beam"));
  }
  MeasuredOptions unknown = measuring(12);
  unknown.inner = "softmax";
  EXPECT_THROW(method_of("surrogate", machine, unknown), InputError);
  EXPECT_THROW(search("beam", machine, world(), measuring(0)), InputError);
}

TEST(Surrogate, SearchesByWhateverMethodItIsTold) {
  for (const Solver* solver : solvers_for("rewrite")) {
    Machine machine(0.01);
    MeasuredOptions measured = measuring(20);
    measured.inner = solver->name();
    const SearchResult result = search("surrogate", machine, world(), measured);
    EXPECT_LT(machine.truth(result.best), 0.95 * machine.truth(world().graph())) << solver->name();
  }
}

TEST(MeasuredSearch, AnySearchSaysWhatToMeasure) {
  for (const Solver* solver : solvers_for("rewrite")) {
    Machine machine(0.01);
    const SearchResult result = search(solver->name(), machine, world(), measuring(12));
    EXPECT_GT(result.measured->graphs, 1) << solver->name();
    EXPECT_LE(machine.measured.size(), 12u) << solver->name();
  }
}

TEST(MeasuredSearch, OptionsOfTheSearchHold) {
  SolverSettings settings("rewrite");
  settings.of<search::Exhaustive>("exhaustive").states = 1;
  const MeasuredOptions measured = measuring(1000);
  Machine machine(0.01);
  const SearchResult result = measured_search(measured_arm("exhaustive", measured, settings),
                                              measured, machine.as_new_timer())(world(), {});
  EXPECT_EQ(result.expansions, 1);
}

/// Who searches first and measures then must not search until the time is over.
TEST(MeasuredSearch, TheSearchWithinLeavesTimeToMeasure) {
  Machine machine(0.01);
  double limit = 0;
  const SearchMethod within = [&](const RewriteState& start, const RewriteSearchOptions& options) {
    limit = options.time_limit;
    return search_rewrites(start, options, search::Greedy());
  };
  RewriteSearchOptions options = with_seed(1);
  options.clock = [&] { return static_cast<double>(machine.measured.size()); };
  options.time_limit = 101;
  measured_search(cheapest_of(within), measuring(12), machine.as_new_timer())(world(), options);
  EXPECT_EQ(limit, 50);
}

}  // namespace
}  // namespace reverie
