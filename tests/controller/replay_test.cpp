#include "controller/train/replay.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "controller/policy/actor_critic.h"
#include "worldmodel/latent/latent_environment.h"

namespace reverie {
namespace {

/// Trajectory b takes b + 2 steps, then terminates where b is even, else is cut off before the
/// horizon. z says where it stands, 10 b + t, and so does the mask: b + 1 choices at entity t. Each
/// step adds an entity to all.
class CountedSteps : public LatentEnvironment {
 public:
  CountedSteps(int batch, int entities) : batch_(batch), entities_(entities) {
    spec_.latent = spec_.hidden = 1;
    spec_.env.actions = {"go", "NO-OP"};
    spec_.env.max_choices = batch;
    spec_.env.horizon = 20;
  }
  static int64_t length(int64_t b) { return b + 2; }
  static bool cut_off(int64_t b) { return b % 2 == 1; }
  static float reward(int64_t b, int64_t t) {
    return static_cast<float>(b + 1) / static_cast<float>(t + 1);
  }

  const LatentSpec& spec() const override { return spec_; }
  int batch() const override { return batch_; }
  EnvCounters counters() const override { return {}; }
  LatentObservation reset(uint64_t) override {
    steps_ = 0;
    return observe();
  }
  LatentObservation observe() const override {
    LatentObservation seen;
    const int64_t entities = entities_ + steps_;
    seen.mask.by_entity = torch::zeros({batch_, 2, entities}, torch::kInt16);
    seen.z = torch::zeros({batch_, 1});
    for (int64_t b = 0; b < batch_; ++b) {
      seen.z[b] = static_cast<float>(10 * b + time(b));
      seen.mask.by_entity[b][0][time(b)] = b + 1;
      seen.mask.by_entity[b][1][0] = 1;
    }
    seen.mask.totals = seen.mask.by_entity.sum(2);
    seen.h = torch::zeros({batch_, 1});
    seen.to_go = torch::full({batch_}, time_to_go(steps_, spec_.env.horizon));
    seen.entities = seen.entity_h = torch::ones({batch_, entities, 1});
    return seen;
  }
  LatentStep step(const LatentActions&) override {
    LatentStep result{torch::zeros({batch_}), torch::zeros({batch_}, torch::kBool),
                      torch::zeros({batch_}, torch::kBool)};
    for (int64_t b = 0; b < batch_; ++b) {
      if (steps_ < length(b)) result.reward[b] = reward(b, steps_);
      (cut_off(b) ? result.truncated : result.terminated)[b] = steps_ + 1 >= length(b);
    }
    ++steps_;
    return result;
  }

 private:
  int64_t time(int64_t b) const {
    return std::min<int64_t>(steps_, cut_off(b) ? length(b) : length(b) - 1);
  }

