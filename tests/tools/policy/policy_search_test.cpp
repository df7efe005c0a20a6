#include <gmock/gmock.h>

#include <cmath>

#include "core/base/error.h"
#include "env/environment_problem.h"
#include "tests/support/tiny_policy.h"
#include "tests/support/unary_world.h"
#include "tools/policy/policy_method.h"
#include "tools/policy/policy_prior.h"
#include "worldmodel/latent/live.h"

namespace reverie {
namespace {

using testing::UntrainedWorld;

enum : int { kThere, kBack, kClimb, kLeap, kShave, kWeigh, kNoOp };

/// Those of the unary world, neutral swaps first: ties are no help.
std::shared_ptr<const RuleSet> rules() {
  static const std::vector<std::string> order = {"there", "back",  "climb",
                                                 "leap",  "shave", "weigh"};
  static const auto set = std::make_shared<const RuleSet>(testing::unary_rules()->subset(order));
  return set;
}

/// Thinks what a test tells it: a weight for each action of a rule.
class ToldPolicy : public Policy {
 public:
  std::map<int64_t, double> weights;  ///< 1 where nothing is said
  LatentObservation shown;            ///< what it was asked about last

  std::string name() const override { return "told"; }
  PolicyDecision act(const LatentObservation&, bool, Rng&) override {
    throw InternalError("a search does not let it act");
  }

  ActionPriors priors(const LatentObservation& observation) override {
    shown = observation;
    const auto totals = observation.mask.totals.accessor<int64_t, 2>();
    std::vector<int64_t> state;
    std::vector<Action> actions;
    std::vector<float> log_probability;
    for (int64_t b = 0; b < totals.size(0); ++b) {
      double total = 0;
      for (int64_t a = 0; a < totals.size(1); ++a)
        total += weight(a) * static_cast<double>(totals[b][a]);
      const torch::Tensor by_entity = observation.mask.by_entity[b];
      const auto counts = by_entity.accessor<int16_t, 2>();
      for (int a = 0; a < counts.size(0); ++a)
        for (int e = 0; e < counts.size(1); ++e)
          for (int i = 0; i < counts[a][e]; ++i) {
            state.push_back(b);
            actions.push_back({a, e, i});
            log_probability.push_back(static_cast<float>(std::log(weight(a) / total)));
          }
    }
    return {torch::tensor(state, torch::kInt64), latent_actions(actions),
            torch::tensor(log_probability), torch::zeros({totals.size(0)})};
  }

 private:
  double weight(int64_t action) const {
    const auto told = weights.find(action);
    return told == weights.end() ? 1 : told->second;
  }
};

/// Chains of the unary world and a policy that knows nothing until it is told.
struct ChainScene {
  ChainScene(std::initializer_list<std::vector<std::string>> operators)
      : graph(testing::chains(operators)) {
    config.env.horizon = 12;
    config.guided.search = PolicySearchKind::kBeam;
    config.guided.gain_weight = 0;
    config.guided.greedy_first = config.guided.finish = false;
    options.budget = 1000;
    const UntrainedWorld world(environment().spec());
    trained = {world.encoder, world.world, policy};
  }

  RewriteEnvironment environment() const {
    return {{{"chains", graph}}, rules(), testing::unary_cost(), config.env};
  }
  RewriteState start() const { return {graph, rules(), testing::unary_cost()}; }

  SearchResult search() {
    return policy_method(trained, rules(), testing::unary_cost(), config)(start(), options);
  }
  SearchResult beam(int64_t width) {
    config.guided.width = width;
    return search();
  }

  Cost optimum() const { return search_rewrites(start(), {}, search::Exhaustive()).best_cost; }
  Cost greedy() const { return search_rewrites(start(), {}, search::Greedy()).best_cost; }

