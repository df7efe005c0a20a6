#include "env/environment.h"

#include <gtest/gtest.h>

#include <array>

#include "core/base/error.h"
#include "env/selected_starts.h"
#include "env/toy/toy_environment.h"

namespace reverie {
namespace {

TEST(SelectedStarts, BeginsFromThoseAlone) {
  const ToyConfig config{.blocks = 3, .start_states = 16};
  const auto some = select_starts(std::make_unique<ToyEnvironment>(config), {11, 2, 5});
  EXPECT_EQ(some->spec().start_states, 3);
  ToyEnvironment all(config);
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{301}, ~uint64_t{0} - 1}) {
    some->reset(seed);
    all.reset(std::array{11, 2, 5}[seed % 3]);
    EXPECT_EQ(some->observe().state_key, all.observe().state_key) << seed;
    EXPECT_EQ(some->fork()->observe().state_key, all.observe().state_key) << seed;
  }
}

constexpr int kRegions = 3;

ActionMask cut_mask() {
  ActionMask mask;
  mask.counts = {5, 0, 1};
  mask.region_counts = {2, 0, 3, 0, 0, 0, 1, 0, 0};
  return mask;
}

TEST(RegionChoices, AreNumberedRegionByRegion) {
  const ActionMask mask = cut_mask();
  const std::vector<RegionChoice> expected = {{0, 0}, {0, 1}, {2, 0}, {2, 1}, {2, 2}};
  for (int secondary = 0; secondary < 5; ++secondary) {
    const RegionChoice choice = region_choice(mask, 0, secondary, kRegions);
    EXPECT_EQ(choice, expected[static_cast<size_t>(secondary)]) << secondary;
    EXPECT_EQ(secondary_choice(mask, 0, choice, kRegions), secondary);
  }
  EXPECT_EQ(region_choice(mask, 2, 0, kRegions), (RegionChoice{0, 0})) << "NO-OP";
}

TEST(RegionChoices, OfAGraphThatIsNotCutLieInRegionZero) {
  ActionMask mask;
  mask.counts = {5, 1};
  EXPECT_EQ(region_choice(mask, 0, 4, 1), (RegionChoice{0, 4}));
  EXPECT_EQ(secondary_choice(mask, 0, RegionChoice{0, 4}, 1), 4);
  EXPECT_THROW(region_choice(mask, 0, 5, 1), InternalError);
}

TEST(RegionChoices, HaveABestGainInEachRegion) {
  const ActionMask mask = cut_mask();
  const std::vector<double> gains = {-3, -2, 1, 7, 4};
  EXPECT_EQ(best_by_region(mask, 0, kRegions, gains), (std::vector<float>{-2, 0, 7}));
  EXPECT_EQ(best_by_region(mask, 1, kRegions, {}), (std::vector<float>{0, 0, 0}));
  EXPECT_THROW(best_by_region(mask, 2, kRegions, gains), InternalError);
}

TEST(RegionChoices, ThatDoNotExistAreBrokenInvariants) {
  const ActionMask mask = cut_mask();
  EXPECT_THROW(region_choice(mask, 0, 5, kRegions), InternalError);
  EXPECT_THROW(region_choice(mask, 0, -1, kRegions), InternalError);
  EXPECT_THROW(region_choice(mask, 1, 0, kRegions), InternalError);
  EXPECT_THROW(region_choice(mask, 3, 0, kRegions), InternalError);
  EXPECT_THROW(region_choice(mask, 0, 0, 4), InternalError) << "another number of regions";
  EXPECT_THROW(secondary_choice(mask, 0, RegionChoice{1, 0}, kRegions), InternalError);
  EXPECT_THROW(secondary_choice(mask, 0, RegionChoice{3, 0}, kRegions), InternalError);
}

}  // namespace
}  // namespace reverie
