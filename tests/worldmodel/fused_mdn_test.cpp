#include "worldmodel/fused_mdn.h"

#include <gtest/gtest.h>

#include "env/toy/toy_environment.h"
#include "worldmodel/world_model.h"

namespace reverie {
namespace {

constexpr int64_t kRows = 150;  // two whole blocks and a part of one

/// A network none of whose numbers is neutral, and inputs for it.
struct Case {
  Case() {
    torch::manual_seed(3);
    WorldModelConfig config;
    config.hidden = 24;
    config.mixtures = 3;
    LatentSpec spec;
    spec.latent = 7;
    spec.hidden = config.hidden;
    spec.env = ToyEnvironment(ToyConfig{}).spec();
    network = MdnRnn(config, spec);
    shake();
    const int64_t actions = spec.env.primary_actions();
    state = {{torch::rand({kRows, spec.latent}) * 2 - 1, {}, {}},
             torch::randn({kRows, config.hidden}),
             torch::randn({kRows, config.hidden})};
    counts = torch::randint(0, spec.env.max_secondary + 1, {kRows, actions}, torch::kInt64);
    taken = {torch::randint(0, actions, {kRows}, torch::kInt64),
             torch::randint(0, spec.env.max_secondary, {kRows}, torch::kInt64)};
  }

  void shake() {
    torch::NoGradGuard guard;
    for (auto& parameter : network->parameters()) parameter.add_(0.3 * torch::randn_like(parameter));
    for (auto& buffer : network->buffers()) buffer.add_(torch::rand_like(buffer));
  }

  MdnOutput expected(torch::Tensor& h, torch::Tensor& c) {
    torch::NoGradGuard guard;
    const auto embedded = network->embed(state.latents.z, counts, taken);
    std::tie(h, c) = network->cell(network->input_gates(embedded), state.hidden, state.cell);
    return network->heads(h, embedded, counts);
  }

  MdnRnn network{nullptr};
  LatentState state;
  torch::Tensor counts;
  LatentActions taken;
};

void expect_close(const torch::Tensor& a, const torch::Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_TRUE(torch::allclose(a, b, 1e-4, 1e-5)) << (a - b).abs().max();
}

void expect_as_in_training(Case& c, FusedMdn& fused) {
  torch::Tensor h, cell;
  const MdnOutput expected = c.expected(h, cell);
  LatentState next = c.state;
  const FusedOutput output = fused.step(next, c.counts, c.taken);
  expect_close(next.hidden, h);
  expect_close(next.cell, cell);
  expect_close(output.change.logits, expected.change.logits);
  expect_close(output.change.means, expected.change.means);
  expect_close(output.change.log_sigma, expected.change.log_sigma);
  expect_close(output.reward, expected.reward);
  expect_close(output.end, expected.end);
  const auto counts = CountCode::decode(c.counts, expected.counts.argmax(-1),
                                        c.network->spec.env.max_secondary);
  EXPECT_TRUE(torch::equal(output.counts, counts));
  EXPECT_FALSE(torch::equal(output.counts, c.counts));
  LatentState carried = c.state;
  fused.advance(carried, c.counts, c.taken);
  EXPECT_TRUE(torch::equal(carried.hidden, next.hidden));
  EXPECT_TRUE(torch::equal(carried.cell, next.cell));
}

TEST(FusedMdn, SaysWhatTheNetworkSaysInTraining) {
  Case c;
  FusedMdn fused(c.network);
  expect_as_in_training(c, fused);
}

TEST(FusedMdn, FollowsTheNetworkAsItIsTrained) {
  Case c;
  FusedMdn fused(c.network);
  LatentState before = c.state;
  fused.step(before, c.counts, c.taken);
  c.shake();
  expect_as_in_training(c, fused);
}

TEST(FusedMdn, LeavesWhatItWasGivenAndWhatItGaveOut) {
  Case c;
  FusedMdn fused(c.network);
  const auto hidden = c.state.hidden.clone(), counts = c.counts.clone();
  LatentState first = c.state;
  const auto given = fused.step(first, c.counts, c.taken).counts;
  const auto kept = given.clone(), kept_hidden = first.hidden.clone();
  LatentState second = first;
  fused.step(second, given, c.taken);
  EXPECT_TRUE(torch::equal(c.state.hidden, hidden));
  EXPECT_TRUE(torch::equal(c.counts, counts));
  EXPECT_TRUE(torch::equal(given, kept));
  EXPECT_TRUE(torch::equal(first.hidden, kept_hidden));
}

TEST(FusedMdn, SameBytesOnOneThread) {
  Case c;
  FusedMdn fused(c.network);
  LatentState many = c.state, one = c.state;
  const auto columns = fused.step(many, c.counts, c.taken).change.means.clone();
  const int threads = torch::get_num_threads();
  torch::set_num_threads(1);
  EXPECT_TRUE(torch::equal(fused.step(one, c.counts, c.taken).change.means, columns));
  torch::set_num_threads(threads);
  EXPECT_TRUE(torch::equal(many.hidden, one.hidden));
}

}  // namespace
}  // namespace reverie
