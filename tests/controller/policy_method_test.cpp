#include "controller/policy_method.h"

#include <gmock/gmock.h>

#include "core/base/error.h"
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

  SearchResult search(const PolicySearchConfig& config, const SearchOptions& options) {
    return policy_method(trained_, tiny_.rules, tiny_.cost, config)(start(), options);
  }

  RewriteState start() const { return {tiny_.graph, tiny_.rules, tiny_.cost}; }

  TemporaryDirectory directory_;
  TinyPolicy tiny_;
  TrainedPolicy trained_;
};

TEST_F(PolicyMethodTest, ThePathLeadsToTheBestGraphAtItsCost) {
  SearchOptions options;
  options.budget = 20;
  const SearchResult result = search({tiny_.env}, options);
  EXPECT_LT(result.best_cost.runtime, result.initial_cost.runtime);
  RewriteState state = start();
  EXPECT_EQ(result.initial_cost, state.cost());
  for (const RewriteStep& step : result.rewrites)
    state.commit(state.propose(state.locations(step.rule).at(static_cast<size_t>(step.location))));
  EXPECT_EQ(state.cost(), result.best_cost);
  EXPECT_EQ(state.hash(), RewriteState(result.best, tiny_.rules, tiny_.cost).hash());
  EXPECT_EQ(result.trace.front().best, result.initial_cost);
  EXPECT_EQ(result.trace.back().best, result.best_cost);
  EXPECT_EQ(result.stopped_by, StoppedBy::kBudget);
}

TEST_F(PolicyMethodTest, TheSeedDecides) {
  SearchOptions options;
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

TEST_F(PolicyMethodTest, StopsWhenAsked) {
  SearchOptions options;
  options.time_limit = 1e-9;
  EXPECT_EQ(search({tiny_.env}, options).stopped_by, StoppedBy::kTimeLimit);
}

/// No rewrite of the tiny network changes the bytes of its weights.
TEST_F(PolicyMethodTest, TheBestIsWithinTheBoundOfWeights) {
  SearchOptions options;
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
