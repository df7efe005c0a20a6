#include "controller/modelfree/candidate_net.h"

#include <gmock/gmock.h>

#include "controller/train/rollout.h"
#include "env/toy/toy_environment.h"

namespace reverie {
namespace {

ModelFreeConfig candidate_config() {
  ModelFreeConfig config;
  config.network = ModelFreeKind::kCandidates;
  config.width = 16;
  return config;
}

struct CandidateScene {
  explicit CandidateScene(uint64_t seed = 1)
      : toy(ToyConfig{2, 4, 8}),
        net((torch::manual_seed(3), make_model_free_network(toy.spec(), candidate_config()))) {
    toy.reset(seed);
    input = look(toy, toy.observe(), *net);
    const ModelFreeObservation* seen = &input;
    net->set_statistics({&seen, 1});
  }

  /// Log-probability of every valid action, in the order of ModelFreeObservation::gains.
  std::vector<double> log_probabilities() const {
    torch::NoGradGuard no_grad;
    std::vector<double> all;
    const ModelFreeObservation* seen = &input;
    const ActionMask& mask = input.observation.mask;
    for (int primary = 0; primary < mask.primary_actions(); ++primary)
      for (int n = 0; n < mask.total(primary); ++n) {
        const Action action = mask.choice(primary, n);
        all.push_back(net->evaluate({&seen, 1}, torch::ones({1}), latent_actions({&action, 1}))
                          .log_probability.item<double>());
      }
    return all;
  }

  ToyEnvironment toy;
  std::shared_ptr<ModelFreeNetwork> net;
  ModelFreeObservation input;
};

TEST(CandidateNet, SeesWhatEachValidActionGains) {
  const CandidateScene scene;
  std::vector<float> gains;
  const ActionMask& mask = scene.input.observation.mask;
  for (int primary = 0; primary < scene.toy.spec().no_op(); ++primary)
    if (mask.total(primary) > 0)
      for (const double gain : scene.toy.gains(primary)) gains.push_back(static_cast<float>(gain));
  gains.push_back(0);  // NO-OP
  EXPECT_EQ(scene.input.gains, gains);
}

TEST(CandidateNet, ProbabilitiesOfValidActionsSumToOne) {
  const CandidateScene scene;
  double sum = 0, entropy = 0;
  for (const double log_probability : scene.log_probabilities()) {
    sum += std::exp(log_probability);
    entropy -= std::exp(log_probability) * log_probability;
  }
  EXPECT_NEAR(sum, 1, 1e-5);
  const ModelFreeObservation* seen = &scene.input;
  const Action no_op{scene.toy.spec().no_op()};
  const auto evaluation =
      scene.net->evaluate({&seen, 1}, torch::ones({1}), latent_actions({&no_op, 1}));
  EXPECT_NEAR(evaluation.entropy.item<double>(), entropy, 1e-5);
}

TEST(CandidateNet, AGainChangesTheScoreOfItsActionAlone) {
  CandidateScene scene;
  const std::vector<double> before = scene.log_probabilities();
  const size_t lowest =
      static_cast<size_t>(std::min_element(scene.input.gains.begin(), scene.input.gains.end()) -
                          scene.input.gains.begin());
  scene.input.gains[lowest] -= 5;  // the state's best stays
  const std::vector<double> after = scene.log_probabilities();
  const size_t other = lowest == 0 ? 1 : 0;
  for (size_t i = 0; i < before.size(); ++i) {
    const double change = (after[i] - after[other]) - (before[i] - before[other]);
    if (i == lowest)
      EXPECT_GT(std::abs(change), 1e-4);
    else
      EXPECT_NEAR(change, 0, 1e-5) << i;
  }
}

TEST(CandidateNet, ChoosesAsItEvaluatesInABatchOfStates) {
  torch::NoGradGuard no_grad;
  CandidateScene one(1), two(2);
  const std::vector<const ModelFreeObservation*> both{&one.input, &two.input};
  Rng rng(5);
  for (const bool greedy : {true, false}) {
    const Choice choice = one.net->choose(both, torch::ones({2}), greedy, rng);
    const Evaluation evaluation = one.net->evaluate(both, torch::ones({2}), choice.actions);
    EXPECT_TRUE(torch::allclose(choice.log_probability, evaluation.log_probability));
    const std::vector<Action> actions = actions_of(choice.actions);
    for (size_t b = 0; b < 2; ++b) EXPECT_TRUE(both[b]->observation.mask.allows(actions[b]));
    if (!greedy) continue;
    const std::vector<double> all = one.log_probabilities();
    EXPECT_NEAR(choice.log_probability[0].item<double>(), *std::max_element(all.begin(), all.end()),
                1e-6);
  }
}

}  // namespace
}  // namespace reverie
