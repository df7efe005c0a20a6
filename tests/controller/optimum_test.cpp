#include <gmock/gmock.h>

#include <functional>

#include "controller/rounds/dream_step.h"
#include "core/base/files.h"
#include "datasets/collect.h"
#include "env/toy/knapsack_environment.h"
#include "env/toy/toy_environment.h"
#include "tests/support/temporary_directory.h"
#include "worldmodel/batch/rollout_episodes.h"
#include "worldmodel/encoder/latent_cache.h"
#include "worldmodel/encoder/train_vae.h"
#include "worldmodel/memory/train_mdnrnn.h"

namespace reverie {
namespace {

double value_of(const Metrics& metrics, const std::string& wanted) {
  for (const auto& [name, value] : metrics)
    if (name == wanted) return value;
  ADD_FAILURE() << wanted;
  return 0;
}

struct Effort {
  int episodes = 150;
  int v_epochs = 12;
  int m_epochs = 15;
  int updates = 30;
  uint64_t seed = 3;  ///< of the dream
};

/// All steps on an environment, with models that train in seconds.
class FiveSteps {
 public:
  explicit FiveSteps(std::shared_ptr<Environment> environment, const Effort& effort = {})
      : environment_(std::move(environment)), effort_(effort) {
    torch::set_num_threads(1);  // sums have one order
  }

  /// The policy learns in the dream alone, without imitation.
  TrainingResult run() {
    DreamStepConfig dream;
    dream.plan = {.updates = effort_.updates, .batch = 64, .validate_every = 10};
    dream.trainer.policy.width = 32;
    dream.trainer.ppo.learning_rate = 3e-3;
    dream.trainer.ppo.minibatch = 128;
    return run(dream);
  }
  /// M alone is trained.
  TrainingResult run_planning() {
    DreamStepConfig dream;
    dream.plan.updates = 0;
    dream.trainer.trainer = TrainerKind::kPlan;
    return run(dream);
  }

  /// What the greedy episodes of the untrained policy gain.
  double before() const {
    return read_metrics(directory_ / "metrics.jsonl").front().values.at("real/greedy_improvement");
  }

 private:
  TrainingResult run(DreamStepConfig dream) {
    dream.seed = effort_.seed;
    const RolloutEpisodes data = collected();
    train_v(data);
    train_m(data);
    dream.clone.share = 0;
    dream.validation.sampled = 1;
    dream.validation.dreams = 0;
    DreamStepRun run;
    run.world = directory_ / "world.pt";
    run.validation = environment_;
    run.directory = directory_.path();
    return run_dream_step(data, dream, run);
  }
  RolloutEpisodes collected() const {
    CollectConfig config;
    config.agent = "random";
    config.episodes = effort_.episodes;
    const CollectRun run{.directory = directory_ / "rollouts", .seed = 1, .config = ""};
    create_directory(run.directory);
    collect(*environment_, *make_collect_agent(config), config, run);
    return RolloutEpisodes(Rollouts::open(run.directory));
  }
  void train_v(const EpisodeSource& data) const {
    TrainVaeConfig vae;
    vae.encoder.latent = 12;
    vae.encoder.width = 24;
    vae.encoder.blocks = 2;
    vae.minibatch_graphs = 32;
    vae.fit.epochs = effort_.v_epochs;
    train_vae(data, vae, 5, directory_.path(), false, torch::kCPU, {});
  }
  void train_m(const EpisodeSource& data) const {
    TrainMdnRnnConfig mdn;
    mdn.model.hidden = 48;
    mdn.model.mixtures = 3;
    mdn.loss.unroll_steps = 4;
    mdn.minibatch_episodes = 8;
    mdn.fit.epochs = effort_.m_epochs;
    mdn.fit.learning_rate = 4e-3;
    const auto v = load_encoder(load_checkpoint(directory_ / "encoder.pt", "encoder"));
    const LatentEpisodes episodes(data, encode_states(data, *v));
    train_mdnrnn(episodes, *v, mdn, 5, directory_.path(), false, torch::kCPU, {});
  }

  std::shared_ptr<Environment> environment_;
  Effort effort_;
  TemporaryDirectory directory_;
};

/// Mean over the start states of what `optimum` of each gains over it, in percent.
double optimum_of(Environment& environment, const std::function<double(int)>& optimum) {
  const EnvSpec& spec = environment.spec();
  double sum = 0;
  for (int start = 0; start < spec.start_states(); ++start) {
    environment.reset(static_cast<uint64_t>(start));
    sum += spec.improvement_percent(environment.info().objective(spec), optimum(start));
  }
  return sum / spec.start_states();
}

class OptimumTest : public ::testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(, OptimumTest, ::testing::Bool(), [](const auto& entities) {
  return entities.param ? "Entities" : "OneEntity";
});

TEST_P(OptimumTest, DreamsTeachTheOptimumOfTheToyThatGreedyMisses) {
  const auto toy = std::make_shared<ToyEnvironment>(ToyConfig{3, 4, 18, GetParam()});
  const double optimum = optimum_of(*toy, [&](int start) { return toy->optimal_cost(start); });
  FiveSteps steps(toy);
  const TrainingResult result = steps.run();
  EXPECT_EQ(result.training.steps, 0);
  EXPECT_LT(steps.before(), optimum - 1);
  EXPECT_NEAR(value_of(result.best_metrics, "greedy_improvement"), optimum, 1e-6);
}

// Of one entity (39.5 %), plans with this M reach 36.2 %, with 512 sequences as with 4,096.
TEST(PlanOptimumTest, PlanningWithMFindsTheOptimumOfTheToyOfEntities) {
  const auto toy = std::make_shared<ToyEnvironment>(ToyConfig{3, 4, 18, true});
  const double optimum = optimum_of(*toy, [&](int start) { return toy->optimal_cost(start); });
  const TrainingResult result = FiveSteps(toy).run_planning();
  EXPECT_NEAR(value_of(result.best_metrics, "greedy_improvement"), optimum, 1e-6);
}

// V meets few states here, so its defaults are few steps. The bags can hold 358 %. The untrained
// policy fills them to 0 to 50 %, the trained one to 283 to 317 %, over five seeds, with AVX2 and
// AVX-512, with which LibTorch rounds differently. Seed 3 begins at 317 %, and ends at 358 % with
// AVX2 alone.
TEST(KnapsackOptimumTest, DreamsFillBothKnapsacksThatTheUntrainedPolicyLeavesEmpty) {
  const auto knapsack =
      std::make_shared<KnapsackEnvironment>(KnapsackConfig{.items = 5, .start_states = 2});
  const double optimum =
      optimum_of(*knapsack, [&](int start) { return knapsack->optimal_value(start); });
  FiveSteps steps(knapsack,
                  {.episodes = 300, .v_epochs = 300, .m_epochs = 100, .updates = 60, .seed = 1});
  const TrainingResult result = steps.run();
  EXPECT_EQ(result.training.steps, 0);
  const double reached = value_of(result.best_metrics, "greedy_improvement");
  EXPECT_GT(reached, 0.75 * optimum);
  EXPECT_LE(reached, optimum + 1e-6);
  EXPECT_LT(steps.before(), 0.25 * optimum);
}

}  // namespace
}  // namespace reverie
