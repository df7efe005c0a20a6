#include "tools/policy/adapt_dreams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "env/adapt/record.h"
#include "tests/env/adapt/tables.h"
#include "tests/support/renamed_environment.h"
#include "tests/support/untrained_world.h"

namespace reverie {
namespace {

/// Believes that a step gains `worth` of its action: ten times as much at each further step.
class CountingWorld : public WorldModel {
 public:
  explicit CountingWorld(LatentSpec spec) : spec_(std::move(spec)) {}
  const LatentSpec& spec() const override { return spec_; }
  void advance(LatentState&, const LatentMask&, const LatentActions&) override {}
  WorldPrediction step(LatentState& state, const LatentMask& mask, const LatentActions& actions,
                       double, torch::Generator) override {
    const int64_t size = mask.totals.size(0);
    auto reward = torch::empty({size});
    for (int64_t b = 0; b < size; ++b)
      reward[b] = scale_ * worth(spec_.env, actions_of(actions)[static_cast<size_t>(b)]);
    scale_ *= 10;
    if (--left_ == 0) begin();
    return {state.latents, reward, torch::zeros({size}, torch::kBool), mask};
  }
  void to_device(torch::Device) override {}
  torch::Device device() const override { return torch::kCPU; }
  void store(Checkpoint&) const override {}

  /// "deepen" or "widen" of block i: i + 1 or i + 5.
  static float worth(const EnvSpec& spec, const Action& action) {
    const std::string& name = spec.actions[static_cast<size_t>(action.primary)];
    if (name == "go on" || name == "NO-OP") return 0;
    return static_cast<float>(action.entity + (name == "widen" ? 4 : 0));
  }

 private:
  void begin() {
    scale_ = 1;
    left_ = spec_.env.horizon;
  }
  LatentSpec spec_;
  double scale_ = 1;
  int left_ = spec_.env.horizon;
};

/// Always takes the same action.
class Stubborn : public Policy {
 public:
  explicit Stubborn(Action action) : action_(action) {}
  std::string name() const override { return "stubborn"; }
  PolicyDecision act(const LatentObservation& observation, bool, Rng&) override {
    const auto size = observation.z.size(0);
    return {latent_actions(std::vector<Action>(static_cast<size_t>(size), action_)),
            torch::zeros({size}),
            {}};
  }

 private:
  Action action_;
};

float worth(const Decisions& decisions) {
  float sum = 0, scale = 1;
  for (const auto& decision : decisions) {
    if (decision)
      sum += scale * static_cast<float>(decision->origin + 1 +
                                        (decision->kind == ChangeKind::kWiden ? 4 : 0));
    scale *= 10;
  }
  return sum;
}

class AdaptDreamsTest : public ::testing::Test {
 protected:
  /// Plans of a policy that knows the environment as `known` says.
  std::vector<ExpectedPlan> plans(const EnvSpec& known, const Action& wanted) {
    const testing::UntrainedWorld untrained(known);
    TrainedPolicy trained;
    trained.encoder = untrained.encoder;
    trained.world = std::make_shared<CountingWorld>(untrained.world->spec());
    trained.policy = std::make_shared<Stubborn>(wanted);
    return dreamt_plans(trained, start_, 1);
  }

  AdaptStart start_{table_source(testing::made_up_table({.decisions = 3})), 3};
  EnvSpec spec_ = AdaptEnvironment({start_}, AdaptReward::kAccuracy).spec();
};

TEST_F(AdaptDreamsTest, AGainIsThatOfThePlanUnderAnyOrderOfNames) {
  for (const EnvSpec& known : {spec_, testing::reversed(spec_)}) {
    const auto found = plans(known, {0, 0, 0});
    ASSERT_EQ(found.size(), 2048u);
    for (const ExpectedPlan& plan : found) EXPECT_EQ(plan.gain, worth(plan.decisions));
  }
}

TEST_F(AdaptDreamsTest, DrawnPlansAreAllThatAreOffered) {
  const auto found = plans(spec_, {0, 0, 0});
  std::set<float> different;
  for (const ExpectedPlan& plan : found) different.insert(worth(plan.decisions));
  EXPECT_EQ(std::ssize(different),
            count_sequences(*start_.source, start_.source->start(0)->state()));
}

TEST_F(AdaptDreamsTest, PlansOfThePolicyGoOnWhereItsActionIsNotOffered) {
  const JobState first = start_.source->start(0)->state();
  const Decisions choices = choices_of(*start_.source, first);
  const AdaptEnvironment environment({start_}, AdaptReward::kAccuracy);
  const auto found = plans(spec_, environment.action_of(choices.back()));
  const Decisions& dreamt = found.front().decisions;
  EXPECT_EQ(dreamt.front(), choices.back());
  EXPECT_GE(std::ranges::count(found, dreamt, &ExpectedPlan::decisions), 1024);
  const Action output{1, first.network.origins(), 0};  // the output block is never changed
  EXPECT_EQ(plans(spec_, output).front().decisions, Decisions(3, std::nullopt));
}

}  // namespace
}  // namespace reverie
