#include <gmock/gmock.h>

#include <algorithm>

#include "controller/rounds/dream_step.h"
#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/metrics.h"
#include "env/adapt/adapt_environment.h"
#include "tests/env/adapt/tables.h"
#include "tests/support/memory_episodes.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/untrained_world.h"

namespace reverie {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<Environment> job() {
  std::vector<AdaptStart> starts;
  const testing::MadeUpTraining training{.decisions = 3, .runs = 2, .scenario = "long"};
  starts.push_back({table_source(testing::made_up_table(training)), 3});
  return std::make_shared<AdaptEnvironment>(std::move(starts), AdaptReward::kAccuracy);
}

/// The most that an episode can earn from where the environment stands, NO-OP left out.
double best_return(const Environment& environment) {
  double best = -1e9;
  const ActionMask mask = environment.mask();
  for (int primary = 0; primary < environment.spec().no_op(); ++primary)
    for (int n = 0; n < mask.total(primary); ++n) {
      const auto next = environment.fork();
      const StepResult result = next->step(mask.choice(primary, n));
      best = std::max(best, result.reward + (result.terminated ? 0 : best_return(*next)));
    }
  return best;
}

/// Trains on an untrained V and an M that knows outcomes alone.
struct GreyBoxScene {
  GreyBoxScene() : data(testing::random_episodes(*job(), 60, 1)) {
    Checkpoint world = testing::UntrainedWorld(data.spec()).checkpoint();
    OutcomeConfig outcome;  // the table has little noise
    outcome.steps = 300;
    outcome.weight_decay = 0.1;
    world.configs["outcome"] = dump_config(outcome);
    store_module(world, "outcome", *train_outcome(data, outcome, 1));
    save_checkpoint(directory / "world.pt", world);
    config.environment = LearningPlace::kGreyBox;
    config.plan.updates = 60;
    config.plan.batch = 64;
    config.plan.validate_every = 20;
    config.clone.share = 0;
    config.validation.sampled = 0;
    config.trainer.policy.width = 16;
    config.trainer.policy.head.no_op_logit = -10;  // NO-OP shows nothing of where it leads
    config.trainer.ppo.learning_rate = 1e-2;
    config.trainer.ppo.gamma = 1;
    config.trainer.ppo.minibatch = 64;
    config.trainer.ppo.entropy = 0.1;
  }

  TrainingResult train() {
    create_directory(directory / "out");
    DreamStepRun run;
    run.world = directory / "world.pt";
    run.training = job();
    run.validation = job();
    run.directory = directory / "out";
    return run_dream_step(data, config, run);
  }

  TemporaryDirectory directory;
  MemoryEpisodes data;
  DreamStepConfig config;
};

TEST(GreyBoxStep, LearnsWhatGainsWithoutRealWork) {
  GreyBoxScene scene;
  const auto environment = job();
  environment->reset(0);
  const double best = best_return(*environment);
  const TrainingResult result = scene.train();
  EXPECT_EQ(result.training.steps, 0);
  EXPECT_EQ(result.training.resets, 0);
  const auto row = read_metrics(scene.directory / "out/metrics.jsonl").back().values;
  double random = 0;
  for (const Episode& episode : scene.data.episodes()) random += episode.steps.back().reward;
  random /= static_cast<double>(scene.data.episodes().size());
  EXPECT_GT(row.at("real/greedy_return"), (best + random) / 2) << random << " to " << best;
  EXPECT_EQ(row.at("real/invalid_action_rate"), 0) << "masks are known";
  EXPECT_LT(std::abs(row.at("real/return_gap")), 0.2 * best);
}

TEST(GreyBoxStep, ADreamThatIsCutShortIsRefusedWhereRewardsComeAtTheEnd) {
  GreyBoxScene scene;
  scene.config.environment = LearningPlace::kDream;
  scene.config.dream.depth = 2;
  try {
    scene.train();
    ADD_FAILURE() << "not refused";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("set dream.depth=0"));
  }
  scene.config.dream.depth = 3;
  scene.config.plan.updates = 1;
  EXPECT_NO_THROW(scene.train());
}

}  // namespace
}  // namespace reverie
