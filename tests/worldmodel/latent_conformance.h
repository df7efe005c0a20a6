#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "core/base/random.h"
#include "worldmodel/batch/choice_features.h"
#include "worldmodel/latent/latent_environment.h"

namespace reverie::testing {

using MakeLatentEnvironment = std::function<std::unique_ptr<LatentEnvironment>()>;

/// Uniform over valid primary actions, then over their choices; NO-OP only where nothing else is
/// valid.
inline LatentActions random_latent_actions(const LatentMask& mask, Rng& rng) {
  const int64_t batch = mask.totals.size(0), no_op = mask.totals.size(1) - 1;
  auto primary = torch::full({batch}, no_op, torch::kInt64),
       number = torch::zeros({batch}, torch::kInt64);
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<int64_t> valid;
    for (int64_t a = 0; a < no_op; ++a)
      if (mask.totals[b][a].item<int64_t>() > 0) valid.push_back(a);
    if (valid.empty()) continue;
    const int64_t chosen = valid[rng.below(valid.size())];
    primary[b] = chosen;
    number[b] = static_cast<int64_t>(
        rng.below(static_cast<uint64_t>(mask.totals[b][chosen].item<int64_t>())));
  }
  return choice_at(mask, primary, number);
}

inline void expect_equal(const LatentObservation& a, const LatentObservation& b) {
  map_tensors(a, b, [](const torch::Tensor& x, const torch::Tensor& y) {
    EXPECT_TRUE(torch::equal(x, y));
    return x;
  });
}

inline LatentObservation copy(const LatentObservation& o) {
  return map_tensors(o, [](const torch::Tensor& x) { return x.clone(); });
}

inline void check_entity_shapes(const LatentEnvironment& environment, const LatentObservation& o) {
  const int64_t batch = environment.batch(), entities = o.mask.entities();
  const auto& spec = environment.spec();
  ASSERT_EQ(o.entities.sizes(), (std::vector<int64_t>{batch, entities, spec.latent}));
  ASSERT_EQ(o.entity_h.sizes(), (std::vector<int64_t>{batch, entities, spec.hidden}));
  ASSERT_EQ(o.mask.by_entity.sizes(),
            (std::vector<int64_t>{batch, spec.env.primary_actions(), entities}));
  EXPECT_LE(o.entities.abs().max().item<float>(), 1.0f);
  EXPECT_GE(o.mask.by_entity.min().item<int64_t>(), 0);
  EXPECT_LE(o.mask.by_entity.max().item<int64_t>(), spec.env.max_choices);
  EXPECT_TRUE(torch::equal(o.mask.by_entity.sum(-1), o.mask.totals));
  EXPECT_TRUE(o.mask.by_entity.select(1, spec.env.no_op()).select(1, 0).eq(1).all().item<bool>());
  EXPECT_FALSE(o.entities.requires_grad() || o.entity_h.requires_grad());
}

inline void check_shapes(const LatentEnvironment& environment, const LatentObservation& o) {
  const int64_t batch = environment.batch();
  const auto& spec = environment.spec();
  ASSERT_EQ(o.z.sizes(), (std::vector<int64_t>{batch, spec.latent}));
  ASSERT_EQ(o.h.sizes(), (std::vector<int64_t>{batch, spec.hidden}));
  ASSERT_EQ(o.mask.totals.sizes(), (std::vector<int64_t>{batch, spec.env.primary_actions()}));
  ASSERT_EQ(o.to_go.sizes(), (std::vector<int64_t>{batch}));
  ASSERT_EQ(o.mask.totals.scalar_type(), torch::kInt64);
  EXPECT_LE(o.z.abs().max().item<float>(), 1.0f);
  EXPECT_TRUE(o.mask.totals.select(1, spec.env.no_op()).eq(1).all().item<bool>());
  EXPECT_GE(o.mask.totals.min().item<int64_t>(), 0);
  EXPECT_GE(o.to_go.min().item<float>(), 0.0f);
  EXPECT_LE(o.to_go.max().item<float>(), 1.0f);
  for (const auto& tensor : {o.z, o.h, o.to_go}) EXPECT_FALSE(tensor.requires_grad());
  check_entity_shapes(environment, o);
}

