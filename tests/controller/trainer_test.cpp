#include "controller/train/trainer.h"

#include <gmock/gmock.h>

#include "controller/train/dqn.h"
#include "controller/train/linear_policy.h"
#include "controller/train/ppo.h"
#include "controller/train/reinforce.h"
#include "tests/support/latent_puzzle.h"

namespace reverie {
namespace {

constexpr int kRounds = 2, kHorizon = 8;

struct TrainerCase {
  std::string name;
  std::function<std::unique_ptr<Trainer>(const LatentSpec&, uint64_t seed)> make;
  int updates;
  int batch = 64;
  friend void PrintTo(const TrainerCase& value, std::ostream* out) { *out << value.name; }
};

PpoConfig quick_ppo() {
  PpoConfig config;
  config.learning_rate = 3e-3;
  config.minibatch = 128;
  config.entropy = 0.2;
  config.final_entropy = 0.01;
  return config;
}

ActorCriticConfig small_net() {
  ActorCriticConfig config;
  config.width = 32;
  return config;
}

std::unique_ptr<Trainer> make_ppo(const LatentSpec& spec, uint64_t seed) {
  return std::make_unique<PpoTrainer>(spec, small_net(), quick_ppo(), seed);
}

std::unique_ptr<Trainer> make_reinforce(const LatentSpec& spec, uint64_t seed) {
  ReinforceConfig config;
  config.learning_rate = 1e-2;
  config.entropy = 0.1;
  return std::make_unique<ReinforceTrainer>(spec, small_net(), config, seed);
}

std::unique_ptr<Trainer> make_cmaes(const LatentSpec& spec, uint64_t seed) {
  CmaEsConfig config;
  config.population = 256;  // with 64 six seeds of 16 end in the optimum of not paying first
  config.sigma = 2.0;
  config.greedy = true;
  return std::make_unique<CmaEsTrainer>(spec, config, seed);
}

std::unique_ptr<Trainer> make_dqn(const LatentSpec& spec, uint64_t seed) {
  return std::make_unique<DqnTrainer>(spec, small_net(), DqnConfig{}, seed);
}

class TrainerTest : public ::testing::TestWithParam<TrainerCase> {};

TEST_P(TrainerTest, SolvesThePuzzleFromEverySeed) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    LatentPuzzle puzzle(GetParam().batch, kRounds, kHorizon);
    const auto trainer = GetParam().make(puzzle.spec(), seed);
    for (int update = 0; update < GetParam().updates; ++update)
      trainer->update(puzzle, static_cast<double>(update) / GetParam().updates,
                      seed * 1000 + static_cast<uint64_t>(update));
    Rng rng(1);
    const Rollout rollout = play(puzzle, trainer->policy(), true, 1, rng);
    EXPECT_FLOAT_EQ(rollout.returns().mean().item<float>(), LatentPuzzle::best_return(kRounds))
        << "seed " << seed;
  }
}

