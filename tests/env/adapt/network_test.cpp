#include "env/adapt/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "env/adapt/job.h"
#include "tests/env/adapt/networks.h"

namespace reverie::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kDeepen = ChangeKind::kDeepen, kWiden = ChangeKind::kWiden;
enum Residual { kStem, kPool, kInner, kOuter, kTail, kMean, kOutput };

std::string error_of(const std::string& yaml) {
  try {
    parse_network(yaml, "net.yaml");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> names(const Network& network) {
  std::vector<std::string> all;
  for (const Block& block : network.blocks) all.push_back(block.name);
  return all;
}

TEST(AdaptNetwork, ShapesFollowKernelsStridesAndPadding) {
  const Network network = parse_network(R"(
image: [3, 9, 7]
blocks:
  - {conv: 4, stride: 2}
  - {conv: 5, kernel: 3, padding: 0}
  - {max_pool: 2, stride: 1}
  - {linear: 6}
)",
                                        "shapes");
  EXPECT_THAT(network.shapes(), ElementsAre(BlockShape{4, 5, 4}, BlockShape{5, 3, 2},
                                            BlockShape{5, 2, 1}, BlockShape{6, 1, 1}));
  EXPECT_EQ(network.parameters(3), 10 * 6 + 6) << "of the flattened input";
  EXPECT_EQ(network.multiply_adds(0), 3 * 4 * 9 * 5 * 4);
  EXPECT_EQ(network.multiply_adds(2), 0);
  EXPECT_EQ(network.classes(), 6);
}

TEST(AdaptNetwork, AnAdditionNeedsEqualShapes) {
  Network network = residual_network();
  network.blocks[kOuter].add = kStem;
  try {
    network.shapes();
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "block 'outer': it adds 'stem', whose output has another shape");
  }
}

TEST(AdaptNetwork, ADeepenedBlockIsReadWhereTheOldOneWas) {
  const Network network = residual_network();
  const Network deeper = adapt::changed(network, {kDeepen, kStem});
  EXPECT_THAT(names(deeper),
              ElementsAre("stem", "stem+1", "pool", "inner", "outer", "tail", "mean", "output"));
  EXPECT_EQ(deeper.blocks[1].from, 0);
  EXPECT_EQ(deeper.blocks[2].from, 1);
  EXPECT_EQ(deeper.blocks[4].add, 2);
  EXPECT_EQ(deeper.shapes()[7], network.shapes()[6]);
  EXPECT_EQ(deeper.parameters() - network.parameters(), 4 * 4 * 9 + 3 * 4);
  const Network again = adapt::changed(deeper, {kDeepen, kStem});
  EXPECT_THAT(names(again), ElementsAre("stem", "stem+2", "stem+1", "pool", "inner", "outer",
                                        "tail", "mean", "output"));
  EXPECT_FALSE(again.added(0));
  EXPECT_TRUE(again.added(1));
  EXPECT_TRUE(again.added(2));
  EXPECT_FALSE(again.added(3));
}

TEST(AdaptNetwork, AnAddedOutputIsThatOfTheNewBlock) {
  const Network network = residual_network();
  const Network deeper =
      adapt::changed(adapt::changed(network, {kDeepen, kPool - 1}), {kDeepen, kOuter + 1});
  EXPECT_EQ(deeper.blocks[5].name, "outer+1");
  EXPECT_EQ(deeper.blocks[5].add, -1);
  EXPECT_EQ(deeper.blocks[6].from, 5);
  EXPECT_NO_THROW(deeper.shapes());
}

TEST(AdaptNetwork, TiedBlocksAreWidenedTogether) {
  const Network network = residual_network();
  EXPECT_THAT(adapt::tied(network, kStem), ElementsAre(kStem, kOuter));
  EXPECT_THAT(adapt::tied(network, kPool), ElementsAre(kStem, kOuter));
  EXPECT_THAT(adapt::tied(network, kInner), ElementsAre(kInner));
  EXPECT_TRUE(adapt::allows(network, {kWiden, kStem}));
  EXPECT_FALSE(adapt::allows(network, {kWiden, kOuter})) << "the first stands for all";
  const Network wider = adapt::changed(network, {kWiden, kStem});
  EXPECT_EQ(wider.blocks[kStem].width, 8);
  EXPECT_EQ(wider.blocks[kPool].width, 8);
  EXPECT_EQ(wider.blocks[kInner].width, 4);
  EXPECT_EQ(wider.blocks[kOuter].width, 8);
  EXPECT_EQ(wider.shapes()[kMean], network.shapes()[kMean]);
  EXPECT_EQ(wider.parameters(kInner), 8 * 4 * 9 + 3 * 4);
}