/// Random play until everything has ended: shapes, the mask, monotonous ends and to_go, at most
/// `horizon` steps, and observations that were given out stay as they were.
inline void check_random_play(const MakeLatentEnvironment& make) {
  const auto environment = make();
  Rng rng(3);
  auto before = environment->reset(5);
  auto ended = torch::zeros({environment->batch()}, torch::kBool);
  int steps = 0;
  while (!ended.all().item<bool>()) {
    ASSERT_LT(steps++, environment->spec().env.horizon);
    check_shapes(*environment, before);
    const auto kept = copy(before);
    const LatentStep step = environment->step(random_latent_actions(before.mask, rng));
    expect_equal(before, kept);
    const auto now = step.terminated.logical_or(step.truncated);
    EXPECT_FALSE(step.terminated.logical_and(step.truncated).any().item<bool>());
    EXPECT_TRUE(now.logical_or(ended.logical_not()).all().item<bool>());
    EXPECT_TRUE(step.reward.masked_select(ended).eq(0).all().item<bool>());
    const auto after = environment->observe();
    EXPECT_TRUE(after.to_go.le(before.to_go).all().item<bool>());
    EXPECT_TRUE(after.to_go.lt(before.to_go).logical_or(now).all().item<bool>());
    ended = now;
    before = after;
  }
}

/// NO-OP ends a trajectory, and what has ended stays as it is whatever the action.
inline void check_no_op_ends(const MakeLatentEnvironment& make) {
  const auto environment = make();
  auto observation = environment->reset(5);
  const int no_op = environment->spec().env.no_op();
  Rng rng(4);
  auto actions = random_latent_actions(observation.mask, rng);
  actions.primary[0] = no_op;
  actions.entity[0] = actions.index[0] = 0;
  EXPECT_TRUE(environment->step(actions).terminated[0].item<bool>());
  const auto row = [](const LatentObservation& o) {
    return map_tensors(o, [](const torch::Tensor& x) { return x[0].clone(); });
  };
  const auto at_end = row(environment->observe());
  for (int i = 0; i < 3; ++i) {
    observation = environment->observe();
    auto more = random_latent_actions(observation.mask, rng);
    const auto step = environment->step(more);
    EXPECT_EQ(step.reward[0].item<float>(), 0);
    EXPECT_TRUE(step.terminated[0].item<bool>());
    expect_equal(row(environment->observe()), at_end);
  }
}

/// Equal seeds give equal trajectories, also after other play on the same object; other seeds do
/// not all give the same.
inline void check_determinism(const MakeLatentEnvironment& make) {
  const auto play = [](LatentEnvironment& environment, uint64_t seed) {
    Rng rng(9);
    auto observation = environment.reset(seed);
    auto sum = torch::zeros({environment.batch()});
    for (int i = 0; i < environment.spec().env.horizon; ++i) {
      sum += environment.step(random_latent_actions(observation.mask, rng)).reward;
      observation = environment.observe();
    }
    return torch::cat({observation.z.flatten(), sum, observation.to_go});
  };
  const auto first = make();
  const auto second = make();
  const auto reference = play(*first, 1);
  EXPECT_TRUE(torch::equal(reference, play(*second, 1)));
  bool any_differs = false;
  for (uint64_t seed = 2; seed < 8; ++seed)
    any_differs = any_differs || !torch::equal(reference, play(*first, seed));
  EXPECT_TRUE(any_differs);
  EXPECT_TRUE(torch::equal(reference, play(*first, 1)));
}

inline void check_latent_environment(const MakeLatentEnvironment& make) {
  check_random_play(make);
  check_no_op_ends(make);
  check_determinism(make);
}

}  // namespace reverie::testing
