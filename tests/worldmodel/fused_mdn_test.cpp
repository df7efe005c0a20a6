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
    for (auto& parameter : network->parameters())
      parameter.add_(0.3 * torch::randn_like(parameter));
    for (auto& buffer : network->buffers())
      if (buffer.is_floating_point()) buffer.add_(torch::rand_like(buffer));
  }

  /// Counts before the step of the actions that the network speaks of.
  torch::Tensor counts() const { return in.counts.index_select(1, network->seen_actions()); }

  MdnOutput expected(torch::Tensor& h, torch::Tensor& c) {
    torch::NoGradGuard guard;
    const auto embedded = network->embed(in);
    RecurrentStates states{hidden, cell};
    h = recur(network->input_gates(embedded), network->gates_hidden->weight,
              {torch::arange(hidden.size(0)), {hidden.size(0)}}, states);
    c = states.cell;
    return network->heads(h, embedded, in.counts, network->head_weights());
  }

  /// The recurrent states, for writing, two rows apart and backwards.
  RecurrentStates scattered() const {
    const auto at = [&](const torch::Tensor& x) {
      return torch::zeros({2 * x.size(0), x.size(1)}).index_copy(0, place(), x);
    };
    return {at(hidden), at(cell)};
  }
  torch::Tensor place() const { return 2 * torch::arange(hidden.size(0)).flip(0); }
  torch::Tensor of_rows(const torch::Tensor& x) const { return x.index_select(0, place()); }

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
  const RecurrentStates next = c.scattered();
  const FusedOutput output = fused.step(c.in, c.place(), next);
  expect_close(c.of_rows(next.hidden), h);
  expect_close(c.of_rows(next.cell), cell);
  EXPECT_EQ(next.hidden.count_nonzero().item<int64_t>(), h.numel());  // nothing between the places
  expect_close(output.change, expected.change);
  expect_close(output.reward, expected.reward);
  expect_close(output.end, expected.end);
  const auto counts =
      CountChange::decode(c.counts(), expected.counts.argmax(-1), c.network->spec.env.max_choices);
  EXPECT_TRUE(torch::equal(output.counts, counts));
  EXPECT_FALSE(torch::equal(output.counts, c.counts()));
  const RecurrentStates carried = c.scattered();
  fused.advance(c.in, c.place(), carried);
  EXPECT_TRUE(torch::equal(carried.hidden, next.hidden));
  EXPECT_TRUE(torch::equal(carried.cell, next.cell));
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
  for (torch::Tensor* part :
       {&c.in.latent, &c.in.counts, &c.in.primary, &c.in.choice, &c.in.context, &c.hidden, &c.cell})
    *part = part->narrow(0, 20, 70);
  expect_as_in_training(c, fused);
}

TEST(FusedMdn, TakesCountsAboveThoseOfItsSpec) {
  Case c;
  c.in.counts = c.in.counts + 3 * c.network->spec.env.max_choices;
  torch::Tensor h, cell;
  const MdnOutput expected = c.expected(h, cell);
  FusedMdn fused(c.network);
  const RecurrentStates next = c.scattered();
  fused.advance(c.in, c.place(), next);
  expect_close(c.of_rows(next.hidden), h);
  expect_close(c.of_rows(next.cell), cell);
}

TEST(FusedMdn, FollowsTheNetworkAsItIsTrained) {
  Case c;
  FusedMdn fused(c.network);
  fused.step(c.in, c.place(), c.scattered());
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
                                                     : torch::zeros_like(c.in.primary)))
        << a;
}

TEST(FusedMdn, LeavesCountsThatItGaveOut) {
  Case c;
  FusedMdn fused(c.network);
  const auto counts = c.counts();
  const auto given = fused.step(c.in, c.place(), c.scattered()).counts;
  const auto kept = given.clone();
  c.in.counts = c.in.counts.index_copy(1, c.network->seen_actions(), given);
  fused.step(c.in, c.place(), c.scattered());
  EXPECT_TRUE(torch::equal(given, kept));
  EXPECT_FALSE(torch::equal(given, counts));
}

TEST(FusedMdn, SameBytesOnOneThread) {
  Case c;
  FusedMdn fused(c.network);
  const RecurrentStates many = c.scattered(), one = c.scattered();
  const auto columns = fused.step(c.in, c.place(), many).change.clone();
  const int threads = torch::get_num_threads();
  torch::set_num_threads(1);
  EXPECT_TRUE(torch::equal(fused.step(c.in, c.place(), one).change, columns));
  torch::set_num_threads(threads);
  EXPECT_TRUE(torch::equal(many.hidden, one.hidden));
}

}  // namespace
}  // namespace reverie
