#include "tools/policy/policy_method.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "env/rewrite/search/measured_search.h"
#include "tests/support/op_cost.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tiny_policy.h"

namespace reverie {
namespace {

using testing::TinyPolicy;

class PolicyMethodTest : public ::testing::Test {
 protected:
  PolicyMethodTest() {
    tiny_.save(directory_ / "policy.pt");
    trained_ = load_trained_policy(directory_ / "policy.pt");
  }

  SearchResult search(const PolicySearchConfig& config, const RewriteSearchOptions& options) {
    return policy_method(trained_, tiny_.rules, tiny_.cost, config)(start(), options);
  }

  RewriteState start() const { return {tiny_.graph, tiny_.rules, tiny_.cost}; }

  TemporaryDirectory directory_;
  TinyPolicy tiny_;
  TrainedPolicy trained_;
};

TEST_F(PolicyMethodTest, ThePathLeadsToTheBestGraphAtItsCost) {
  RewriteSearchOptions options;
  options.budget = 20;
  const SearchResult result = search({tiny_.env}, options);
  EXPECT_LT(result.best_cost.runtime, result.initial_cost.runtime);
  RewriteState state = start();
  EXPECT_EQ(result.initial_cost, state.cost());
  for (const RewriteStep& step : result.rewrites)
    state.commit(state.propose(state.locations(step.rule).at(static_cast<size_t>(step.location))));
  EXPECT_EQ(state.cost(), result.best_cost);
  EXPECT_EQ(state.hash(), RewriteState(result.best, tiny_.rules, tiny_.cost).hash());
  EXPECT_EQ(picoseconds(result.trace.front().best), result.initial_cost.runtime);
  EXPECT_EQ(picoseconds(result.trace.back().best), result.best_cost.runtime);
  EXPECT_EQ(result.stopped_by, StoppedBy::kBudget);
}

TEST_F(PolicyMethodTest, TheSeedDecides) {
  RewriteSearchOptions options;
  options.budget = 3;
  options.seed = 5;
  const PolicySearchConfig sampled{tiny_.env, false, 3};
  const SearchResult one = search(sampled, options), two = search(sampled, options);
  EXPECT_EQ(one.rewrites, two.rewrites);
  EXPECT_EQ(one.steps, two.steps);
}

TEST_F(PolicyMethodTest, CountsTheStepsOfAllEpisodes) {
  const SearchResult none = search({tiny_.env, false, 0}, {});
  EXPECT_EQ(none.steps, 0);
  EXPECT_EQ(none.best_cost, none.initial_cost);
  const SearchResult many = search({tiny_.env, true, 40}, {});
  EXPECT_GE(many.steps, 41);
  EXPECT_LE(many.steps, 41 * tiny_.env.horizon);
  EXPECT_EQ(many.expansions, many.steps);
}

TEST_F(PolicyMethodTest, EpisodesLastAsManyHorizonsAsTheSettingsSay) {
  PolicySearchConfig config{tiny_.env, false, 20};
  config.env.horizon = 1;
  EXPECT_EQ(search(config, {}).steps, 20);
  config.guided.horizons = 3;
  const int64_t steps = search(config, {}).steps;
  EXPECT_GT(steps, 2 * 20);
  EXPECT_LE(steps, 3 * 20);
}

TEST_F(PolicyMethodTest, TheCheapestStatesThatItsEpisodesComeByAreMeasured) {
  std::vector<Picoseconds> measured;
  const NewTimer as_they_cost = [&](const Graph&) -> TimeGraph {
    return [&](const Graph& graph) {
      measured.push_back(RewriteState(graph, tiny_.rules, tiny_.cost).cost().runtime);
      const double seconds = static_cast<double>(measured.back().count);
      return MedianInterval{seconds, seconds, seconds, 9};
    };
  };
  RewriteSearchOptions options;
  options.budget = 20;
  MeasuredOptions measuring;
  measuring.budget = 4;
  measuring.again = 0;
  const auto by_policy = policy_method(trained_, tiny_.rules, tiny_.cost, {tiny_.env});
  const SearchResult result =
      measured_search(cheapest_of(by_policy), measuring, as_they_cost)(start(), options);
  ASSERT_EQ(measured.size(), 4);
  EXPECT_EQ(measured[0], start().cost().runtime);
  EXPECT_EQ(measured[1], search({tiny_.env}, options).best_cost.runtime);
  EXPECT_TRUE(std::is_sorted(measured.begin() + 1, measured.end()));
  EXPECT_EQ(result.best_cost.runtime, measured[1]);
}

/// Tells which threads asked for costs, and takes long enough for others to ask meanwhile.
class AskedCost : public testing::OpCost {
 public:
  AskedCost() : OpCost({}) {}
  Cost cost(const OpSignature& signature) override {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    const std::lock_guard lock(mutex_);
    askers_.insert(std::this_thread::get_id());
    return OpCost::cost(signature);
  }
  std::set<std::thread::id> askers() const { return askers_; }

