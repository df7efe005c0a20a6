#include "tools/policy/measured_ppo.h"

#include <gmock/gmock.h>

#include <numeric>
#include <set>

#include "core/ir/structural_hash.h"
#include "env/rewrite/search/measured_run.h"
#include "tests/support/random_actions.h"
#include "tests/support/unary_world.h"

namespace reverie {
namespace {

using ::testing::SizeIs;

RewriteState world() {
  return testing::unary_state(
      {{"Tanh", "Exp", "Relu"}, {"Sqrt", "Relu", "Tanh"}, {"Tanh", "Relu"}});
}

/// Where Add is dear and Abs is too, against what the costs of the unary world say.
class CountedMachine {
 public:
  static double truth(const Graph& graph) {
    static const std::map<std::string, double> nanoseconds = {
        {"Tanh", 30}, {"Sigmoid", 25}, {"Neg", 5},   {"Exp", 9},  {"Log", 15},
        {"Sqrt", 10}, {"Abs", 20},     {"Relu", 10}, {"Add", 25}, {"Floor", 3}};
    double sum = 0;
    for (const NodeId node : graph.nodes())
      if (graph.is_work(node)) sum += nanoseconds.at(graph.op(node).name);
    return sum * 1e-9;
  }

  NewTimer as_new_timer() {
    return [this](const Graph&) -> TimeGraph {
      return [this](const Graph& graph) -> MedianInterval {
        measured.push_back(graph);
        const double seconds = truth(graph);
        return {seconds, seconds, seconds, 9};
      };
    };
  }

  std::vector<Graph> measured;  ///< in order
};

MeasuredPpoConfig small_config(bool shaped) {
  MeasuredPpoConfig config;
  config.agent.net.network = ModelFreeKind::kCandidates;
  config.agent.net.width = 32;
  config.agent.ppo.learning_rate = 3e-3;
  config.shaped = shaped;
  return config;
}

MeasuredOptions measured_with(int64_t budget) {
  MeasuredOptions measured;
  measured.budget = budget;
  measured.again = 0;
  return measured;
}

RewriteSearchOptions seeded() {
  RewriteSearchOptions options;
  options.seed = 1;
  return options;
}

class MeasuredPpo : public ::testing::TestWithParam<bool> {
 protected:
  SearchResult search(const MeasuredOptions& measured,
                      const RewriteSearchOptions& options = seeded(),
                      const RewriteState& start = world()) {
    return measured_search(ppo_on_measurements(small_config(GetParam())), measured,
                           machine_.as_new_timer())(start, options);
  }
  double mean_time(size_t begin, size_t end) const {
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += CountedMachine::truth(machine_.measured[i]);
    return sum / static_cast<double>(end - begin);
  }

  CountedMachine machine_;
};

INSTANTIATE_TEST_SUITE_P(, MeasuredPpo, ::testing::Bool(),
                         [](const auto& shaped) { return shaped.param ? "shaped" : "plain"; });

TEST_P(MeasuredPpo, RewardsSumToWhatWasMeasured) {
  const RewriteState start = world();
  MeasuredRun run(start, seeded(), measured_with(100), machine_.as_new_timer());
  const auto environment = measured_environment(run, GetParam())->fork();
  const double original = CountedMachine::truth(start.graph());
  Rng rng(1);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    environment->reset(seed);
    double sum = 0, before_the_end = 0;
    for (bool over = false; !over;) {
      const StepResult result = environment->step(testing::random_action(environment->mask(), rng));
      over = result.terminated || result.truncated;
      sum += result.reward;
      if (!over) before_the_end += std::abs(result.reward);
    }
    EXPECT_NEAR(sum, 100 * (1 - CountedMachine::truth(machine_.measured.back()) / original), 1e-9);
    EXPECT_EQ(before_the_end > 0, GetParam());
  }
}

TEST_P(MeasuredPpo, LearnsWhatIsFastForReal) {
  const SearchResult result = search(measured_with(120));
  const double original = CountedMachine::truth(world().graph());
  EXPECT_LT(CountedMachine::truth(result.best), 0.6 * original);
  const size_t quarter = machine_.measured.size() / 4;
  EXPECT_LT(mean_time(machine_.measured.size() - quarter, machine_.measured.size()),
            0.8 * mean_time(0, quarter));
}

TEST_P(MeasuredPpo, MeasuresEachGraphOnceWithinItsBudget) {
  for (const int64_t budget : {1, 2, 21}) {
    machine_.measured.clear();
    const SearchResult result = search(measured_with(budget));
    EXPECT_THAT(machine_.measured, SizeIs(budget));
    EXPECT_THAT(result.measured->trace, SizeIs(budget));
    std::set<uint64_t> hashes;
    for (const Graph& graph : machine_.measured) hashes.insert(StructuralHash(graph).value());
    EXPECT_THAT(hashes, SizeIs(budget));
    EXPECT_TRUE(isomorphic(machine_.measured[0], world().graph()));
    EXPECT_TRUE(isomorphic(replay(world(), result.rewrites).graph(), result.best));
  }
}

TEST_P(MeasuredPpo, EndsWhereNothingNewComes) {
  const SearchResult result =
      search(measured_with(100), seeded(), testing::unary_state({{"Sqrt"}}));
  EXPECT_EQ(result.stopped_by, StoppedBy::kExhausted);
  EXPECT_THAT(machine_.measured, SizeIs(2));
}

TEST_P(MeasuredPpo, MeasuresNothingAboveTheBoundOfWeights) {
  search(measured_with(20));
  const auto weighs = [](const Graph& graph) { return graph.weight_bytes() > 0; };
  ASSERT_TRUE(std::any_of(machine_.measured.begin(), machine_.measured.end(), weighs));
  machine_.measured.clear();
  RewriteSearchOptions options = seeded();
  options.max_weight_growth = 1;
  search(measured_with(20), options);
  EXPECT_GT(machine_.measured.size(), 1);
  EXPECT_TRUE(std::none_of(machine_.measured.begin(), machine_.measured.end(), weighs));
}

TEST_P(MeasuredPpo, StopsWhenAskedTo) {
  RewriteSearchOptions options = seeded();
  MeasuredOptions measured = measured_with(100);
  measured.on_measured = [&](const MeasuredReport& report) {
    if (report.trace.size() == 3) options.stop.request();
  };
  EXPECT_EQ(search(measured, options).stopped_by, StoppedBy::kInterrupt);
  EXPECT_THAT(machine_.measured, SizeIs(3));
}

}  // namespace
}  // namespace reverie
