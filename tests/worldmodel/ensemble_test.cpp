#include "worldmodel/ensemble.h"

#include <gmock/gmock.h>

#include "core/base/error.h"
#include "env/toy/toy_environment.h"
#include "tests/support/memory_episodes.h"
#include "tests/support/untrained_world.h"
#include "tests/worldmodel/latent_conformance.h"
#include "worldmodel/dream.h"
#include "worldmodel/latent_cache.h"

namespace reverie {
namespace {

using ::testing::ElementsAre;

TEST(Disagreement, IsTheLargestOverPairsOfChangeAndReward) {
  const auto says = [](double change, double reward) {
    return StepExpectation{torch::full({2, 2}, change), torch::full({2}, reward)};
  };
  StepExpectation far = says(0, 1);
  far.change[0] = torch::tensor({3.0f, 4.0f});
  const auto apart =
      disagreement({says(0, 1), far, says(1, 1.5)}, torch::tensor({true, false}));
  EXPECT_NEAR(apart[0].item<double>(), std::sqrt(12.5), 1e-6);  // above sqrt(6.5) + 0.5
  EXPECT_NEAR(apart[1].item<double>(), 0.5, 1e-6);
  EXPECT_EQ(disagreement({far, far}, torch::tensor({true, true})).sum().item<float>(), 0);
}

/// Believes that an action is worth `worth` and changes nothing. Of action 1 it expects `opinion`
/// times the number of steps since the beginning.
class Opinion : public WorldModel {
 public:
  Opinion(float worth, float opinion) : worth_(worth), opinion_(opinion) {
    spec_.latent = 2;
    spec_.hidden = 1;
    spec_.env.actions = {"known", "unknown", "NO-OP"};
    spec_.env.horizon = 10;
  }
  const LatentSpec& spec() const override { return spec_; }
  void advance(LatentState& state, const LatentMask&, const LatentActions&) override {
    state.hidden = state.hidden + 1;
  }
  WorldPrediction step(LatentState& state, const LatentMask& mask, const LatentActions& actions,
                       double, torch::Generator) override {
    advance(state, mask, actions);
    const int64_t size = actions.primary.size(0);
    return {state.latents, torch::full({size}, worth_), torch::zeros({size}, torch::kBool), mask};
  }
  StepExpectation expect(LatentState& state, const LatentMask& mask,
                         const LatentActions& actions) override {
    advance(state, mask, actions);
    const auto change = state.hidden * actions.primary.eq(1).unsqueeze(1) * opinion_;
    return {change.expand({-1, 2}), torch::zeros({actions.primary.size(0)})};
  }
  void set_mask_margin(double) override {}
  void to_device(torch::Device) override {}
  torch::Device device() const override { return torch::kCPU; }
  void store(Checkpoint&) const override {}

