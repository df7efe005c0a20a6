#include "worldmodel/network/segment_attention.h"

#include <gtest/gtest.h>

namespace reverie {
namespace {

constexpr int64_t kWidth = 8, kSegment = 5;

struct Stack {
  SegmentAttention layers[2] = {SegmentAttention(kWidth, 2), SegmentAttention(kWidth, 2)};
  torch::Tensor graph = torch::randn({kWidth});

  torch::Tensor at_once(torch::Tensor states) {
    for (SegmentAttention& layer : layers) states = layer->forward(states, graph, kSegment);
    return states;
  }
};

TEST(SegmentAttention, SegmentsAtOnceAreTheSameAsOneByOne) {
  Stack stack;
  for (const int64_t positions : {3, 5, 10, 17}) {
    const auto states = torch::randn({2, positions, kWidth});
    torch::Tensor before[2];
    std::vector<torch::Tensor> parts;
    for (int64_t first = 0; first < positions; first += kSegment) {
      auto part = states.slice(1, first, std::min(first + kSegment, positions));
      for (size_t layer = 0; layer < 2; ++layer) {
        const auto given = part;
        const auto read = first == 0 ? part : torch::cat({before[layer], part}, 1);
        part = stack.layers[layer]->forward(read, stack.graph, kSegment).slice(1, -part.size(1));
        before[layer] = given;
      }
      parts.push_back(part);
    }
    EXPECT_TRUE(stack.at_once(states).allclose(torch::cat(parts, 1), 1e-4, 1e-5)) << positions;
  }
}

/// What the last of three segments gives, by what each position was given.
TEST(SegmentAttention, ReadsOneSegmentBackALayerAndLearnsFromItsOwn) {
  Stack stack;
  auto states = torch::randn({1, 3 * kSegment, kWidth}).set_requires_grad(true);
  stack.at_once(states).slice(1, 2 * kSegment).sum().backward();
  const auto learned = states.grad().abs().sum(-1)[0];
  EXPECT_EQ(learned.slice(0, 0, 2 * kSegment).max().item<float>(), 0);
  EXPECT_GT(learned.slice(0, 2 * kSegment).min().item<float>(), 0);

  const torch::NoGradGuard guard;
  const auto first = stack.at_once(states);
  states[0][0] += 1;  // two segments before the last, which two layers reach
  const auto changed = (stack.at_once(states) - first).abs().sum(-1)[0];
  EXPECT_GT(changed.slice(0, 2 * kSegment).min().item<float>(), 0);
}

TEST(SegmentAttention, TheGraphGatesTheStates) {
  Stack stack;
  const auto states = torch::randn({1, 4, kWidth});
  const auto before = stack.at_once(states);
  stack.graph = stack.graph + 1;
  EXPECT_FALSE(before.allclose(stack.at_once(states)));
}

TEST(SegmentAttention, AmongOthersReadsThoseThatItMayAsTheyWereBefore) {
  SegmentAttention layer(kWidth, 2);
  const torch::NoGradGuard guard;
  const auto states = torch::randn({1, 3, kWidth}), before = torch::randn({1, 3, kWidth});
  auto reads = torch::eye(3).to(torch::kBool).unsqueeze(0);
  reads[0][0][1] = true;
  const auto first = layer->among(states, before, reads);
  const auto changed = [&](const torch::Tensor& now, const torch::Tensor& then) {
    return (layer->among(now, then, reads) - first).abs().amax(-1)[0] > 1e-4;
  };
  const auto moved = [](torch::Tensor rows) { return (rows = rows.clone())[0][1] += 1, rows; };
  EXPECT_TRUE(changed(states, moved(before)).equal(torch::tensor({1, 1, 0}).to(torch::kBool)));
  EXPECT_TRUE(changed(moved(states), before).equal(torch::tensor({0, 1, 0}).to(torch::kBool)));
}

}  // namespace
}  // namespace reverie