  int batch_, entities_, steps_ = 0;
  LatentSpec spec_;
};

Rollout walked(int batch, int entities = 1) {
  CountedSteps environment(batch, entities);
  RandomPolicy policy;
  Rng rng(1);
  return play(environment, policy, false, 1, rng);
}

/// What is seen at step t of trajectory b.
void expect_seen(const LatentObservation& seen, int64_t row, int64_t b, int64_t t) {
  EXPECT_EQ(seen.z[row].item<float>(), static_cast<float>(10 * b + t));
  EXPECT_EQ(seen.mask.by_entity[row][0][t].item<int64_t>(), b + 1);
  EXPECT_EQ(seen.mask.totals[row][0].item<int64_t>(), b + 1);
  EXPECT_EQ(seen.mask.by_entity[row][0].sum().item<int64_t>(), b + 1);
}

class ReplayAhead : public ::testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(, ReplayAhead, ::testing::Values(1, 2, 0));

TEST_P(ReplayAhead, WhatFollowsATransitionIsWhatWasSeenNext) {
  constexpr int64_t kDrawn = 400;
  constexpr double kGamma = 0.5;
  ReplayMemory memory(1000);
  memory.add(walked(3));
  memory.add(walked(4, 3));
  EXPECT_EQ(memory.size(), (2 + 3 + 4) + (2 + 3 + 4 + 5));
  Rng rng(1);
  const ReplaySample sample = memory.sample(kDrawn, GetParam(), kGamma, rng);
  std::set<std::pair<int64_t, int64_t>> drawn;
  for (int64_t i = 0; i < kDrawn; ++i) {
    const auto place = std::lround(sample.observation.z[i].item<float>());
    const int64_t b = place / 10, t = place % 10, length = CountedSteps::length(b);
    drawn.insert({b, t});
    expect_seen(sample.observation, i, b, t);
    EXPECT_EQ(sample.actions.entity[i].item<int64_t>(), t);
    const int64_t steps = GetParam() == 0 ? length - t : std::min(GetParam(), length - t);
    double reward = 0;
    for (int64_t k = 0; k < steps; ++k)
      reward += std::pow(kGamma, k) * CountedSteps::reward(b, t + k);
    EXPECT_NEAR(sample.reward[i].item<double>(), reward, 1e-5);
    const bool goes_on = t + steps < length || CountedSteps::cut_off(b);
    EXPECT_FLOAT_EQ(sample.discount[i].item<float>(), goes_on ? std::pow(kGamma, steps) : 0);
    if (goes_on) expect_seen(sample.next, i, b, t + steps);
  }
  EXPECT_EQ(drawn.size(), 2u + 3 + 4 + 5);
}

TEST(ReplayMemoryTest, NothingIsWorthAnythingBeyondTheHorizon) {
  Rollout rollout = walked(2);
  rollout.last.to_go = torch::zeros({2});
  ReplayMemory memory(100);
  memory.add(rollout);
  Rng rng(1);
  EXPECT_TRUE(memory.sample(50, 0, 1, rng).discount.eq(0).all().item<bool>());
}

TEST(ReplayMemoryTest, ForgetsTheOldest) {
  ReplayMemory memory(9);
  memory.add(walked(1));
  memory.add(walked(3));
  EXPECT_EQ(memory.size(), 8);  // of the last 9 states, one closes an episode
  Rng rng(1);
  const auto z = memory.sample(200, 1, 1, rng).observation.z;
  EXPECT_EQ(z.min().item<float>(), 1);
  EXPECT_EQ((z == 1).logical_or(z >= 10).sum().item<int64_t>(), 200);
}

TEST(ReplayMemoryTest, DemonstrationsEndWithTheirLastStep) {
  const Rollout rollout = walked(1);
  Demonstrations steps{flatten(rollout.observation), flatten(rollout.actions),
                       rollout.reward.flatten(), torch::tensor({7, 9}), torch::ones({2})};
  ReplayMemory memory(100);
  memory.add(steps);
  Rng rng(1);
  EXPECT_TRUE(memory.sample(50, 1, 1, rng).discount.eq(0).all().item<bool>());
  steps.episode = torch::tensor({7, 7});
  ReplayMemory one(100);
  one.add(steps);
  const ReplaySample sample = one.sample(50, 1, 1, rng);
  EXPECT_TRUE(sample.discount.eq(sample.observation.z.squeeze(1).eq(0)).all().item<bool>());
}

TEST(ReplayMemoryTest, WhatIsStoredIsRemembered) {
  ReplayMemory memory(100), again(100), empty(100);
  Checkpoint checkpoint;
  empty.store(checkpoint);
  again.restore(checkpoint, torch::kCPU);
  EXPECT_EQ(again.size(), 0);
  memory.add(walked(4));
  memory.store(checkpoint);
  again.restore(checkpoint, torch::kCPU);
  Rng one(3), other(3);
  ReplaySample a = memory.sample(100, 2, 0.9, one), b = again.sample(100, 2, 0.9, other);
  EXPECT_TRUE(a.reward.equal(b.reward) && a.discount.equal(b.discount));
  map_tensors(a.next, b.next, [](const torch::Tensor& x, const torch::Tensor& y) {
    EXPECT_TRUE(x.equal(y));
    EXPECT_EQ(x.scalar_type(), y.scalar_type());
    return x;
  });
}

}  // namespace
}  // namespace reverie