TEST(CmaEsTrainerTest, GoesOnFromAPolicy) {
  LatentPuzzle puzzle(16, kRounds, kHorizon);
  CmaEsConfig config;
  config.population = 8;
  CmaEsTrainer first(puzzle.spec(), config, 1);
  for (uint64_t update = 0; update < 3; ++update) first.update(puzzle, 0, update);
  Checkpoint policy, later;
  first.store_policy(policy);
  config.sigma = 1e-6;
  CmaEsTrainer next(puzzle.spec(), config, 1);
  next.restore_policy(policy);
  next.update(puzzle, 0, 3);
  next.store_policy(later);
  const auto before = stored_tensor(policy, "policy.mean"),
             after = stored_tensor(later, "policy.mean");
  EXPECT_GT(before.norm().item<double>(), 0.1);
  EXPECT_LT((after - before).norm().item<double>(), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(All, TrainerTest,
                         ::testing::Values(TrainerCase{"ppo", make_ppo, 40},
                                           TrainerCase{"reinforce", make_reinforce, 120},
                                           TrainerCase{"cmaes", make_cmaes, 40, 256},
                                           TrainerCase{"dqn", make_dqn, 40, 8}),
                         [](const auto& info) { return info.param.name; });

TEST(RandomPolicyTest, MissesTheOptimumAndTakesNoOpOnlyAtTheEnd) {
  LatentPuzzle puzzle(256, kRounds, kHorizon);
  RandomPolicy policy;
  Rng rng(5);
  const Rollout rollout = play(puzzle, policy, false, 1, rng);
  EXPECT_LT(rollout.returns().mean().item<double>(), 1);
  const auto others = (rollout.observation.mask.totals.narrow(2, 0, 3) > 0).any(2);
  EXPECT_FALSE((rollout.alive & others & (rollout.actions.primary == 3)).any().item<bool>());
}

TEST(PpoTest, RatioIsOneBeforeTheFirstStep) {
  LatentPuzzle puzzle(64, kRounds, kHorizon);
  PpoTrainer trainer(puzzle.spec(), small_net(), quick_ppo(), 4);
  int seen = 0;
  for (uint64_t update = 0; update < 5; ++update)
    for (const auto& [name, value] : trainer.update(puzzle, 0, update))
      if (name == "losses/first_ratio_error") {
        EXPECT_LT(value, 2e-6);
        ++seen;
      }
  EXPECT_EQ(seen, 5);
}

Rollout three_steps(bool truncated) {
  Rollout rollout;
  rollout.reward = torch::tensor({1.0f, 2.0f, 4.0f}).view({3, 1});
  const auto end = torch::tensor({false, false, true}).view({3, 1});
  const auto never = torch::zeros_like(end);
  rollout.terminated = truncated ? never : end;
  rollout.truncated = truncated ? end : never;
  rollout.alive = torch::ones_like(end);
  rollout.last.to_go = torch::full({1}, 0.5f);
  return rollout;
}

TEST(AdvantageTest, TruncatedIsBootstrappedTerminatedIsNot) {
  const auto value = torch::tensor({10.0f, 20.0f, 30.0f}).view({3, 1});
  const auto last = torch::tensor({100.0f});
  const double gamma = 0.5, lambda = 0.25;
  for (const bool truncated : {false, true}) {
    const auto advantage =
        generalized_advantage(three_steps(truncated), value, last, gamma, lambda);
    const double d2 = 4 + (truncated ? gamma * 100 : 0) - 30, d1 = 2 + gamma * 30 - 20,
                 d0 = 1 + gamma * 20 - 10;
    EXPECT_FLOAT_EQ(advantage[2][0].item<float>(), d2);
    EXPECT_FLOAT_EQ(advantage[1][0].item<float>(), d1 + gamma * lambda * d2);
    EXPECT_FLOAT_EQ(advantage[0][0].item<float>(),
                    d0 + gamma * lambda * (d1 + gamma * lambda * d2));
  }
}

TEST(AdvantageTest, NothingIsWorthAnythingBeyondTheHorizon) {
  Rollout rollout = three_steps(true);
  rollout.last.to_go = torch::zeros({1});
  const auto value = torch::tensor({10.0f, 20.0f, 30.0f}).view({3, 1});
  const auto advantage = generalized_advantage(rollout, value, torch::tensor({100.0f}), 0.5, 0.25);
  EXPECT_FLOAT_EQ(advantage[2][0].item<float>(), 4 - 30);
}

TEST(AdvantageTest, StepsAfterTheEndCountForNothing) {
  Rollout rollout = three_steps(false);
  rollout.terminated = torch::tensor({false, true, false}).view({3, 1});
  rollout.alive = torch::tensor({true, true, false}).view({3, 1});
  const auto value = torch::tensor({10.0f, 20.0f, 7e9f}).view({3, 1});
  const auto advantage = generalized_advantage(rollout, value, torch::tensor({7e9f}), 1, 1);
  EXPECT_FLOAT_EQ(advantage[2][0].item<float>(), 0);
  EXPECT_FLOAT_EQ(advantage[1][0].item<float>(), 2 - 20);
  EXPECT_FLOAT_EQ(advantage[0][0].item<float>(), 1 + 2 - 10);
}

TEST(PlayTest, KeepsTheMasksThatWereShown) {
  LatentPuzzle puzzle(8, kRounds, kHorizon);
  RandomPolicy policy;
  Rng rng(3);
  const Rollout rollout = play(puzzle, policy, false, 1, rng);
  const auto& counts = rollout.observation.mask.totals;
  EXPECT_TRUE(torch::equal(counts[0], torch::tensor({1, 3, 0, 1}, torch::kInt64).expand({8, 4})));
  const auto chosen = counts.gather(2, rollout.actions.primary.unsqueeze(2)).squeeze(2);
  EXPECT_TRUE(((rollout.actions.index < chosen) | ~rollout.alive).all().item<bool>());
}

TEST(LinearControllerTest, StaysWithin3000Parameters) {
  LatentSpec spec;
  spec.latent = 64;
  spec.hidden = 512;
  spec.env.actions.assign(40, "rule");
  EXPECT_LE(LinearController(spec, 1).parameters(), 3000);
  EXPECT_GT(LinearController(spec, 1).parameters(), 2500);
}

TEST(LinearControllerTest, LatentsOfEntitiesThatLeaveTheStateNoRoomAreRefused) {
  LatentSpec spec;
  spec.hidden = 8;
  spec.env.actions.assign(40, "rule");
  spec.latent = 364;
  EXPECT_EQ(LinearController(spec, 1).parameters(), 3000);
  for (const int latent : {365, 400}) {
    spec.latent = latent;
    try {
      LinearController(spec, 1);
      ADD_FAILURE() << "no error";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("vae.encoder.latent=364 or less"));
    }
  }
}

TEST(ActorCriticTest, WhatIsHiddenChangesNothing) {
  LatentPuzzle puzzle(8, kRounds, kHorizon);
  const LatentObservation start = puzzle.reset(0);
  for (const bool hide_z : {true, false}) {
    ActorCriticConfig config;
    (hide_z ? config.see_z : config.see_h) = false;
    torch::manual_seed(1);
    ActorCritic net(puzzle.spec(), config);
    const auto looks_the_same = [&](const LatentObservation& other) {
      return torch::equal(net->priors(other).log_probability, net->priors(start).log_probability) &&
             torch::equal(net->value(other), net->value(start));
    };
    for (const auto& [part, is_z] : {std::pair{&LatentObservation::z, true},
                                     {&LatentObservation::entities, true},
                                     {&LatentObservation::h, false},
                                     {&LatentObservation::entity_h, false}}) {
      LatentObservation other = start;
      other.*part = start.*part + 1;
      EXPECT_EQ(looks_the_same(other), hide_z == is_z);
    }
  }
}

TEST(PpoTrainerTest, ValuesThatGuideAreInRewardsAndKept) {
  LatentPuzzle puzzle(64, kRounds, kHorizon);
  PpoTrainer trainer(puzzle.spec(), small_net(), quick_ppo(), 1);
  trainer.update(puzzle, 0.0, 10);
  const LatentObservation start = puzzle.reset(0);
  const auto value = trainer.policy().priors(start).value;
  Rng rng(1);
  const auto scale = value / trainer.policy().act(start, true, rng).value;
  EXPECT_NEAR(scale.min().item<double>(), scale.max().item<double>(), 1e-4);
  EXPECT_GT(std::abs(scale.mean().item<double>() - 1), 0.01);
  Checkpoint saved;
  trainer.store_policy(saved);
  PpoTrainer again(puzzle.spec(), small_net(), quick_ppo(), 2);
  again.restore_policy(saved);
  EXPECT_TRUE(torch::equal(again.policy().priors(start).value, value));
}

/// Half of the trajectories stand where any action pays 100 and ends them. The others take 10 at
/// once, or go there and are cut off: what lies ahead of these the critic alone says.
class CutOff : public LatentEnvironment {
 public:
  explicit CutOff(int batch) : begin_(torch::arange(batch).remainder(2).to(torch::kFloat)) {
    spec_.latent = spec_.hidden = 1;
    spec_.env.actions = {"take", "go", "NO-OP"};
    spec_.env.max_choices = 1;
    spec_.env.horizon = 2;
  }
  const LatentSpec& spec() const override { return spec_; }
  int batch() const override { return static_cast<int>(begin_.size(0)); }
  EnvCounters counters() const override { return {}; }
  LatentObservation reset(uint64_t) override {
    at_ = begin_.clone();
    return observe();
  }
  LatentObservation observe() const override {
    const auto z = at_.unsqueeze(1), h = torch::zeros_like(z);
    const LatentMask mask{torch::ones({batch(), 3}, torch::kInt64),
                          torch::ones({batch(), 3, 1}, torch::kInt16)};
    return {z, h, mask, 1 - at_ / 2, z.unsqueeze(1), h.unsqueeze(1)};
  }
  LatentStep step(const LatentActions& actions) override {
    const auto here = at_.eq(0), go = here & actions.primary.eq(1),
               take = here & actions.primary.eq(0);
    const LatentStep result{100 * at_ + 10 * take.to(torch::kFloat), go.logical_not(), go};
    at_ = torch::maximum(at_, go.to(torch::kFloat));
    return result;
  }

 private:
  torch::Tensor begin_, at_;
  LatentSpec spec_;
};

TEST(PpoTrainerTest, WhatIsCutOffIsWorthWhatTheCriticSaysOfIt) {
  constexpr int kUpdates = 60;
  CutOff environment(64);
  PpoTrainer trainer(environment.spec(), small_net(), quick_ppo(), 1);
  for (int update = 0; update < kUpdates; ++update)
    trainer.update(environment, static_cast<double>(update) / kUpdates,
                   static_cast<uint64_t>(update));
  Rng rng(1);
  EXPECT_EQ(play(environment, trainer.policy(), true, 1, rng).actions.primary[0][0].item<int64_t>(),
            1);
}

TEST(PpoTest, BeyondTheClipARatioIsOnlyPushedBack) {
  const auto moved = [](float of_good, float of_bad) {  // ratios
    auto log_probability = torch::tensor({of_good, of_bad}).log().requires_grad_();
    const auto before = torch::zeros({2}), start = log_probability.detach().clone();
    PpoConfig config = quick_ppo();
    config.epochs = 1;
    config.entropy = config.final_entropy = 0;
    PpoLearner learner({log_probability}, config);
    const PpoBatch batch{before, torch::tensor({1.0f, -1.0f}), torch::zeros({2}),
                         [&](const torch::Tensor& index) {
                           return Evaluation{log_probability.index_select(0, index),
                                             torch::zeros({2}), torch::zeros({2})};
                         }};
    Rng rng(1);
    learner.update(batch, 0, rng);
    return log_probability.detach().ne(start);
  };
  EXPECT_FALSE(moved(1.5f, 0.5f).any().item<bool>());
  EXPECT_TRUE(moved(0.5f, 1.5f).all().item<bool>());
}

}  // namespace
}  // namespace reverie
