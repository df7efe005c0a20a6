#include <gmock/gmock.h>

#include "controller/rounds/dream_step.h"
#include "core/base/files.h"
#include "core/cost/fitted.h"
#include "env/rewrite/rewrite_environment.h"
#include "tests/support/memory_episodes.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/unary_world.h"
#include "tests/support/untrained_world.h"

namespace reverie {
namespace {

/// A prior under which nothing gains.
std::shared_ptr<CostModel> flat_prior() {
  return std::make_shared<testing::OpCost>(std::map<std::string, int64_t>{});
}

/// Fitted to times of whole graphs, as the true costs of the unary world have them.
std::shared_ptr<CostModel> fitted_cost() {
  const std::vector<std::string> operators = {"Tanh", "Sigmoid", "Neg", "Exp",
                                              "Log",  "Sqrt",    "Abs"};
  const auto truth = testing::unary_cost();
  std::vector<TimedGraph> timed;
  for (size_t i = 0; i < operators.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Graph graph = testing::chains({{operators[i]}, {operators[j], operators[j]}});
      const double seconds = graph_cost(*truth, graph).runtime.seconds();
      timed.push_back({count_signatures(graph), seconds, 1e-4 * seconds});
    }
  return fitted_cost(flat_prior(), timed);
}

/// Two gains, each behind a rise, and no step to lose.
std::shared_ptr<Environment> chain_environment(std::shared_ptr<CostModel> cost) {
  RewriteEnvConfig config;
  config.horizon = 4;
  return std::make_shared<RewriteEnvironment>(
      std::vector<StartGraph>{{"chain", testing::chains({{"Tanh", "Exp"}, {"Tanh", "Exp"}})}},
      testing::unary_rules(), std::move(cost), config);
}
constexpr double kBestPercent = 100.0 * (10 - 3) / (10 + 5 + 1);

/// Trains without imitation on an untrained V and M, and is judged by the true costs.
struct ExactDreamScene {
  ExactDreamScene() {
    const auto real = chain_environment(testing::unary_cost());
    data = std::make_unique<MemoryEpisodes>(testing::random_episodes(*real, 20, 1));
    save_checkpoint(directory / "world.pt", testing::UntrainedWorld(real->spec()).checkpoint());
    config.plan.updates = 12;
    config.plan.batch = 32;
    config.plan.validate_every = 4;
    config.clone.share = 0;
    config.validation.sampled = 32;
    config.trainer.policy.width = 16;
    config.trainer.ppo.learning_rate = 1e-2;
    config.trainer.ppo.minibatch = 64;
  }

  TrainingResult train(LearningPlace place, std::shared_ptr<CostModel> cost, bool resume = false) {
    config.environment = place;
    create_directory(directory / "out");
    DreamStepRun run;
    run.world = directory / "world.pt";
    run.training = chain_environment(std::move(cost));
    run.validation = chain_environment(testing::unary_cost());
    run.directory = directory / "out";
    run.resume = resume;
    return run_dream_step(*data, config, run);
  }

  TemporaryDirectory directory;
  std::unique_ptr<MemoryEpisodes> data;
  DreamStepConfig config;
};

/// Half of a score is the mean of sampled episodes.
TEST(ExactDream, TeachesWhatLiveTeaches) {
  const auto score = [](LearningPlace place, std::shared_ptr<CostModel> cost) {
    return ExactDreamScene().train(place, std::move(cost)).best.average;
  };
  EXPECT_GT(score(LearningPlace::kLive, testing::unary_cost()), 0.95 * kBestPercent);
  EXPECT_GT(score(LearningPlace::kGreyBox, fitted_cost()), 0.95 * kBestPercent);
  EXPECT_LT(score(LearningPlace::kGreyBox, flat_prior()), 0.75 * kBestPercent)
      << "nothing to learn";
}

void expect_no_work(const EnvCounters& counters) {
  for (const auto counter : {&EnvCounters::resets, &EnvCounters::steps, &EnvCounters::cost_lookups,
                             &EnvCounters::measurements})
    EXPECT_EQ(counters.*counter, 0);
}

TEST(ExactDream, ItsStepsAreNoRealWorkAndAreCountedApart) {
  ExactDreamScene scene;
  scene.config.plan.updates = scene.config.plan.validate_every = 2;
  const TrainingResult first = scene.train(LearningPlace::kGreyBox, fitted_cost());
  expect_no_work(first.training);
  EXPECT_GE(first.computed_steps, 2 * 32);
  EXPECT_GT(first.validation.steps, 0);
  const auto row = read_metrics(scene.directory / "out/metrics.jsonl").back().values;
  EXPECT_EQ(row.at("computed_steps"), static_cast<double>(first.computed_steps));
  EXPECT_EQ(row.at("training_steps"), 0);
  scene.config.plan.updates = 4;
  const TrainingResult all = scene.train(LearningPlace::kGreyBox, fitted_cost(), true);
  expect_no_work(all.training);
  EXPECT_GE(all.computed_steps, first.computed_steps + 2 * 32);
  EXPECT_EQ(ExactDreamScene().train(LearningPlace::kLive, fitted_cost()).computed_steps, 0);
}

TEST(ExactDream, OtherActionsAreRefused) {
  ExactDreamScene scene;
  Checkpoint other = load_checkpoint(scene.directory / "world.pt", "world");
  std::swap(other.spec.actions[0], other.spec.actions[1]);
  save_checkpoint(scene.directory / "world.pt", other);
  EXPECT_THROW(scene.train(LearningPlace::kGreyBox, fitted_cost()), InputError);
}

}  // namespace
}  // namespace reverie