  Graph graph;
  std::shared_ptr<ToldPolicy> policy = std::make_shared<ToldPolicy>();
  TrainedPolicy trained;
  PolicySearchConfig config;
  RewriteSearchOptions options;
};

/// Two gains behind rises, among neutral swaps.
ChainScene hidden_gains() { return {{"Tanh", "Exp"}, {"Tanh", "Exp"}, {"Exp", "Exp"}}; }

/// Expansions of the narrowest beam, doubled from 1, that finds the optimum.
int64_t expansions_of_beam(ChainScene& scene) {
  const Cost optimum = scene.optimum();
  for (int64_t width = 1; width <= 256; width *= 2) {
    const SearchResult result = scene.beam(width);
    if (result.best_cost == optimum) return result.trace.back().expansions;
  }
  return 1000;
}

TEST(PolicyBeamTest, AWideBeamFindsWhatGreedyMisses) {
  ChainScene scene{{"Tanh", "Exp"}, {"Tanh", "Sqrt"}};
  ASSERT_LT(scene.optimum().runtime, scene.greedy().runtime);
  EXPECT_EQ(scene.beam(40).best_cost, scene.optimum());
}

TEST(PolicyBeamTest, AGoodPriorNeedsFewerExpansions) {
  ChainScene scene = hidden_gains();
  const int64_t uniform = expansions_of_beam(scene);
  scene.policy->weights = {{kClimb, 30}, {kLeap, 30}};
  EXPECT_LT(2 * expansions_of_beam(scene), uniform);
}

TEST(PolicyBeamTest, GainsOutweighPriorsAsTheWeightSays) {
  ChainScene scene{{"Sqrt", "Exp"}};  // a shave gains 2 of 12
  scene.policy->weights = {{kThere, 100}};
  scene.options.budget = 1;
  EXPECT_EQ(scene.beam(1).best_cost, scene.start().cost());
  scene.config.guided.gain_weight = 1;
  EXPECT_LT(scene.beam(1).best_cost.runtime, scene.start().cost().runtime);
}

/// "climb" is unlikely at first and "leap" likely after it. Whether its second action alone counts
/// or the whole way decides what is built: of the likely "there" first, then "climb" or "shave", or
/// of "climb" first.
TEST(PolicyBeamTest, RanksWaysByTheProductOfTheirPriors) {
  ChainScene scene{{"Tanh"}, {"Exp"}, {"Sqrt"}};
  scene.policy->weights = {{kThere, 20}, {kBack, 20}, {kClimb, 1}, {kShave, 0.5}, {kLeap, 8}};
  scene.options.budget = 3;
  constexpr int64_t kNanosecond = 1000;
  EXPECT_EQ(scene.start().cost().runtime.count - scene.beam(2).best_cost.runtime.count,
            (6 - 4) * kNanosecond);
}

TEST(PolicyBeamTest, ExpandsEachStateOnceThoughRewritesCommute) {
  ChainScene scene{{"Exp"}, {"Exp"}, {"Exp"}, {"Exp"}};
  scene.config.guided.width = 100;
  const SearchResult result = scene.search();
  EXPECT_EQ(result.expansions, 16);
  EXPECT_GT(result.duplicates, 0);
  EXPECT_EQ(result.stopped_by, StoppedBy::kExhausted);
}

TEST(PolicyBeamTest, GoesAsDeepAsItsHorizonsSay) {
  ChainScene scene{{"Exp"}, {"Exp"}, {"Exp"}, {"Exp"}};
  scene.config.guided.width = 100;
  scene.config.env.horizon = 2;
  EXPECT_LT(scene.search().expansions, 16);
  scene.config.guided.horizons = 10;
  EXPECT_EQ(scene.search().expansions, 16);
}

TEST(PolicyBeamTest, TheBudgetCountsExpansions) {
  for (const int64_t budget : {0, 1, 7, 30}) {
    ChainScene scene = hidden_gains();
    scene.options.budget = budget;
    const SearchResult result = scene.search();
    EXPECT_EQ(result.expansions, budget);
    EXPECT_EQ(result.stopped_by, StoppedBy::kBudget);
  }
}

TEST(PolicyBeamTest, StopsWhenTheTimeIsOver) {
  ChainScene scene = hidden_gains();
  const SearchResult whole = scene.search();
  double now = 0;
  scene.options.clock = [&now] { return now += 0.001; };
  scene.options.time_limit = 0.1;
  const SearchResult cut = scene.search();
  EXPECT_EQ(cut.stopped_by, StoppedBy::kTimeLimit);
  EXPECT_LT(cut.expansions, whole.expansions);
  EXPECT_GT(cut.expansions, 0);
}

TEST(PolicyBeamTest, WeightsStayWithinTheirBound) {
  ChainScene scene{{"Relu", "Sqrt"}};
  constexpr int64_t kNanosecond = 1000;
  EXPECT_EQ(scene.search().best_cost.runtime.count, (1 + 4 + 1) * kNanosecond);
  scene.options.max_weight_growth = 1;
  const SearchResult bounded = scene.search();
  EXPECT_EQ(bounded.best_cost.runtime.count, (5 + 4 + 1) * kNanosecond);
  EXPECT_EQ(bounded.best.weight_bytes(), 0);
}

TEST(PolicyBeamTest, TriesTheLikeliestActionsAlone) {
  ChainScene scene{{"Exp", "Sqrt"}};
  scene.policy->weights = {{kThere, 10}, {kBack, 10}};
  scene.config.guided.actions = 1;
  EXPECT_EQ(scene.search().best_cost, scene.start().cost());
  scene.config.guided.actions = 2;
  EXPECT_EQ(scene.search().best_cost, scene.optimum());
}

TEST(PolicyBeamTest, IsNeverBelowGreedySearch) {
  ChainScene scene{{"Exp", "Sqrt"}, {"Sqrt", "Exp"}};
  scene.policy->weights = {{kThere, 1000}, {kBack, 1000}};
  scene.options.budget = 2;
  scene.config.guided.width = 1;
  EXPECT_EQ(scene.search().best_cost, scene.start().cost());
  scene.config.guided.greedy_first = true;
  EXPECT_EQ(scene.search().best_cost, scene.greedy());
  scene.config.guided.greedy_first = false;
  scene.config.guided.finish = true;
  EXPECT_EQ(scene.search().best_cost, scene.greedy());
}

TEST(PolicyBeamTest, TheHorizonEndsWays) {
  ChainScene scene = hidden_gains();
  scene.config.guided.width = 300;
  scene.config.env.horizon = 3;
  const SearchResult result = scene.search();
  EXPECT_GT(result.best_cost.runtime, scene.optimum().runtime);
  EXPECT_LT(result.best_cost.runtime, scene.greedy().runtime);
  EXPECT_EQ(result.stopped_by, StoppedBy::kExhausted);
}

TEST(PolicyBeamTest, NeitherSeedNorThreadsChangeTheResult) {
  ChainScene scene = hidden_gains();
  scene.options.budget = 40;
  const SearchResult one = scene.search();
  scene.options.seed = 9;
  scene.options.threads = 3;
  const SearchResult two = scene.search();
  EXPECT_EQ(one.rewrites, two.rewrites);
  EXPECT_EQ(one.expansions, two.expansions);
  EXPECT_EQ(one.candidates, two.candidates);
  EXPECT_EQ(one.duplicates, two.duplicates);
}

TEST(PolicyBeamTest, ThePathOfATrainedPolicyLeadsToTheBestGraph) {
  const testing::TinyPolicy tiny;
  const UntrainedWorld world(tiny.spec());
  const std::shared_ptr<Trainer> trainer = make_trainer(world.world->spec(), tiny.config, 1);
  const TrainedPolicy trained{world.encoder, world.world, {trainer, &trainer->policy()}};
  PolicySearchConfig config{tiny.env};
  config.guided.search = PolicySearchKind::kBeam;
  const RewriteState start(tiny.graph, tiny.rules, tiny.cost);
  const SearchResult result = policy_method(trained, tiny.rules, tiny.cost, config)(start, {});
  EXPECT_LE(result.best_cost.runtime,
            search_rewrites(start, {}, search::Greedy()).best_cost.runtime);
  EXPECT_EQ(replay(start, result.rewrites).cost(), result.best_cost);
}

TEST(PolicyBeamTest, APolicyThatOnlyChoosesIsRefused) {
  ChainScene scene = hidden_gains();
  std::vector<std::shared_ptr<Policy>> policies = {std::make_shared<RandomPolicy>()};
  for (const TrainerKind kind : {TrainerKind::kCmaEs, TrainerKind::kReinforce}) {
    TrainerConfig config;
    config.trainer = kind;
    const std::shared_ptr<Trainer> trainer = make_trainer(scene.trained.world->spec(), config, 1);
    policies.emplace_back(trainer, &trainer->policy());
  }
  for (const auto& policy : policies) {
    scene.trained.policy = policy;
    try {
      scene.search();
      ADD_FAILURE() << "no error";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("'" + policy->name() + "' cannot guide"));
    }
  }
}

TEST(PolicyPriorTest, ShowsWhatTheLiveEnvironmentShows) {
  const ChainScene scene = hidden_gains();
  const std::pair<int, int> way[] = {
      {kClimb, 1}, {kThere, 2}, {kLeap, 0}};  // and which of its choices
  const PolicyPrior prior(scene.trained, scene.environment().spec(), 100);
  LiveLatentEnvironment live(scene.environment(), scene.trained.encoder, scene.trained.world, 1);
  LatentObservation expected = live.reset(0);
  EnvironmentProblem state(scene.environment());
  Advice here = prior.look(std::vector<Arrival>{{&state, 0, nullptr, {}}}, nullptr)[0];
  for (int depth = 1; depth <= 3; ++depth) {
    const auto& [primary, n] = way[depth - 1];
    const Move move = state.move(primary, n);
    const Action action = action_of(move);
    live.step(latent_actions({&action, 1}));
    expected = live.observe();
    state.apply(move);
    here = prior.look(std::vector<Arrival>{{&state, depth, here.memory, move}}, nullptr)[0];
    LatentObservation& shown = scene.policy->shown;
    for (size_t i = 0; i < expected.tensors().size(); ++i)
      EXPECT_TRUE(torch::allclose(*expected.tensors()[i], *shown.tensors()[i])) << depth << i;
  }
  EXPECT_GT(expected.h.abs().max().item<double>(), 0);
}

TEST(PolicyPriorTest, RanksActionsGivenThatTheEpisodeGoesOn) {
  const ChainScene scene{{"Sqrt", "Sqrt", "Tanh"}};
  scene.policy->weights = {{kShave, 3}, {kNoOp, 100}};
  const PolicyPrior prior(scene.trained, scene.environment().spec(), 100);
  const EnvironmentProblem state(scene.environment());
  const Advice found = prior.look(std::vector<Arrival>{{&state, 0, nullptr, {}}}, nullptr)[0];
  ASSERT_EQ(found.moves.size(), 3);
  EXPECT_EQ(found.moves[0].move, state.move(kShave, 0));
  EXPECT_EQ(found.moves[1].move, state.move(kShave, 1));
  EXPECT_EQ(found.moves[2].move, state.move(kClimb, 0));
  EXPECT_NEAR(std::exp(found.moves[0].log_prior), 3.0 / 7, 1e-6);
  EXPECT_NEAR(std::exp(found.moves[2].log_prior), 1.0 / 7, 1e-6);
}

}  // namespace
}  // namespace reverie
