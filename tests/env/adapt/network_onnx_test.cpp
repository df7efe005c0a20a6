#include "env/adapt/network_onnx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/models/builder.h"
#include "core/onnx/export.h"
#include "tests/support/temporary_directory.h"

namespace reverie::testing {
namespace {

using models::ModelBuilder;
using models::same;
using models::valid;
using ::testing::HasSubstr;

class NetworkOnnx : public ::testing::Test {
 protected:
  NetworkOnnx() : builder_(ModelOptions{.image = 8, .width = 1}) {}

  Network import(ValueId output) {
    export_onnx(builder_.finish(output), {}, path_);
    return network_from_onnx(path_);
  }
  std::string refusal(ValueId output) {
    try {
      import(output);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "net.onnx";
  ModelBuilder builder_;
};

TEST_F(NetworkOnnx, AResidualNetworkIsReadBlockByBlock) {
  ModelBuilder& b = builder_;
  ValueId x = b.relu(b.batch_norm(b.conv(b.image(), "stem", 4, same(3)), "bn"));
  x = b.max_pool(x, valid(2, 2));
  const ValueId inner = b.relu(b.conv(x, "inner", 4, valid(1)));
  x = b.relu(b.add(b.conv(inner, "outer", 4, same(3)), x));
  const ValueId down = b.conv(x, "down", 6, same(3, 2)), main = b.conv(x, "main", 6, same(3, 2));
  x = b.relu(b.add(main, down));
  const Network network = import(b.gemm(b.pooled(x), "output", 5));
  ASSERT_EQ(network.blocks.size(), 8u);
  const Network expected = parse_network(R"(
image: [3, 8, 8]
blocks:
  - {conv: 4}
  - {max_pool: 2}
  - {conv: 4, kernel: 1, batch_norm: false}
  - {conv: 4, batch_norm: false, add: max_pool1}
  - {conv: 6, stride: 2, batch_norm: false, relu: false}
  - {conv: 6, stride: 2, batch_norm: false, from: conv3, add: conv4}
  - {global_pool: true}
  - {linear: 5}
)",
                                         "expected");
  Network unnamed = network;
  for (size_t i = 0; i < expected.blocks.size(); ++i) {
    EXPECT_FALSE(network.blocks[i].name.empty());
    unnamed.blocks[i].name = expected.blocks[i].name;
  }
  EXPECT_EQ(to_yaml(unnamed), to_yaml(expected));
  EXPECT_EQ(parse_network(to_yaml(network), "again"), network);
}

TEST_F(NetworkOnnx, AProductWithABiasIsLinear) {
  ModelBuilder& b = builder_;
  const ValueId flat = b.graph().add("Flatten", {b.relu(b.conv(b.image(), "conv", 2, valid(3)))});
  const Network network = import(b.linear(b.relu(b.linear(flat, "hidden", 7)), "output", 5));
  ASSERT_EQ(network.blocks.size(), 3u);
  EXPECT_EQ(network.blocks[1].kind, BlockKind::kLinear);
  EXPECT_TRUE(network.blocks[1].relu);
  EXPECT_EQ(network.parameters(1), 2 * 6 * 6 * 7 + 7);
  EXPECT_FALSE(network.blocks[2].relu);
}

TEST_F(NetworkOnnx, WhatDoesNotFitIsNamed) {
  ModelBuilder& b = builder_;
  const ValueId conv = b.conv(b.image(), "conv", 4, same(3));
  EXPECT_THAT(
      refusal(b.graph().add("Sigmoid", {conv})),
      ::testing::AllOf(HasSubstr("net.onnx: Sigmoid"), HasSubstr("knows no such operator")));
}

TEST_F(NetworkOnnx, GroupsAndPaddedPoolsAreRefused) {
  ModelBuilder& b = builder_;
  const ValueId conv = b.conv(b.image(), "conv", 4, same(3));
  EXPECT_THAT(refusal(b.conv(conv, "grouped", 4, same(3, 1, 2))), HasSubstr("it has groups"));
  ModelBuilder other(ModelOptions{.image = 8, .width = 1});
  b = other;
  EXPECT_THAT(refusal(b.max_pool(b.conv(b.image(), "conv", 4, same(3)), same(3, 2))),
              HasSubstr("it is padded"));
}

TEST_F(NetworkOnnx, AValueThatIsReadTwiceEndsItsBlock) {
  ModelBuilder& b = builder_;
  const ValueId conv = b.conv(b.image(), "conv", 4, same(3));
  EXPECT_THAT(refusal(b.add(b.relu(conv), b.conv(conv, "next", 4, same(3)))),
              HasSubstr("nothing else reads"));
}

}  // namespace
}  // namespace reverie::testing