 private:
  float worth_, opinion_;
  LatentSpec spec_;
};

/// A dream of two that disagree about action 1: by 1 in the first step, 2 in the second, and so on.
DreamEnvironment dream_of_two(float worth, double limit, int batch) {
  const Members members = {std::make_shared<Opinion>(worth, 0.0f),
                           std::make_shared<Opinion>(worth, 1.0f)};
  const auto zero = torch::zeros({1}, torch::kInt64);
  const LatentState start = members[0]->begin({torch::zeros({1, 2}), {}, {}});
  const StartStates starts{start, {torch::ones({1, 3}, torch::kInt64), {}}, zero, zero,
                           {zero, zero}, torch::zeros({1})};
  return {members[0], starts, DreamConfig{}, batch,
          {std::make_unique<DisagreementGuard>(members, std::vector{start, start}, limit), {}}};
}

std::vector<float> values(const torch::Tensor& x) {
  const auto plain = x.to(torch::kFloat).contiguous();
  return {plain.data_ptr<float>(), plain.data_ptr<float>() + plain.numel()};
}

LatentStep take(DreamEnvironment& dream, std::vector<int64_t> primary) {
  const auto actions = torch::tensor(primary);
  return dream.step({actions, torch::zeros_like(actions)});
}

TEST(DreamOfAnEnsemble, AStepInDisputeEndsTheTrajectoryAndItsGainIsNotPaid) {
  auto dream = dream_of_two(3, 1.5, 4);
  dream.reset(1);
  LatentStep step = take(dream, {0, 1, 2, 0});  // 2 is NO-OP; of action 1 they are 1 apart
  EXPECT_THAT(values(step.reward), ElementsAre(3, 3, 3, 3));
  EXPECT_THAT(values(step.terminated), ElementsAre(0, 0, 1, 0));
  EXPECT_EQ(dream.metrics(), (Metrics{{"ended_by_disagreement", 0}}));
  const auto before = dream.observe();
  step = take(dream, {0, 1, 1, 1});  // now they are 2 apart
  EXPECT_THAT(values(step.reward), ElementsAre(3, 0, 0, 0));
  EXPECT_THAT(values(step.terminated), ElementsAre(0, 1, 1, 1));
  EXPECT_FALSE(step.truncated.any().item<bool>());
  EXPECT_EQ(dream.metrics(), (Metrics{{"ended_by_disagreement", 0.5}}));
  EXPECT_THAT(values(dream.observe().h.flatten()), ElementsAre(2, 1, 0, 1));
  dream.reset(1);
  EXPECT_EQ(dream.metrics(), (Metrics{{"ended_by_disagreement", 0}}));
  EXPECT_THAT(values(take(dream, {1, 1, 1, 1}).terminated), ElementsAre(0, 0, 0, 0));
}

TEST(DreamOfAnEnsemble, AStepInDisputeThatCostsIsPaid) {
  auto dream = dream_of_two(-3, 0.5, 2);
  dream.reset(1);
  const LatentStep step = take(dream, {0, 1});
  EXPECT_THAT(values(step.reward), ElementsAre(-3, -3));
  EXPECT_THAT(values(step.terminated), ElementsAre(0, 1));
}

/// Three untrained networks for the toy, and episodes of it.
struct Three {
  Three()
      : toy(ToyConfig{3, 4, 12}),
        untrained(toy.spec()),
        data(testing::random_episodes(toy, 20, 1)),
        episodes(data, encode_states(data, *untrained.encoder)),
        members(1) {
    for (int i = 1; i < 3; ++i) {
      torch::manual_seed(70 + i);
      members.push_back(
          std::make_shared<MdnWorldModel>(MdnRnn(untrained.config, untrained.world->spec())));
    }
    torch::manual_seed(70);
    MdnRnn first(untrained.config, untrained.world->spec());
    torch::NoGradGuard guard;
    first->head->bias[first->columns()[0] + first->columns()[1]] = -20;  // believes in no end
    members.front() = std::make_shared<MdnWorldModel>(first);
  }

