#include "controller/policy/actor_critic.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

TEST(PolicyFeatures, ShowTheMeanLatentOfTheEntitiesThatCanBeActedOn) {
  LatentObservation seen;
  seen.z = torch::tensor({{1.f}, {2.f}});
  seen.h = torch::tensor({{3.f}, {4.f}});
  seen.to_go = torch::tensor({1.f, 0.5f});
  seen.entities = torch::tensor({{{10.f}, {20.f}, {30.f}}, {{40.f}, {50.f}, {60.f}}});
  // Two actions and NO-OP, which entity 0 always has. In the second state nothing else is left.
  seen.mask.by_entity = torch::zeros({2, 3, 3}, torch::kInt16);
  seen.mask.by_entity.select(1, 2).select(1, 0).fill_(1);
  seen.mask.by_entity[0][0][1] = 1;
  seen.mask.by_entity[0][1][1] = 2;
  seen.mask.by_entity[0][1][2] = 5;
  const auto expected = torch::tensor({{1.f, 3.f, 25.f, 1.f}, {2.f, 4.f, 0.f, 0.5f}});
  EXPECT_TRUE(policy_features(seen).equal(expected)) << policy_features(seen);
}

}  // namespace
}  // namespace reverie
