#include "worldmodel/memory/fused_mdn.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/vector_clones.h"
#include "worldmodel/network/activations.h"

namespace reverie {
namespace {

constexpr int64_t kBlock = 256;  // rows: one block's activations stay in a core's cache

std::vector<torch::Tensor> sources_of(MdnRnnImpl& network) {
  std::vector<torch::Tensor> sources = network.parameters();
  const auto buffers = network.buffers();
  sources.insert(sources.end(), buffers.begin(), buffers.end());
  return sources;
}

torch::Tensor affine(torch::Tensor out, const torch::Tensor& bias, const torch::Tensor& x,
                     const torch::Tensor& weight) {
  return at::addmm_out(out, bias, x, weight);
}

/// The last actions * classes of these rows of the head, with the classes outside and the actions
/// inside.
torch::Tensor class_first(const torch::Tensor& rows, int64_t actions) {
  const int64_t counts = actions * CountChange::classes(), before = rows.size(0) - counts;
  const auto by_class =
      rows.narrow(0, before, counts).view({actions, CountChange::classes()}).t().flatten();
  return torch::cat({rows.narrow(0, 0, before), by_class});
}

REVERIE_VECTOR_CLONES void normalize_row(float* x, const float* mean, const float* deviation,
                                         int64_t columns) {
  constexpr auto kClamp = static_cast<float>(NormalizerImpl::kClamp);
  for (int64_t i = 0; i < columns; ++i)
    x[i] = std::min(std::max((x[i] - mean[i]) / deviation[i], -kClamp), kClamp);
}

/// Writes row `row` of a matrix; returns the place behind it.
float* copy_row(const torch::Tensor& matrix, int64_t row, float* to) {
  return std::copy_n(matrix.data_ptr<float>() + row * matrix.stride(0), matrix.size(1), to);
}

/// Rows of `from` [P, columns] at these places [n] -> `to` [n, columns].
void take_rows(const torch::Tensor& from, const torch::Tensor& place, torch::Tensor to) {
  if (!from.is_cpu()) {
    to.copy_(from.index_select(0, place));
    return;
  }
  const auto at = place.accessor<int64_t, 1>();
  for (int64_t i = 0; i < to.size(0); ++i)
    copy_row(from, at[i], to.data_ptr<float>() + i * to.stride(0));
}

/// The other way.
void put_rows(const torch::Tensor& from, const torch::Tensor& place, torch::Tensor& to) {
  if (!from.is_cpu()) {
    to.index_copy_(0, place, from);
    return;
  }
  const auto at = place.accessor<int64_t, 1>();
  for (int64_t i = 0; i < from.size(0); ++i)
    copy_row(from, i, to.data_ptr<float>() + at[i] * to.stride(0));
}

}  // namespace

/// Of the actions seen, [n, K] each.
struct FusedMdn::NextCounts {
  torch::Tensor before, next;
};

FusedMdn::FusedMdn(MdnRnn network)
    : network_(std::move(network)), sources_(sources_of(*network_)) {}

void FusedMdn::refresh() {
  std::vector<std::pair<const void*, uint32_t>> now;
  for (const torch::Tensor& source : sources_)
    now.emplace_back(source.data_ptr(), source._version());
  if (now == seen_) return;
  auto& m = *network_;
  mean_ = torch::cat({m.latent->mean, m.log_counts->mean});
  deviation_ = torch::cat({m.latent->deviation, m.log_counts->deviation});
  gates_ = torch::cat({m.gates_in->weight, m.gates_hidden->weight}, 1).t();
  actions_ = m.seen_actions();
  preference_ = m.same_counts.squeeze(1).index_select(0, actions_);
  const auto order = class_first(m.head_rows(actions_), actions_.size(0));
  head_ = m.head->weight.index_select(0, order).t();
  head_bias_ = m.head->bias.index_select(0, order);
  logs_ = torch::log1p(torch::arange(m.spec.env.max_choices + 1, mean_.options()));
  input_ = torch::Tensor();
  seen_ = std::move(now);
}

void FusedMdn::reserve(int64_t rows) {
  if (input_.defined() && input_.size(0) >= rows) return;
  const int64_t hidden = network_->config.hidden;
  const auto make = [&](int64_t columns) { return torch::empty({rows, columns}, mean_.options()); };
  input_ = make(network_->input->options.in_features());
  hidden_ = make(3 * hidden);
  open_ = make(4 * hidden);
  cell_ = make(hidden);
  trunk_ = make(hidden);
  columns_ = make(head_.size(1));
}

void FusedMdn::fill_input_on_cpu(const MdnInput& in, int64_t begin, int64_t rows) {
  REVERIE_CHECK_EQ(in.latent.stride(1), 1);
  const auto counts = in.counts.accessor<int64_t, 2>();
  const auto primary = in.primary.accessor<int64_t, 1>();
  const auto logs = logs_.accessor<float, 1>();
  const auto log_of = [&](int64_t count) {  // an environment may offer more than the one M is from
    return count < logs.size(0) ? logs[count] : std::log1p(static_cast<float>(count));
  };
  for (int64_t i = begin; i < begin + rows; ++i) {
    float* const row = input_.data_ptr<float>() + i * input_.stride(0);
    float* x = copy_row(in.latent, i, row);
    for (int64_t a = 0; a < counts.size(1); ++a) *x++ = log_of(counts[i][a]);
    normalize_row(row, mean_.data_ptr<float>(), deviation_.data_ptr<float>(), x - row);
    x = copy_row(network_->actions->weight, primary[i], x);
    x = copy_row(in.choice, i, x);
    copy_row(in.context, i, x);
  }
}

void FusedMdn::fill_input(const MdnInput& in, int64_t begin, int64_t rows) {
  if (input_.is_cpu()) return fill_input_on_cpu(in, begin, rows);
  auto x = input_.narrow(0, begin, rows);
  int64_t at = 0;
  const auto put = [&](const torch::Tensor& part) {
    auto place = x.narrow(1, at, part.size(1));
    place.copy_(part);
    at += part.size(1);
    return place;
  };
  const auto some = [&](const torch::Tensor& part) { return part.narrow(0, begin, rows); };
  put(some(in.latent));
  put(some(in.counts)).log1p_();
  x.narrow(1, 0, at)
      .sub_(mean_)
      .div_(deviation_)
      .clamp_(-NormalizerImpl::kClamp, NormalizerImpl::kClamp);
  put(network_->actions->weight.index_select(0, some(in.primary)));
  put(some(in.choice));
  put(some(in.context));
}

void FusedMdn::recur(const torch::Tensor& place, RecurrentStates& states, int64_t begin) {
  const int64_t hidden = network_->config.hidden, rows = place.size(0);
  auto all = hidden_.narrow(0, begin, rows);
  auto embedded = all.narrow(1, hidden, hidden);
  affine(embedded, network_->input->bias, input_.narrow(0, begin, rows),
         network_->input->weight.t());
  silu_rows(embedded);
  take_rows(states.hidden, place, all.narrow(1, 2 * hidden, hidden));
  auto gates = open_.narrow(0, begin, rows);
  affine(gates, network_->gates_in->bias, all.narrow(1, hidden, 2 * hidden), gates_);
  auto cell = cell_.narrow(0, begin, rows), h = all.narrow(1, 0, hidden);
  take_rows(states.cell, place, cell);
  lstm_rows(gates, cell, h);
  put_rows(cell, place, states.cell);
  put_rows(h, place, states.hidden);
}

void FusedMdn::speak(NextCounts& counts, int64_t begin, int64_t rows) {
  const int64_t hidden = network_->config.hidden;
  auto trunk = trunk_.narrow(0, begin, rows);
  affine(trunk, network_->trunk->bias, hidden_.narrow(0, begin, rows).narrow(1, 0, 2 * hidden),
         network_->trunk->weight.t());
  silu_rows(trunk);
  auto columns = columns_.narrow(0, begin, rows);
  affine(columns, head_bias_, trunk, head_);
  const int64_t count_columns = actions_.size(0) * CountChange::classes();
  auto logits = columns.narrow(1, columns.size(1) - count_columns, count_columns);
  auto out = counts.next.narrow(0, begin, rows);
  CountChange::decode_likeliest(counts.before.narrow(0, begin, rows), logits, preference_,
                                network_->spec.env.max_choices, out);
}

void FusedMdn::run(const MdnInput& in, const torch::Tensor& place, RecurrentStates& states,
                   NextCounts* counts) {
  torch::NoGradGuard guard;
  const int64_t all = in.latent.size(0);
  reserve(all);
  const int64_t block = in.latent.is_cpu() ? kBlock : all;
  at::parallel_for(0, (all + block - 1) / block, 1, [&](int64_t first, int64_t last) {
    torch::NoGradGuard guard;
    for (int64_t i = first; i < last; ++i) {
      const int64_t begin = i * block, rows = std::min(block, all - begin);
      fill_input(in, begin, rows);
      recur(place.narrow(0, begin, rows), states, begin);
      if (counts != nullptr) speak(*counts, begin, rows);
    }
  });
}

FusedOutput FusedMdn::step(const MdnInput& in, const torch::Tensor& place, RecurrentStates states) {
  refresh();
  NextCounts counts{in.counts.index_select(1, actions_), {}};
  counts.next = torch::empty_like(counts.before);
  run(in, place, states, &counts);
  FusedOutput output;
  output.counts = counts.next;
  const auto [change, reward, end, of_counts] = network_->columns();
  const auto columns = columns_.narrow(0, 0, in.latent.size(0));
  output.change = columns.narrow(1, 0, change);
  output.reward = columns.select(1, change);
  output.end = columns.select(1, change + reward);
  return output;
}

}  // namespace reverie