  ToyEnvironment toy;
  testing::UntrainedWorld untrained;
  MemoryEpisodes data;
  LatentEpisodes episodes;
  Members members;
};

/// Asked about the real steps from the real states on, a guard refuses those above its limit.
TEST(DisagreementGuard, MembersComeToTheirStartsAsAlongTheRealSteps) {
  const Three three;
  const auto training = three.data.episodes_in(Split::kTrain);
  const auto apart = real_disagreement(three.episodes, training, three.members);
  std::vector<StartStates> starts;
  std::vector<LatentState> states;
  for (const auto& member : three.members) {
    starts.push_back(collect_starts(three.episodes, training, *member, {}));
    states.push_back(starts.back().state);
  }
  std::vector<uint8_t> goes_on;
  for (const int episode : training)
    for (const Transition& step : three.data.episodes()[episode].steps)
      goes_on.push_back(!step.terminated);
  ASSERT_EQ(apart.size(0), std::ssize(goes_on));
  for (const double quantile : {0.5, 0.9, 1.0}) {
    const double limit = torch::quantile(apart, quantile).item<double>() + 1e-6;
    DisagreementGuard guard(three.members, states, limit);
    guard.reset(torch::arange(starts[0].size()));
    const auto refused = guard.exceeds(starts[0].state.latents, starts[0].mask, starts[0].actions,
                                       torch::tensor(goes_on).to(torch::kBool));
    EXPECT_EQ(refused.sum().item<int64_t>(), apart.gt(limit).sum().item<int64_t>()) << quantile;
  }
  EXPECT_GT(apart.max().item<float>(), 1.05 * apart.median().item<float>());
}

/// A dream refuses what a guard made by hand refuses, asked about the real steps from its starts.
TEST(DreamOfAnEnsemble, HoldsItsStepsAgainstTheRealOnes) {
  const Three three;
  DreamConfig config;
  config.disagreement_quantile = 0.8;
  const auto dream = make_dream(three.episodes, three.members, config, 200);
  const LatentObservation seen = dream->reset(5);

  const auto training = three.data.episodes_in(Split::kTrain);
  const auto apart = real_disagreement(three.episodes, training, three.members);
  std::vector<LatentState> states;
  for (const auto& member : three.members)
    states.push_back(collect_starts(three.episodes, training, *member, {}).state);
  DisagreementGuard guard(three.members, states, torch::quantile(apart, 0.8).item<double>());
  const StartStates starts = collect_starts(three.episodes, training, *three.members[0], {});
  const auto row = torch::cdist(torch::cat({seen.z, seen.h}, 1),
                                torch::cat({starts.state.latents.z, starts.state.hidden}, 1),
                                2.0, /*compute_mode: exact*/ 2)
                       .argmin(1);
  const StartStates here = select_rows(starts, row);
  guard.reset(row);
  const auto refused = guard.exceeds(here.state.latents, here.mask, here.actions,
                                     here.actions.primary.ne(three.data.spec().no_op()));
  EXPECT_TRUE(dream->step(here.actions).terminated.logical_or(refused.logical_not()).all()
                  .item<bool>());
  EXPECT_NEAR(dream->metrics().at(0).second, refused.to(torch::kFloat).mean().item<double>(), 1e-6);
  EXPECT_NEAR(dream->metrics().at(0).second, 0.2, 0.1);
}

TEST(DreamOfAnEnsemble, Conforms) {
  const Three three;
  DreamConfig config;
  config.depth = 0;
  config.disagreement_quantile = 0.7;
  const auto make = [&] { return make_dream(three.episodes, three.members, config, 5); };
  testing::check_latent_environment(make);
  const auto dream = make_dream(three.episodes, three.members, config, 64);
  Rng rng(1);
  auto observation = dream->reset(3);
  for (int i = 0; i < 12; ++i) {
    dream->step(testing::random_latent_actions(observation.mask.counts, rng));
    observation = dream->observe();
  }
  EXPECT_GT(dream->metrics().at(0).second, 0.2);
}

TEST(DreamOfAnEnsemble, NeedsMoreThanOneMember) {
  const Three three;
  DreamConfig config;
  config.disagreement_quantile = 0.9;
  EXPECT_THROW(make_dream(three.episodes, {three.members[0]}, config, 5), InputError);
  config.disagreement_quantile = 0;
  EXPECT_TRUE(make_dream(three.episodes, three.members, config, 5)->metrics().empty());
}

TEST(Members, StandInOneCheckpoint) {
  const Three three;
  const auto stored = [](const WorldModel& world) {
    Checkpoint checkpoint;
    checkpoint.kind = "world";
    world.store(checkpoint);
    return checkpoint;
  };
  const Checkpoint all = join_members(stored(*three.members[0]),
                                      {stored(*three.members[1]), stored(*three.members[2])});
  EXPECT_EQ(member_count(all), 3);
  EXPECT_EQ(member_count(stored(*three.members[0])), 1);
  const auto weights = [&](const WorldModel& world) {
    return stored(world).tensors.at("world.trunk.weight");
  };
  EXPECT_TRUE(torch::equal(weights(*load_world_model(all)), weights(*three.members[0])));
  const Members loaded = load_members(all);
  ASSERT_EQ(loaded.size(), 3u);
  for (size_t i = 0; i < loaded.size(); ++i)
    for (size_t j = 0; j < loaded.size(); ++j)
      EXPECT_EQ(torch::equal(weights(*loaded[i]), weights(*three.members[j])), i == j);
}

}  // namespace
}  // namespace reverie
