#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controller/rounds/dream_step.h"
#include "controller/train/trained_policy.h"
#include "core/base/files.h"
#include "env/toy/toy_environment.h"
#include "tests/support/latent_puzzle.h"
#include "tests/support/memory_episodes.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/untrained_world.h"
#include "worldmodel/latent/live.h"

namespace reverie {
namespace {

using testing::UntrainedWorld;

/// An untrained world model of a toy on disk, with episodes of that toy.
struct DreamScene {
  DreamScene() : toy(std::make_shared<ToyEnvironment>(ToyConfig{2, 4, 8})), world(toy->spec()) {
    ToyEnvironment source(ToyConfig{2, 4, 8});
    data = std::make_unique<MemoryEpisodes>(testing::random_episodes(source, 20, 1));
    save_checkpoint(directory / "world.pt", world.checkpoint());
    config.plan.updates = 4;
    config.plan.batch = 16;
    config.plan.validate_every = 2;
    config.trainer.policy.width = 16;
    config.validation.dreams = 4;
    config.validation.sampled = 1;
  }

  TrainingResult train(const std::string& out, bool resume = false,
                       const std::string& policy = "") {
    create_directory(directory / out);
    DreamStepRun run;
    run.world = directory / "world.pt";
    run.policy = policy;
    run.training = toy;
    run.validation = toy;
    run.directory = directory / out;
    run.resume = resume;
    return run_dream_step(*data, config, run);
  }

