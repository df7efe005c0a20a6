#include "worldmodel/memory/fused_mdn.h"

#include <gtest/gtest.h>

#include "env/toy/toy_environment.h"
#include "worldmodel/memory/recurrence.h"

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
    network = MdnRnn(config, spec, EntityPool(spec.latent, 5));
    network->seen[1] = 0;
    shake();
    const int64_t actions = spec.env.primary_actions(), most = spec.env.max_choices;
    in.latent = torch::rand({kRows, spec.latent}) * 2 - 1;
    in.counts = torch::randint(0, most + 1, {kRows, actions}, torch::kInt64);
    in.primary = torch::randint(0, actions, {kRows}, torch::kInt64);
    in.choice = torch::randn({kRows, kChoiceFeatures});
    in.context = torch::randn({kRows, 2 * spec.latent + kRelationFeatures});
    hidden = torch::randn({kRows, config.hidden});
    cell = torch::randn({kRows, config.hidden});
  }

  void shake() {
    torch::NoGradGuard guard;
    for (auto& parameter : network->parameters()) parameter.add_(0.3 * torch::randn_like(parameter));
    for (auto& buffer : network->buffers())
      if (buffer.is_floating_point()) buffer.add_(torch::rand_like(buffer));
  }

  /// Counts before the step of the actions that the network speaks of.
  torch::Tensor counts() const { return in.counts.index_select(1, network->seen_actions()); }

  MdnOutput expected(torch::Tensor& h, torch::Tensor& c) {
    torch::NoGradGuard guard;
    const auto embedded = network->embed(in);
    RecurrentStates states{hidden, cell};
    h = recur_by_operations(network->input_gates(embedded), network->gates_hidden->weight,
                            {torch::arange(hidden.size(0)), {hidden.size(0)}}, states);
    c = states.cell;
    return network->heads(h, embedded, in.counts, network->head_weights());
  }

  MdnRnn network{nullptr};
  MdnInput in;
  torch::Tensor hidden, cell;
};

void expect_close(const torch::Tensor& a, const torch::Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_TRUE(torch::allclose(a, b, 1e-4, 1e-5)) << (a - b).abs().max();
}

void expect_as_in_training(Case& c, FusedMdn& fused) {
  torch::Tensor h, cell;
  const MdnOutput expected = c.expected(h, cell);
  torch::Tensor next_h = c.hidden, next_c = c.cell;
  const FusedOutput output = fused.step(c.in, next_h, next_c);
  expect_close(next_h, h);
  expect_close(next_c, cell);
  expect_close(output.change, expected.change);
  expect_close(output.reward, expected.reward);
  expect_close(output.end, expected.end);
  const auto counts = CountChange::decode(c.counts(), expected.counts.argmax(-1),
                                        c.network->spec.env.max_choices);
  EXPECT_TRUE(torch::equal(output.counts, counts));
  EXPECT_FALSE(torch::equal(output.counts, c.counts()));
  torch::Tensor carried_h = c.hidden, carried_c = c.cell;
  fused.advance(c.in, carried_h, carried_c);
  EXPECT_TRUE(torch::equal(carried_h, next_h));
  EXPECT_TRUE(torch::equal(carried_c, next_c));
}

TEST(FusedMdn, SaysWhatTheNetworkSaysInTraining) {
  Case c;
  FusedMdn fused(c.network);
  expect_as_in_training(c, fused);
}

TEST(FusedMdn, RowsMayBecomeFewer) {
  Case c;
  FusedMdn fused(c.network);
  expect_as_in_training(c, fused);
  for (torch::Tensor* part : {&c.in.latent, &c.in.counts, &c.in.primary, &c.in.choice,
                              &c.in.context, &c.hidden, &c.cell})
    *part = part->narrow(0, 20, 70);
  expect_as_in_training(c, fused);
}

TEST(FusedMdn, TakesCountsAboveThoseOfItsSpec) {
  Case c;
  c.in.counts = c.in.counts + 3 * c.network->spec.env.max_choices;
  torch::Tensor h, cell;
  const MdnOutput expected = c.expected(h, cell);
  FusedMdn fused(c.network);
  torch::Tensor next_h = c.hidden, next_c = c.cell;
  fused.advance(c.in, next_h, next_c);
  expect_close(next_h, h);
  expect_close(next_c, cell);
}

TEST(FusedMdn, FollowsTheNetworkAsItIsTrained) {
  Case c;
  FusedMdn fused(c.network);
  torch::Tensor h = c.hidden, cell = c.cell;
  fused.step(c.in, h, cell);
  c.shake();
  expect_as_in_training(c, fused);
}

TEST(FusedMdn, ActionsNeverSeenAndNoOpStayAsTheyAre) {
  Case c;
  const LatentMask before{c.in.counts, c.in.counts.unsqueeze(2).to(torch::kInt16)};
  const Rows rows(torch::zeros_like(c.in.primary), torch::zeros({kRows, 1, 1}, torch::kInt32));
  const auto none = torch::zeros_like(c.counts());
  const auto after = c.network->with_counts(before, rows, c.in, none).totals;
  const int64_t no_op = c.network->spec.env.no_op();
  for (int64_t a = 0; a < after.size(1); ++a)
    EXPECT_TRUE(torch::equal(after.select(1, a), a == 1 || a == no_op
                                                     ? c.in.counts.select(1, a)
                                                     : torch::zeros_like(c.in.primary))) << a;
}

TEST(FusedMdn, LeavesWhatItWasGivenAndWhatItGaveOut) {
  Case c;
  FusedMdn fused(c.network);
  const auto hidden = c.hidden.clone(), counts = c.counts();
  torch::Tensor h = c.hidden, cell = c.cell;
  const auto given = fused.step(c.in, h, cell).counts;
  const auto kept = given.clone(), first_h = h, kept_h = h.clone();
  c.in.counts = c.in.counts.index_copy(1, c.network->seen_actions(), given);
  fused.step(c.in, h, cell);
  EXPECT_TRUE(torch::equal(c.hidden, hidden));
  EXPECT_TRUE(torch::equal(given, kept));
  EXPECT_TRUE(torch::equal(first_h, kept_h));
  EXPECT_FALSE(torch::equal(given, counts));
}

TEST(FusedMdn, SameBytesOnOneThread) {
  Case c;
  FusedMdn fused(c.network);
  torch::Tensor many = c.hidden, one = c.hidden, many_c = c.cell, one_c = c.cell;
  const auto columns = fused.step(c.in, many, many_c).change.clone();
  const int threads = torch::get_num_threads();
  torch::set_num_threads(1);
  EXPECT_TRUE(torch::equal(fused.step(c.in, one, one_c).change, columns));
  torch::set_num_threads(threads);
  EXPECT_TRUE(torch::equal(many, one));
}

}  // namespace
}  // namespace reverie