 private:
  std::mutex mutex_;
  std::set<std::thread::id> askers_;
};

TEST_F(PolicyMethodTest, EpisodesTakeTheThreadsOfTheSearchAndAreTheSameForAnyNumber) {
  const auto played = [&](const std::shared_ptr<CostModel>& cost, int threads) {
    RewriteSearchOptions options;
    options.threads = threads;
    const RewriteState start(tiny_.graph, tiny_.rules, cost);
    return policy_method(trained_, tiny_.rules, cost, {tiny_.env, false, 16})(start, options);
  };
  const auto asked = std::make_shared<AskedCost>(), by_three = std::make_shared<AskedCost>();
  const SearchResult one = played(asked, 1), three = played(by_three, 3);
  EXPECT_THAT(asked->askers(), ::testing::ElementsAre(std::this_thread::get_id()));
  EXPECT_GT(by_three->askers().size(), 1u);
  EXPECT_EQ(one.rewrites, three.rewrites);
  EXPECT_EQ(one.best_cost, three.best_cost);
  EXPECT_EQ(one.steps, three.steps);
}

TEST_F(PolicyMethodTest, StopsWhenAsked) {
  RewriteSearchOptions options;
  options.time_limit = 1e-9;
  EXPECT_EQ(search({tiny_.env}, options).stopped_by, StoppedBy::kTimeLimit);
}

TEST_F(PolicyMethodTest, WhereTimeIsLimitedFewEpisodesArePlayedAtOnceAtFirst) {
  std::vector<size_t> depths;
  RewriteSearchOptions options;
  options.on_state = [&](const RewriteState&, std::span<const RewriteStep> path) {
    depths.push_back(path.size());
  };
  const PolicySearchConfig sampled{tiny_.env, false, 3};
  search(sampled, options);
  EXPECT_THAT(std::span(depths).first(4), ::testing::ElementsAre(1, 1, 1, 2));
  depths.clear();
  options.time_limit = 1e9;
  search(sampled, options);
  EXPECT_THAT(std::span(depths).first(2), ::testing::ElementsAre(1, 2));
  EXPECT_EQ(std::count(depths.begin(), depths.end(), 1), 3);
}

/// No rewrite of the tiny network changes the bytes of its weights.
TEST_F(PolicyMethodTest, TheBestIsWithinTheBoundOfWeights) {
  RewriteSearchOptions options;
  options.budget = 20;
  const SearchResult free = search({tiny_.env}, options);
  ASSERT_FALSE(free.rewrites.empty());
  options.max_weight_growth = 1.0;
  EXPECT_EQ(search({tiny_.env}, options).rewrites, free.rewrites);
  options.max_weight_growth = 0.99;
  const SearchResult bounded = search({tiny_.env}, options);
  EXPECT_TRUE(bounded.rewrites.empty());
  EXPECT_EQ(bounded.best_cost, bounded.initial_cost);
  EXPECT_EQ(bounded.steps, free.steps);
}

TEST_F(PolicyMethodTest, RefusesOtherRules) {
  const auto other = std::make_shared<const RuleSet>(
      RuleSet::parse("rule twice\nmatch\n  y = Relu(Relu(x))\nreplace\n  y = Relu(x)\n", "test"));
  const RewriteState foreign(tiny_.graph, other, tiny_.cost);
  EXPECT_THROW(policy_method(trained_, other, tiny_.cost, {tiny_.env})(foreign, {}), InputError);
}

/// A rule that the policy doesn't know stands before those that it knows: it is not applied, and
/// the steps are told by the numbers of all rules.
TEST_F(PolicyMethodTest, SearchesWhereThereAreMoreRules) {
  RuleSet more =
      RuleSet::parse("rule twice\nmatch\n  y = Relu(x)\nreplace\n  y = Relu(Relu(x))\n", "test");
  more.append(*tiny_.rules);
  const auto rules = std::make_shared<const RuleSet>(std::move(more));
  const RewriteState start(tiny_.graph, rules, tiny_.cost);
  ASSERT_GT(start.location_count(0), 0);
  for (const PolicySearchKind kind : {PolicySearchKind::kEpisodes, PolicySearchKind::kBeam}) {
    PolicySearchConfig config{.env = tiny_.env};
    config.guided.search = kind;
    RewriteSearchOptions options;
    options.budget = 20;
    config.guided.greedy_first = config.guided.finish = false;
    const SearchResult result = policy_method(trained_, rules, tiny_.cost, config)(start, options);
    EXPECT_LT(result.best_cost.runtime, result.initial_cost.runtime);
    EXPECT_EQ(replay(start, result.rewrites).cost(), result.best_cost);
    for (const RewriteStep& step : result.rewrites) EXPECT_NE(step.rule, 0);
  }
}

/// Cut into regions.
TinyPolicy tiny_with_regions() {
  TinyPolicy tiny;
  tiny.env.region_nodes = 1;
  return tiny;
}

class PolicyOfRegionsTest : public ::testing::TestWithParam<PolicySearchKind> {
 protected:
  /// Searches by a policy that was trained on graphs of these names, in the environment that its
  /// file names.
  SearchResult search(const EnvSpec& trained_on) {
    tiny_.save(directory_ / "policy.pt", trained_on);
    const TrainedPolicy trained = load_trained_policy(directory_ / "policy.pt");
    PolicySearchConfig config{
        .env = environment_from(trained.environment).of<RewriteConfig>().environment};
    config.guided.search = GetParam();
    RewriteSearchOptions options;
    options.budget = 5;
    return policy_method(trained, tiny_.rules, tiny_.cost, config)(start(), options);
  }
  RewriteState start() const { return {tiny_.graph, tiny_.rules, tiny_.cost}; }
  int entities() const {
    RewriteEnvironment environment({{"tiny", tiny_.graph}}, tiny_.rules, tiny_.cost, tiny_.env);
    environment.reset(0);
    return environment.mask().entities;
  }