TEST(AdaptNetwork, TiesGoOverOtherBlocksAndToTheImage) {
  const Network network = parse_network(R"(
image: [4, 8, 8]
blocks:
  - {conv: 4, name: a}
  - {conv: 4, name: b, add: a}
  - {conv: 4, name: c, add: b}
  - {average_pool: 1, name: p, from: image}
  - {conv: 4, name: d, add: p}
  - {linear: 3, name: output}
)",
                                        "ties");
  EXPECT_THAT(adapt::tied(network, 0), ElementsAre(0, 1, 2));
  EXPECT_THAT(adapt::tied(network, 4), ElementsAre(4));
  EXPECT_FALSE(adapt::allows(network, {kWiden, 4})) << "the image keeps its channels";
}

TEST(AdaptNetwork, SomeBlocksAreNeverChanged) {
  Network network = residual_network();
  for (const ChangeKind kind : {kDeepen, kWiden})
    for (const int block : {-1, int{kPool}, int{kMean}, int{kOutput}, 7}) {
      EXPECT_FALSE(adapt::allows(network, {kind, block})) << block;
      EXPECT_THROW(adapt::changed(network, {kind, block}), InputError);
    }
  EXPECT_TRUE(adapt::allows(network, {kDeepen, kTail}));
  network.blocks[kTail].relu = false;
  EXPECT_FALSE(adapt::allows(network, {kDeepen, kTail})) << "the new block ends in a ReLU";
  network.blocks[kOutput].relu = true;
  EXPECT_TRUE(adapt::allows(network, {kDeepen, kOutput})) << "as published";
  EXPECT_FALSE(adapt::allows(network, {kWiden, kOutput}));
  network.blocks[kInner].kernel = 2;
  EXPECT_FALSE(adapt::allows(network, {kDeepen, kInner})) << "an even kernel has no middle";
}

TEST(AdaptNetwork, BlocksOfTheFirstNetworkKeepOriginAndName) {
  const Network network = adapt::changed(residual_network(), {kDeepen, kStem});
  EXPECT_EQ(network.block_of(kInner), kInner + 1);
  EXPECT_EQ(network.origin_of("inner"), kInner);
  EXPECT_EQ(network.name_of(kInner), "inner");
  EXPECT_EQ(network.origin_of("stem+1"), -1) << "it was put in";
  EXPECT_EQ(network.origin_of("nothing"), -1);
}

TEST(AdaptNetwork, AgesCountDecisions) {
  Network network = after_decision(after_decision(residual_network(), std::nullopt),
                                   ChangeAtRate{kDeepen, kStem, 0.01});
  EXPECT_EQ(network.blocks[0].age, 2);
  EXPECT_EQ(network.blocks[1].age, 0);
  network = after_decision(network, ChangeAtRate{kWiden, kStem, 0.01});
  EXPECT_EQ(network.blocks[0].age, 0);
  EXPECT_EQ(network.blocks[1].age, 1) << "it only reads what was widened";
}

TEST(AdaptNetwork, AWideningKeepsShapesBehindADeepening) {
  Network network = residual_network();
  for (int round = 0; round < 3; ++round)
    for (const ChangeKind kind : {kWiden, kDeepen})
      for (int block = 0; block < static_cast<int>(network.blocks.size()); block += 2)
        if (adapt::allows(network, {kind, block})) {
          network = adapt::changed(network, {kind, block});
          ASSERT_EQ(network.shapes().back(), (BlockShape{5, 1, 1}));
        }
  EXPECT_GT(network.blocks.size(), 8u);
}

