#include "worldmodel/location.h"

#include <gtest/gtest.h>

#include "env/toy/toy_environment.h"
#include "tests/support/memory_episodes.h"

namespace reverie {
namespace {

/// Masks of B states as tensors, entry by entry.
LatentMask mask_of(const std::vector<ActionMask>& masks, const EnvSpec& spec) {
  const auto rows = static_cast<int64_t>(masks.size());
  LatentMask mask{torch::zeros({rows, spec.primary_actions()}, torch::kInt64),
                  torch::zeros({rows, spec.primary_actions(), spec.regions}, torch::kInt16)};
  for (int64_t b = 0; b < rows; ++b)
    for (int64_t a = 0; a < spec.primary_actions(); ++a) {
      const ActionMask& from = masks[static_cast<size_t>(b)];
      mask.counts[b][a] = static_cast<int64_t>(from.counts[static_cast<size_t>(a)]);
      for (int64_t s = 0; s < spec.regions; ++s)
        mask.regions[b][a][s] =
            static_cast<int64_t>(from.region_counts[static_cast<size_t>(a * spec.regions + s)]);
    }
  return mask;
}

TEST(Location, RegionsAreThoseOfTheEnvironment) {
  ToyEnvironment toy(ToyConfig{.blocks = 4, .start_states = 16, .regions = true});
  const MemoryEpisodes data = testing::random_episodes(toy, 10, 1);
  std::vector<ActionMask> masks;
  std::vector<int64_t> primary, secondary;
  std::vector<RegionChoice> expected;
  for (int i = 0; i < data.state_count(); ++i)
    for (int a = 0; a < data.spec().primary_actions(); ++a)
      for (int choice = 0; choice < data.mask(i).counts[static_cast<size_t>(a)]; ++choice) {
        masks.push_back(data.mask(i));
        primary.push_back(a);
        secondary.push_back(choice);
        expected.push_back(region_choice(masks.back(), a, choice, data.spec().regions));
      }
  ASSERT_GT(expected.size(), 100u);
  const LatentMask mask = mask_of(masks, data.spec());
  const LatentActions actions{torch::tensor(primary), torch::tensor(secondary)};
  const RegionActions found = locate(actions, mask);
  EXPECT_TRUE(torch::equal(found.count, count_in(mask, actions.primary, found.region)));
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    const RegionChoice choice{found.region[row].item<int>(), found.index[row].item<int>()};
    ASSERT_EQ(choice, expected[i]);
    ASSERT_EQ(found.count[row].item<int64_t>(),
              mask.regions[row][primary[i]][choice.region].item<int64_t>());
  }
}

TEST(Location, WhatIsNotThereLiesBehindTheLastChoice) {
  const LatentMask mask{torch::tensor({{3L, 1L}}),
                        torch::tensor({1L, 2L, 0L, 1L, 0L, 0L}).view({1, 2, 3})};
  const RegionActions found = locate({torch::tensor({0L}), torch::tensor({5L})}, mask);
  EXPECT_EQ(found.region.item<int64_t>(), 2);
  EXPECT_EQ(found.index.item<int64_t>(), 2);
  EXPECT_EQ(found.count.item<int64_t>(), 0);
}

TEST(Location, WithoutRegionsAllIsRegionZero) {
  const LatentMask mask{torch::tensor({{3L, 7L}, {4L, 1L}}), {}};
  const LatentActions actions{torch::tensor({1L, 0L}), torch::tensor({6L, 2L})};
  const RegionActions found = locate(actions, mask);
  EXPECT_TRUE(torch::equal(found.region, torch::tensor({0L, 0L})));
  EXPECT_TRUE(torch::equal(found.index, actions.secondary));
  EXPECT_TRUE(torch::equal(found.count, torch::tensor({7L, 4L})));
}

}  // namespace
}  // namespace reverie