  TemporaryDirectory directory_;
  TinyPolicy tiny_ = tiny_with_regions();
};

TEST_P(PolicyOfRegionsTest, SearchesAsItWasTrained) {
  ASSERT_GT(entities(), 2);
  const SearchResult result = search(tiny_.spec());
  EXPECT_EQ(replay(start(), result.rewrites).cost(), result.best_cost);
  EXPECT_GT(result.steps, 0);
}

TEST_P(PolicyOfRegionsTest, OneThatWasTrainedOnWholeGraphsSearchesToo) {
  const SearchResult result = search(TinyPolicy().spec());
  EXPECT_EQ(replay(start(), result.rewrites).cost(), result.best_cost);
  EXPECT_GT(result.steps, 0);
}

INSTANTIATE_TEST_SUITE_P(All, PolicyOfRegionsTest,
                         ::testing::Values(PolicySearchKind::kEpisodes, PolicySearchKind::kBeam),
                         [](const auto& info) { return "Search" + std::to_string(info.index); });

TEST_F(PolicyMethodTest, TheFileSaysWhichEnvironmentItIsFor) {
  TinyPolicy tiny = tiny_with_regions();
  tiny.env.reward = RewardKind::kWeighted;
  tiny.save(directory_ / "regions.pt");
  const RewriteEnvConfig kept =
      environment_from(load_trained_policy(directory_ / "regions.pt").environment)
          .of<RewriteConfig>()
          .environment;
  EXPECT_EQ(dump_config(kept), dump_config(tiny.env));
  EXPECT_NE(dump_config(kept), dump_config(RewriteEnvConfig{}));
}

TEST_F(PolicyMethodTest, AnEarlierFileSaysNothingOfItsEnvironment) {
  Checkpoint file = load_checkpoint(directory_ / "policy.pt", "policy");
  file.configs.erase("environment");
  save_checkpoint(directory_ / "policy.pt", file);
  EXPECT_EQ(load_trained_policy(directory_ / "policy.pt").environment, "");
}

TEST_F(PolicyMethodTest, AFileWithoutAPolicyIsNamed) {
  save_checkpoint(directory_ / "world.pt", testing::UntrainedWorld(tiny_.spec()).checkpoint());
  try {
    load_trained_policy(directory_ / "world.pt");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("world.pt"));
  }
}

}  // namespace
}  // namespace reverie
