#include "controller/modelfree/script_agent.h"

#include <gmock/gmock.h>
#include <torch/script.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "env/toy/knapsack_environment.h"
#include "env/toy/toy_environment.h"
#include "tests/support/counting_environment.h"
#include "tests/support/temporary_directory.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;

class ScriptAgentTest : public ::testing::Test {
 protected:
  /// A file whose forward has this body.
  std::string script(const std::string& body) {
    torch::jit::Module module("Agent");
    module.define("def forward(self, graph: Dict[str, Tensor]):\n" + body);
    const std::string path = folder_.path() + "/agent.pt";
    module.save(path);
    return path;
  }

  std::vector<Action> episode(CollectAgent& agent, Environment& env, uint64_t seed) {
    env.reset(seed);
    Rng rng(seed);
    EXPECT_EQ(agent.begin(env, rng), "agent.pt");
    std::vector<Action> actions;
    for (bool over = false; !over;) {
      actions.push_back(agent.act(env, env.observe(), rng));
      const StepResult result = env.step(actions.back());
      over = result.terminated || result.truncated;
    }
    return actions;
  }

  std::string refusal(const std::string& body) {
    const auto agent = load_script_agent(script(body));
    ToyEnvironment env(ToyConfig{2, 4, 8});
    try {
      episode(*agent, env, 1);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  TemporaryDirectory folder_;
};

TEST_F(ScriptAgentTest, TakesTheActionThatItScoresHighest) {
  // By far the greatest score: the last valid action but NO-OP, or NO-OP where there is no other.
  const auto agent =
      load_script_agent(script("  scores = torch.zeros([graph['actions'].size(0)])\n"
                               "  scores[max(graph['actions'].size(0) - 2, 0)] = 1000.\n"
                               "  return scores, graph['x'].sum()\n"));
  ToyEnvironment env(ToyConfig{2, 4, 8});
  env.reset(3);
  Rng rng(3);
  agent->begin(env, rng);
  for (bool over = false; !over;) {
    const ActionMask mask = env.mask();
    Action last{env.spec().no_op(), 0, 0};
    for (int primary = 0; primary < env.spec().no_op(); ++primary)
      if (const int total = mask.total(primary); total > 0) last = mask.choice(primary, total - 1);
    const Action taken = agent->act(env, env.observe(), rng);
    ASSERT_EQ(taken, last);
    const StepResult result = env.step(taken);
    over = result.terminated || result.truncated;
  }
}

TEST_F(ScriptAgentTest, DrawsByTheSoftmaxOfScores) {
  // Two of the valid actions are e times as likely as the others.
  const auto agent =
      load_script_agent(script("  scores = torch.zeros([graph['actions'].size(0)])\n"
                               "  scores[:2] = 1.\n"
                               "  return scores\n"));
  ToyEnvironment env(ToyConfig{2, 4, 8});
  env.reset(0);
  const Observation observation = env.observe();
  Rng rng(7);
  agent->begin(env, rng);
  std::map<std::vector<int>, int> drawn;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    const Action action = agent->act(env, observation, rng);
    ++drawn[{action.primary, action.entity, action.index}];
  }
  double valid = 0;
  for (const uint16_t count : observation.mask.counts) valid += count;
  ASSERT_GT(valid, 2);
  const double sum = valid - 2 + 2 * std::exp(1.0);
  int likely = 0;
  for (const auto& [action, count] : drawn) {
    const double share = static_cast<double>(count) / kDraws;
    if (share > 1.6 / sum) ++likely;
    EXPECT_THAT(share, ::testing::AnyOf(::testing::DoubleNear(1 / sum, 0.03),
                                        ::testing::DoubleNear(std::exp(1.0) / sum, 0.03)));
  }
  EXPECT_EQ(likely, 2);
}

TEST_F(ScriptAgentTest, SeesTheStateAsTheEnvironmentShowsIt) {
  const auto agent = load_script_agent(script(
      "  for name in ['node_type', 'edge_attr', 'batch', 'action_batch']:\n"
      "    assert name in graph, name\n"
      "  nodes, entities = graph['x'].size(0), int(graph['num_entities'])\n"
      "  step, actions = graph['x'][0, 0], graph['actions'].float()\n"
      "  own = 10. * step + actions[:, 0] + actions[:, 1] / 4.\n"
      "  assert torch.equal(graph['action_attr'].select(1, 0), own), 'action_attr'\n"
      "  assert torch.equal(graph['node_entity'], torch.arange(nodes) % entities), 'node_entity'\n"
      "  row = torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)])\n"
      "  assert torch.equal(graph['edge_index'], row), 'edge_index'\n"
      "  assert torch.equal(graph['ptr'], torch.tensor([0, nodes])), 'ptr'\n"
      "  return torch.zeros([actions.size(0)])\n"));
  reverie::testing::CountingEnvironment env;
  for (uint64_t seed = 0; seed < 4; ++seed) EXPECT_FALSE(episode(*agent, env, seed).empty());
}

TEST_F(ScriptAgentTest, PlaysTheSameByTheSeedAloneWhateverWasPlayedBefore) {
  const std::string path = script(
      "  h = torch.tanh(graph['action_attr'].sum(1) + graph['x'].sum() * 0.1)\n"
      "  return h * graph['actions'][:, 1].float()\n");
  const auto first = load_script_agent(path), fork = first->fork(),
             second = load_script_agent(path);
  KnapsackEnvironment env{KnapsackConfig{}};
  for (uint64_t seed = 0; seed < 6; ++seed) episode(*second, env, 100 + seed);
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const auto actions = episode(*first, env, seed);
    EXPECT_EQ(actions, episode(*fork, env, seed));
    EXPECT_EQ(actions, episode(*second, env, seed));
  }
}

TEST_F(ScriptAgentTest, RefusesWhatIsNoAgentNamingTheFile) {
  EXPECT_THAT(refusal("  return torch.zeros([1])\n"),
              ::testing::AllOf(HasSubstr("agent.pt"), HasSubstr("shape [1]; there are")));
  EXPECT_THAT(refusal("  return graph['actions'].select(1, 0) / 0.\n"), HasSubstr("finite"));
  EXPECT_THAT(refusal("  return graph['weight']\n"),
              ::testing::AllOf(HasSubstr("forward failed"), HasSubstr("weight")));
  EXPECT_THAT(refusal("  return 'north'\n"), HasSubstr("must return the scores"));
  const std::string path = folder_.path() + "/text.pt";
  EXPECT_THROW(load_script_agent(path), InputError);
  write_file(path, "no archive");
  EXPECT_THROW(load_script_agent(path), InputError);
}

}  // namespace
}  // namespace reverie
