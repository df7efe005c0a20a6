#include "worldmodel/batch/choice_features.h"

#include <gtest/gtest.h>

#include "env/toy/toy_environment.h"
#include "tests/support/memory_episodes.h"
#include "worldmodel/batch/graph_batch.h"

namespace reverie {
namespace {

TEST(Choices, AreNumberedAsTheEnvironmentNumbersThem) {
  ToyEnvironment toy(ToyConfig{.blocks = 4, .start_states = 16, .entities = true});
  const MemoryEpisodes data = testing::random_episodes(toy, 10, 1);
  std::vector<const ActionMask*> masks;
  std::vector<int64_t> primary, number;
  std::vector<Action> expected;
  for (int i = 0; i < data.state_count(); ++i)
    for (int a = 0; a < data.spec().primary_actions(); ++a)
      for (int n = 0; n < data.mask(i).total(a); ++n) {
        masks.push_back(&data.mask(i));
        primary.push_back(a);
        number.push_back(n);
        expected.push_back(data.mask(i).choice(a, n));
      }
  ASSERT_GT(expected.size(), 100u);
  const LatentMask mask = batch_masks(masks, data.spec());
  const LatentActions found = choice_at(mask, torch::tensor(primary), torch::tensor(number));
  EXPECT_EQ(actions_of(found), expected);
  const auto counts = count_of(mask, found);
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(counts[static_cast<int64_t>(i)].item<int>(),
              masks[i]->at(expected[i].primary, expected[i].entity));
}

TEST(Choices, ActionsGoThereAndBack) {
  const std::vector<Action> actions = {{0, 0, 0}, {3, 1999, 7}, {1, 2, 0}};
  EXPECT_EQ(actions_of(latent_actions(actions)), actions);
}

}  // namespace
}  // namespace reverie