TEST(AdaptNetwork, YamlReadsBackAsTheSame) {
  Network network = residual_network();
  EXPECT_EQ(parse_network(to_yaml(network), "again"), network);
  network = after_decision(after_decision(network, ChangeAtRate{kDeepen, kStem, 0.01}),
                           ChangeAtRate{kWiden, kInner, 0.01});
  network.blocks.back().relu = true;
  network.blocks[2].name = "a name: [of] its own";
  EXPECT_EQ(parse_network(to_yaml(network), "again"), network);
  EXPECT_NE(network.hash(), residual_network().hash());
  EXPECT_EQ(parse_network(to_yaml(network), "again").hash(), network.hash());
}

TEST(AdaptNetwork, YamlHasDefaults) {
  const Network network = parse_network(
      "{image: [1, 8, 8], blocks: [{conv: 4, kernel: 5}, {max_pool: 3}, {linear: 2}]}", "x");
  EXPECT_THAT(names(network), ElementsAre("conv1", "max_pool1", "linear1"));
  EXPECT_EQ(network.blocks[0].padding, 2);
  EXPECT_TRUE(network.blocks[0].relu);
  EXPECT_EQ(network.blocks[1].stride, 3);
  EXPECT_EQ(network.blocks[1].width, 4);
  EXPECT_FALSE(network.blocks[2].relu);
  EXPECT_EQ(network.blocks[2].from, 1);
  EXPECT_EQ(network.blocks[2].origin, 2);
}

TEST(AdaptNetwork, BadYamlIsRefusedWithItsPlace) {
  const auto blocks = [](const std::string& list) {
    return "{image: [1, 4, 4], blocks: [" + list + "]}";
  };
  EXPECT_THAT(error_of("image: ["), HasSubstr("net.yaml: this is no YAML"));
  EXPECT_EQ(error_of("[1]"), "net.yaml: a network needs 'image' and 'blocks'");
  EXPECT_EQ(error_of("{image: [1, 4, 4], blocks: [{linear: 2}], colour: 3}"),
            "net.yaml: there is no key 'colour'; a network has 'image' and 'blocks'");
  EXPECT_EQ(error_of("{image: [1, 4], blocks: [{linear: 2}]}"),
            "net.yaml: 'image' must be [channels, height, width], such as [1, 28, 28]");
  EXPECT_EQ(error_of(blocks("")),
            "net.yaml: 'blocks' must be a list of blocks, such as - {conv: 8}");
  EXPECT_EQ(error_of(blocks("{conv: x}")), "net.yaml: block 1: 'conv' needs a whole number");
  EXPECT_EQ(
      error_of(blocks("{name: a}")),
      "net.yaml: block 'a': it has no kind: give one of conv, linear, max_pool, average_pool and "
      "global_pool");
  EXPECT_EQ(
      error_of(blocks("{conv: 2, name: a, pad: 1}")),
      "net.yaml: block 'a': a block 'conv' has no 'pad'; it may have name, from, origin, age, "
      "kernel, stride, "
      "padding, batch_norm, add, relu");
  EXPECT_EQ(error_of(blocks("{conv: 2, linear: 3}")),
            "net.yaml: block 1: it is both conv and linear; make two blocks of it");
  EXPECT_EQ(error_of(blocks("{conv: 2, from: b}")),
            "net.yaml: block 1: no earlier block is called 'b'");
  EXPECT_EQ(error_of(blocks("{conv: 2, name: a}, {linear: 2, name: a}")),
            "net.yaml: block 'a': the name 'a' is taken; give another");
  EXPECT_THAT(
      error_of(blocks("{max_pool: 5, name: p}, {linear: 2}")),
      HasSubstr("block 'p': its input is 4 x 4 with padding 0, smaller than its kernel of 5"));
  EXPECT_THAT(error_of(blocks("{conv: 0}")), HasSubstr("its width is 0; give at least 1"));
  EXPECT_EQ(error_of(blocks("{conv: 2, relu: maybe}")),
            "net.yaml: block 1: 'relu' must be true or false");
}

}  // namespace
}  // namespace reverie::testing
