#include <gmock/gmock.h>

#include "controller/train/rollout.h"
#include "controller/train/trained_policy.h"
#include "env/translated.h"
#include "tests/support/renamed_environment.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tiny_policy.h"
#include "tests/support/unary_world.h"
#include "worldmodel/latent/live.h"

namespace reverie {
namespace {

using testing::TinyPolicy;

/// With one more node type in the midst, a first and a middle action that are new, and all else in
/// another order.
EnvSpec changed(const EnvSpec& spec) {
  EnvSpec shown = testing::reversed(spec);
  const auto insert = [](std::vector<std::string>& names, const std::string& name) {
    names.insert(names.begin() + static_cast<std::ptrdiff_t>(names.size() / 2), name);
  };
  insert(shown.node_types, "Novelty");
  insert(shown.node_features, "age");
  insert(shown.edge_features, "age");
  insert(shown.action_features, "age");
  insert(shown.actions, "new-rule");
  shown.actions.insert(shown.actions.begin(), "newer-rule");
  return shown;
}

/// Episodes by a policy from a file, sampled.
Rollout played(const Environment& environment, const TrainedPolicy& trained) {
  LiveLatentEnvironment live(environment, trained.encoder, trained.world, 16);
  Rng rng(3);
  return play(live, *trained.policy, false, 5, rng);
}

template <class T>
void expect_same(T one, T two) {
  const auto left = one.tensors(), right = two.tensors();
  for (size_t i = 0; i < left.size(); ++i) {
    ASSERT_EQ(left[i]->defined(), right[i]->defined()) << i;
    if (left[i]->defined()) {
      EXPECT_TRUE(torch::equal(*left[i], *right[i])) << i;
    }
  }
}

/// The policy sees the same in both, decides the same, and gets the same for it.
void expect_same_decisions(const TrainedPolicy& trained, const Environment& before,
                           const Environment& after) {
  ASSERT_NE(before.spec().actions, after.spec().actions);
  const Rollout expected = played(before, trained), result = played(after, trained);
  ASSERT_EQ(result.steps(), expected.steps());
  EXPECT_GT(expected.lengths().to(torch::kFloat).mean().item<double>(), 2);
  expect_same(result.observation, expected.observation);
  expect_same(result.actions, expected.actions);
  EXPECT_TRUE(torch::equal(result.log_probability, expected.log_probability));
  EXPECT_TRUE(torch::equal(result.reward, expected.reward));
}

class OldPolicyTest : public ::testing::Test {
 protected:
  std::unique_ptr<Environment> tiny_environment() const {
    return std::make_unique<RewriteEnvironment>(std::vector<StartGraph>{{"tiny", tiny_.graph}},
                                                tiny_.rules, tiny_.cost, tiny_.env);
  }
  /// An untrained policy, from its file.
  TrainedPolicy policy_for(const EnvSpec& spec) const {
    tiny_.save(directory_ / "policy.pt", spec);
    return load_trained_policy(directory_ / "policy.pt");
  }

  TemporaryDirectory directory_;
  TinyPolicy tiny_;
};

TEST_F(OldPolicyTest, SeesTheSameAfterANewRowInTheOperatorTableAndANewRule) {
  const auto before = tiny_environment();
  const EnvSpec shown = changed(before->spec());
  ASSERT_NE(shown.node_types.front(), before->spec().node_types.front());
  const testing::RenamedEnvironment after(tiny_environment(),
                                          shown);  // stops where a new rule is applied
  const TrainedPolicy trained = policy_for(before->spec());
  expect_same_decisions(trained, *before, after);
  EXPECT_THAT(
      unknown_actions(trained.world->spec().env, shown),
      ::testing::AllOf(::testing::HasSubstr("new-rule"), ::testing::HasSubstr("newer-rule")));
}

/// Rewriting by the rules of the unary world, of which `rules` is the text.
std::unique_ptr<Environment> unary_environment(const std::string& rules) {
  RewriteEnvConfig config;
  config.horizon = 6;
  config.region_nodes = 1;
  const Graph graph = testing::chains({{"Tanh", "Exp"}, {"Sqrt", "Tanh"}, {"Exp", "Exp"}});
  return std::make_unique<RewriteEnvironment>(
      std::vector<StartGraph>{{"chains", graph}},
      std::make_shared<const RuleSet>(RuleSet::parse(rules, "unary_world")), testing::unary_cost(),
      config);
}

TEST_F(OldPolicyTest, TakesNoRuleThatItDoesNotKnowWhereverThatStands) {
  const std::string known = testing::kUnaryRules;
  // Of many matches, and of a better gain than any known rule.
  const std::string fresh = "\nrule fresh\nmatch\n  y = Exp(x)\nreplace\n  y = Identity(x)\n";
  const auto before = unary_environment(known);
  const TrainedPolicy trained = policy_for(before->spec());
  for (const std::string& rules : {fresh + known, known + fresh}) {
    const auto after = unary_environment(rules);
    after->reset(0);
    ASSERT_GT(after->mask().total(rules.starts_with(fresh) ? 0 : after->spec().no_op() - 1), 0);
    expect_same_decisions(trained, *before, *after);
  }
}

TEST_F(OldPolicyTest, IsRefusedWhereAnActionThatItKnowsIsGone) {
  const std::string known = testing::kUnaryRules;
  const auto before = unary_environment(known);
  const TrainedPolicy trained = policy_for(before->spec());
  const auto after = unary_environment(known.substr(0, known.find("rule weigh")));
  try {
    played(*after, trained);
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("weigh"));
  }
}

}  // namespace
}  // namespace reverie