  /// What `train` is refused for; "" where it is not.
  std::string refusal(const std::string& out, const std::string& policy = "") {
    try {
      train(out, false, policy);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  /// With a network M of its own that believes in no end.
  Checkpoint endless() const {
    Checkpoint checkpoint = world.checkpoint();
    MdnRnn network(world.config, world.world->spec(), load_entity_pool(checkpoint));
    torch::NoGradGuard guard;
    network->head->bias[network->columns()[0] + network->columns()[1]] = -20;
    MdnWorldModel(network).store(checkpoint);
    return checkpoint;
  }

  TemporaryDirectory directory;
  std::shared_ptr<ToyEnvironment> toy;
  UntrainedWorld world;
  std::unique_ptr<MemoryEpisodes> data;
  DreamStepConfig config;
};

TEST(DreamTrainTest, TheDreamMakesNoCallToTheRealEnvironment) {
  DreamScene scene;
  const TrainingResult result = scene.train("dream");
  for (const auto counter : {&EnvCounters::resets, &EnvCounters::steps, &EnvCounters::cost_lookups,
                             &EnvCounters::measurements})
    EXPECT_EQ(result.training.*counter, 0);
  EXPECT_GT(result.validation.steps, 0);
}

TEST(DreamTrainTest, LiveTrainingCountsItsRealWork) {
  DreamScene scene;
  scene.config.environment = LearningPlace::kLive;
  const TrainingResult result = scene.train("live");
  EXPECT_EQ(result.training.resets, 4 * 16);
  EXPECT_GT(result.training.steps, 4 * 16);
}

TEST(DreamTrainTest, ThePolicyFileHoldsEverythingToAct) {
  DreamScene scene;
  scene.config.dream.depth = 0;
  scene.config.validation.sampled = 0;  // the greedy episodes alone make the score
  for (const TrainerKind kind : {TrainerKind::kPpo, TrainerKind::kCmaEs}) {
    scene.config.trainer.trainer = kind;
    scene.config.trainer.cmaes.population = 8;
    const std::string out = kind == TrainerKind::kPpo ? "ppo" : "cmaes";
    scene.train(out);
    const Checkpoint file = load_checkpoint(scene.directory / (out + "/policy.pt"), "policy");
    const auto encoder = load_encoder(file);
    const auto world = load_world_model(file);
    const auto policy = load_policy(file, world);
    Rng rng(1);
    EnvCounters counters;
    const RealEpisodes played =
        play_for_real(*scene.toy, encoder, world, *policy, true, 1, false, rng, counters);
    EXPECT_NEAR(played.improvement.mean, file.scores.at("real_score"), 1e-9) << out;
    EXPECT_EQ(file.scores.at("real_found"), file.scores.at("real_score")) << out;
  }
}

TEST(DreamTrainTest, APlanningPolicyIsWrittenWithoutUpdatesAndPlaysAsItWasValidated) {
  DreamScene scene;
  scene.config.trainer.trainer = TrainerKind::kPlan;
  scene.config.trainer.plan.sequences = 16;
  EXPECT_THAT(scene.refusal("plan"), ::testing::HasSubstr("set dream.updates=0"));
  scene.config.plan.updates = 0;
  scene.config.environment = LearningPlace::kLive;
  const TrainingResult result = scene.train("plan");
  EXPECT_EQ(result.training.steps, 0);
  const std::string file = scene.directory / "plan/policy.pt";
  const TrainedPolicy loaded = load_trained_policy(file);
  Rng rng(1);
  EnvCounters counters;
  const RealEpisodes played = play_for_real(*scene.toy, loaded.encoder, loaded.world,
                                            *loaded.policy, true, 1, false, rng, counters);
  EXPECT_NEAR(played.mean_return, result.best_metrics[1].second, 1e-6);
  EXPECT_EQ(result.best_metrics[1].first, "greedy_return");
  const std::string bytes = read_file(file);
  scene.train("plan", true);
  EXPECT_TRUE(read_file(file) == bytes);
}

TEST(DreamTrainTest, OfSeveralPoliciesTheBestValidatedIsKept) {
  DreamScene scene;
  const TrainingResult one = scene.train("one");
  scene.config.policies = 3;
  const TrainingResult result = scene.train("three");
  const auto file = [&](const std::string& name) {
    return load_checkpoint(scene.directory / ("three/" + name), "policy");
  };
  const auto score_of = [](const Checkpoint& policy) {
    return ValidationScore{policy.scores.at("real_found"), policy.scores.at("real_score")};
  };
  int best = 1;
  for (int k : {2, 3}) {
    const auto earlier = score_of(file(fmt::format("policy-{}/policy.pt", best)));
    if (score_of(file(fmt::format("policy-{}/policy.pt", k))).above(earlier)) best = k;
  }
  ASSERT_NE(best, 1) << "a later policy must be better, or nothing tells it from the first";
  const auto bytes = [&](const std::string& name) {
    return read_file(scene.directory / ("three/" + name));
  };
  for (const std::string name : {"policy.pt", "last.pt"})
    EXPECT_EQ(bytes(name), bytes(fmt::format("policy-{}/{}", best, name)));
  EXPECT_EQ(score_of(file("policy-1/policy.pt")).found, one.best.found);
  EXPECT_EQ(score_of(file("policy-1/policy.pt")).average, one.best.average);
  EXPECT_NE(bytes("policy-2/last.pt"), bytes("policy-3/last.pt"));
  EXPECT_EQ(result.best.found, score_of(file("policy.pt")).found);
  EXPECT_EQ(result.best_update, 4 * (best - 1) + file("policy.pt").counters.at("update"));
  EXPECT_EQ(result.updates, 12);

  std::vector<int64_t> validated;
  MetricsRow last;
  for (const MetricsRow& row : read_metrics(scene.directory / "three/metrics.jsonl")) {
    if (!row.values.contains("real/score")) continue;
    validated.push_back(row.step);
    EXPECT_EQ(row.values.at("policy"), row.step <= 4 ? 1 : row.step <= 8 ? 2 : 3);
    last = row;
  }
  EXPECT_THAT(validated, ::testing::ElementsAre(0, 2, 4, 6, 8, 10, 12));
  EXPECT_EQ(last.values.at("validation_steps"), result.validation.steps);

  const std::string kept = bytes("policy.pt");
  const TrainingResult again = scene.train("three", true);
  EXPECT_EQ(bytes("policy.pt"), kept);
  EXPECT_EQ(again.validation.steps, result.validation.steps);
  EXPECT_EQ(again.best_update, result.best_update);
}

TEST(DreamTrainTest, PoliciesHaveTheirDiscountsInTurn) {
  DreamScene scene;
  scene.config.plan.updates = 1;
  scene.config.discounts = {0.5, 0.25};
  EXPECT_THROW(scene.train("one"), InputError);
  scene.config.policies = 3;
  scene.train("three");
  for (const auto& [policy, discount] : {std::pair{1, 0.5}, {2, 0.25}, {3, 0.5}}) {
    const Checkpoint file = load_checkpoint(
        fmt::format("{}/three/policy-{}/policy.pt", scene.directory.path(), policy), "policy");
    TrainerConfig trained;
    ConfigFields(trained).load_text(file.configs.at("controller"), "policy");
    EXPECT_EQ(trained.ppo.gamma, discount);
  }
  scene.config.trainer.ppo.gamma = 0.25;
  scene.config.discounts = {0.5};
  scene.config.policies = 1;
  scene.train("half");
  scene.config.trainer.ppo.gamma = 0.5;
  scene.config.discounts = {};
  scene.train("same");
  const auto rows = [&](const std::string& out) {
    return read_metrics(scene.directory / (out + "/metrics.jsonl"));
  };
  ASSERT_EQ(rows("half").size(), 2u);
  EXPECT_EQ(rows("half").back().values, rows("same").back().values);
  scene.config.discounts = {0.5};
  scene.config.dream.depth = 0;
  scene.config.trainer.trainer = TrainerKind::kReinforce;
  EXPECT_THROW(scene.train("other"), InputError);
}

TEST(DreamTrainTest, DreamsThatEndEarlyNeedACritic) {
  DreamScene scene;
  scene.config.plan.updates = 1;
  scene.config.trainer.cmaes.population = 8;
  for (const TrainerKind kind : {TrainerKind::kCmaEs, TrainerKind::kReinforce}) {
    scene.config.trainer.trainer = kind;
    scene.config.dream = {.depth = 3};
    EXPECT_THAT(scene.refusal("cut"), ::testing::HasSubstr("dream.depth 3 ends dreams early"));
    scene.config.dream = {.depth = 0};
    EXPECT_EQ(scene.refusal("whole"), "");
    scene.config.environment = LearningPlace::kLive;
    scene.config.dream = {.depth = 3};
    EXPECT_EQ(scene.refusal("live"), "") << "where nothing is dreamt";
    scene.config.environment = LearningPlace::kDream;
  }
}

TEST(DreamTrainTest, ABatchThatAPopulationCannotShareIsRefusedBeforeTheWork) {
  DreamScene scene;
  scene.config.dream.depth = 0;
  scene.config.trainer.trainer = TrainerKind::kCmaEs;
  scene.config.trainer.cmaes.population = 12;
  EXPECT_THAT(scene.refusal("uneven"), ::testing::HasSubstr("such as dream.batch=24"));
  EXPECT_FALSE(file_exists(scene.directory / "uneven/metrics.jsonl"));
}

TEST(DreamTrainTest, TheImitationIsValidatedWhereItShall) {
  DreamScene scene;
  const auto validated = [&](const std::string& out) {
    return read_metrics(scene.directory / (out + "/metrics.jsonl"))
        .front()
        .values.contains("real/score");
  };
  scene.train("always");
  EXPECT_TRUE(validated("always"));
  scene.config.plan.validate_start = false;
  scene.train("later");
  EXPECT_FALSE(validated("later"));
  scene.config.plan.updates = 0;
  scene.train("alone");
  EXPECT_TRUE(validated("alone"));
}

TEST(DreamTrainTest, AWorldModelOfOtherActionsIsRefused) {
  DreamScene scene;
  Checkpoint other = scene.world.checkpoint();
  std::swap(other.spec.actions[0], other.spec.actions[1]);
  save_checkpoint(scene.directory / "world.pt", other);
  EXPECT_THROW(scene.train("new"), InputError);
}

TEST(DreamTrainTest, DreamsEndAtTheHorizonOfTheRolloutsWhateverThatWasForM) {
  DreamScene scene;
  scene.config.dream.depth = 0;
  scene.train("same");
  Checkpoint other = scene.world.checkpoint();
  other.spec.horizon += 5;
  save_checkpoint(scene.directory / "world.pt", other);
  scene.train("other");
  const auto bytes = [&](const std::string& file) { return read_file(scene.directory / file); };
  for (const std::string name : {"policy.pt", "metrics.jsonl"})
    EXPECT_TRUE(bytes("same/" + name) == bytes("other/" + name)) << name;
}

TEST(DreamTrainTest, APolicyOfAnotherTrainerOrThatSeesOtherThingsIsRefused) {
  DreamScene scene;
  scene.config.plan.updates = 0;
  scene.config.dream.depth = 0;
  scene.config.trainer.policy.see_h = false;
  scene.train("from");
  const std::string policy = scene.directory / "from/policy.pt";
  scene.config.trainer.ppo.gamma = 0.5;
  scene.config.trainer.ppo.learning_rate = 1e-4;
  EXPECT_EQ(scene.refusal("on", policy), "") << "on these no weight depends";
  scene.config.trainer.trainer = TrainerKind::kReinforce;
  EXPECT_THAT(
      scene.refusal("on", policy),
      ::testing::HasSubstr("from/policy.pt: trained with dream.trainer=ppo, not reinforce"));
  scene.config.trainer.trainer = TrainerKind::kPpo;
  scene.config.trainer.policy.see_h = true;
  EXPECT_THAT(scene.refusal("on", policy), ::testing::HasSubstr("set dream.policy.see_h=false"));
  Checkpoint silent = load_checkpoint(policy, "policy");
  silent.configs.erase("controller");
  save_checkpoint(policy, silent);
  EXPECT_EQ(scene.refusal("on", policy), "") << "it does not say";
}

TEST(DreamTrainTest, APlanIsGuidedByAPolicyOfPpoAndKeepsIt) {
  DreamScene scene;
  scene.train("ppo");
  const std::string guide = scene.directory / "ppo/policy.pt";
  scene.config.plan.updates = 0;
  scene.config.trainer.trainer = TrainerKind::kPlan;
  scene.config.trainer.plan = {.sequences = 8, .depth = 2};
  scene.train("alone");
  scene.train("guided", false, guide);
  scene.train("again", false, scene.directory / "guided/policy.pt");
  const auto tensors = [&](const std::string& name) {
    return load_checkpoint(scene.directory / (name + "/policy.pt"), "policy").tensors;
  };
  EXPECT_FALSE(tensors("alone").contains("policy.critic.0.weight"));
  for (const auto& [name, tensor] : tensors("ppo")) {
    EXPECT_TRUE(tensor.equal(tensors("guided").at(name))) << name;
    EXPECT_TRUE(tensor.equal(tensors("again").at(name))) << name;
  }
  const auto values = [&](const std::string& name) {
    const auto policy = load_policy(
        load_checkpoint(scene.directory / (name + "/policy.pt"), "policy"), scene.world.world);
    LiveLatentEnvironment live(*scene.toy, scene.world.encoder, scene.world.world, 1);
    Rng rng(1);
    return policy->act(live.reset(1), true, rng).value.item<float>();
  };
  EXPECT_NE(values("guided"), values("alone")) << "it would not ask its guide";
  EXPECT_EQ(values("guided"), values("again"));
  scene.config.trainer.trainer = TrainerKind::kPpo;
  EXPECT_THAT(scene.refusal("on", scene.directory / "guided/policy.pt"),
              ::testing::HasSubstr("trained with dream.trainer=plan, not ppo"));
}

TEST(DreamTrainTest, ARunIsResumedOnTheSameWorldModelAndFromTheSamePolicyAlone) {
  DreamScene scene;
  scene.train("run");
  scene.train("from", false, scene.directory / "run/policy.pt");
  EXPECT_NO_THROW(scene.train("run", true));
  EXPECT_NO_THROW(scene.train("from", true, scene.directory / "run/policy.pt"));
  EXPECT_THROW(scene.train("from", true, scene.directory / "from/last.pt"), InputError);
  torch::manual_seed(9);
  save_checkpoint(scene.directory / "world.pt", scene.endless());  // of the same data
  EXPECT_THROW(scene.train("run", true), InputError);
}

TEST(DreamTrainTest, APolicyToGoOnFromPlaysAlikeUnderAnySeed) {
  DreamScene scene;
  scene.config.dream.depth = 0;
  scene.config.validation.sampled = 0;
  for (const TrainerKind kind :
       {TrainerKind::kPpo, TrainerKind::kCmaEs, TrainerKind::kReinforce, TrainerKind::kDqn}) {
    scene.config.trainer.trainer = kind;
    scene.config.trainer.cmaes.population = 8;
    const std::string out(enum_names(TrainerKind{})[static_cast<size_t>(kind)].second);
    scene.config.plan.updates = 4;
    scene.train(out);
    scene.config.plan.updates = 0;
    const std::string last = scene.directory / (out + "/last.pt");
    std::vector<double> returns;
    for (const uint64_t seed : {0, 1, 2}) {
      scene.config.seed = seed;
      for (const auto& [name, value] :
           scene.train(fmt::format("{}-{}", out, seed), false, last).best_metrics)
        if (name == "greedy_return") returns.push_back(value);
    }
    EXPECT_THAT(returns, ::testing::ElementsAre(returns[0], returns[0], returns[0])) << out;
    EXPECT_EQ(load_checkpoint(scene.directory / (out + "-2/policy.pt"), "policy")
                  .counters.at("policy_seed"),
              0)
        << "parts that do not learn are drawn with it";
    scene.config.seed = 0;
  }
}

TEST(WorthTest, WhatIsFoundDecidesAndOfTheSameTheScore) {
  const ValidationScore plain{30, 20};
  EXPECT_TRUE((ValidationScore{31, 10}.above(plain)));
  EXPECT_FALSE((ValidationScore{29, 29}.above(plain)));
  EXPECT_TRUE((ValidationScore{30 - ValidationScore::kSameFound / 2, 21}.above(plain)));
  EXPECT_FALSE((ValidationScore{30 + ValidationScore::kSameFound / 2, 19}.above(plain)));
  EXPECT_FALSE(plain.above(plain));
  EXPECT_TRUE((ValidationScore{-5, -9}.above({}))) << "whatever its score, the first is kept";
}

TEST(WorthTest, NoisyOutcomesAreComparedInPairsByTheirLowerBound) {
  const ValidationScore before{20, 20, {10, 20, 30, 20, 20}};
  EXPECT_TRUE((ValidationScore{21, 21, {11, 21, 31, 21, 21}}.above(before)))
      << "by as much on every job, however jobs differ";
  EXPECT_FALSE((ValidationScore{24, 24, {40, 20, 30, 10, 20}}.above(before)))
      << "much on one job: luck";
  EXPECT_FALSE(before.above(before));
  EXPECT_FALSE((before.above({21, 21, {11, 21, 31, 21, 21}})));
  EXPECT_TRUE(before.above({})) << "whatever its score, the first is kept";
}

/// Knows the puzzle's answer after `updates` validations.
TEST(TrainPolicyTest, KeepsTheBestByTheJudge) {
  TemporaryDirectory directory;
  LatentPuzzle puzzle(16, 2, 8);
  const std::vector<ValidationScore> scores = {{1, 1, {1, 0}}, {3, 0.5, {3, 2}}, {2, 2, {9, -8}}};
  int64_t work = 0;
  PolicyJudge judge{[&](Policy&, int64_t update) {
                      work += 10;
                      return Validation{scores.at(static_cast<size_t>(update / 2)), {{"x", 7}}};
                    },
                    [&] {
                      EnvCounters counters;
                      counters.steps = work;
                      return counters;
                    }};
  TrainingRun run;
  run.plan.updates = 4;
  run.plan.validate_every = 2;
  run.trainer.policy.width = 8;
  run.base.spec = ToyEnvironment(ToyConfig{}).spec();
  run.directory = directory.path();
  run.seconds_before = 1000;
  const TrainingResult result = train_policy(puzzle, judge, run);
  EXPECT_GT(result.seconds, 1000) << "what went before counts";
  EXPECT_EQ(result.best_update, 2);
  EXPECT_EQ(result.validation.steps, 30);
  EXPECT_EQ(load_checkpoint(directory / "policy.pt", "policy").counters.at("update"), 2);
  const auto rows = read_metrics(directory / "metrics.jsonl");
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[2].values.at("real/x"), 7);
  EXPECT_EQ(rows[2].values.at("real/found"), 3);
  EXPECT_EQ(rows[2].values.at("real/score"), 0.5);
  EXPECT_EQ(rows[4].values.at("validation_steps"), 30);
  run.resume = true;
  run.seconds_before = 5;
  const TrainingResult resumed = train_policy(puzzle, judge, run);
  EXPECT_GT(resumed.seconds, 1000) << "and was kept";
  EXPECT_EQ(resumed.best_metrics, result.best_metrics);
  for (const TrainingResult& each : {result, resumed}) {
    EXPECT_EQ(each.best.found, 3);
    EXPECT_EQ(each.best.average, 0.5);
    EXPECT_EQ(each.best.repeats, scores[1].repeats);
    EXPECT_EQ(each.last.found, 2);
    EXPECT_EQ(each.last.repeats, scores[2].repeats);
  }
  EXPECT_TRUE(rows[3].values.contains("charts/return"));
}

}  // namespace
}  // namespace reverie
