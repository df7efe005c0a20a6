#include "env/placement/learn/go_attention.h"

#include <cmath>
#include <limits>

namespace reverie {
namespace {

constexpr int64_t kWider = 2;  // the hidden layer, in widths

/// [batch, positions, width] -> [batch * segments, segment, width], with zeros at the end.
torch::Tensor folded(const torch::Tensor& states, int64_t segments, int64_t segment) {
  const int64_t missing = segments * segment - states.size(1);
  return torch::constant_pad_nd(states, {0, 0, 0, missing}, 0)
      .reshape({states.size(0) * segments, segment, states.size(2)});
}

/// Of each segment the one before, and zeros for the first.
torch::Tensor shifted(const torch::Tensor& states, int64_t segments) {
  const auto by_segment = states.reshape({-1, segments, states.size(1), states.size(2)});
  return torch::constant_pad_nd(by_segment.slice(1, 0, segments - 1), {0, 0, 0, 0, 1, 0}, 0)
      .reshape(states.sizes());
}

/// [segments, 1, 1, 2 * segment]: whether a position of the segment before or its own is none.
torch::Tensor hidden_positions(int64_t positions, int64_t segments, int64_t segment) {
  const auto real = torch::arange(segments * segment).reshape({segments, segment}) < positions;
  const auto before =
      torch::cat({torch::zeros({1, segment}, torch::kBool), real.slice(0, 0, segments - 1)});
  return torch::cat({before, real}, 1).logical_not().reshape({segments, 1, 1, 2 * segment});
}

}  // namespace

SegmentAttentionImpl::SegmentAttentionImpl(int64_t width, int64_t heads)
    : heads_(heads),
      gate_(register_module("gate", torch::nn::Linear(width, width))),
      query_(register_module("query", torch::nn::Linear(width, width))),
      keys_values_(register_module("keys_values", torch::nn::Linear(width, 2 * width))),
      output_(register_module("output", torch::nn::Linear(width, width))),
      up_(register_module("up", torch::nn::Linear(width, kWider * width))),
      down_(register_module("down", torch::nn::Linear(kWider * width, width))),
      norm_(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
      second_norm_(register_module("second_norm",
                                   torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))) {}

torch::Tensor SegmentAttentionImpl::gated(const torch::Tensor& states, const torch::Tensor& graph) {
  return norm_(states * gate_(graph).sigmoid());
}

torch::Tensor SegmentAttentionImpl::by_head(const torch::Tensor& states) const {
  return states.reshape({states.size(0), states.size(1), heads_, -1}).transpose(1, 2);
}

torch::Tensor SegmentAttentionImpl::attend(const torch::Tensor& own, const torch::Tensor& read,
                                           const torch::Tensor& hidden) {
  const auto parts = keys_values_(read).chunk(2, -1);
  const auto query = by_head(query_(own));
  const double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
  auto scores = torch::matmul(query * scale, by_head(parts[0]).transpose(-1, -2));
  if (hidden.defined())
    scores = scores.masked_fill(hidden, -std::numeric_limits<float>::infinity());
  const auto mixed = torch::matmul(scores.softmax(-1), by_head(parts[1]));
  return output_(mixed.transpose(1, 2).reshape(own.sizes()));
}

torch::Tensor SegmentAttentionImpl::finish(const torch::Tensor& states,
                                           const torch::Tensor& attended) {
  const auto sum = states + attended;
  return sum + down_(up_(second_norm_(sum)).relu());
}

torch::Tensor SegmentAttentionImpl::forward(const torch::Tensor& states, const torch::Tensor& graph,
                                            int64_t segment) {
  const int64_t batch = states.size(0), positions = states.size(1);
  if (positions <= segment) return next_segment(states, {}, graph);
  const int64_t segments = (positions + segment - 1) / segment;
  const auto own = folded(gated(states, graph), segments, segment);
  const auto read = torch::cat({shifted(own.detach(), segments), own}, 1);
  const auto hidden = hidden_positions(positions, segments, segment);
  const auto attended = attend(own, read, hidden.repeat({batch, 1, 1, 1}));
  return finish(states, attended.reshape({batch, segments * segment, -1}).slice(1, 0, positions));
}

torch::Tensor SegmentAttentionImpl::next_segment(const torch::Tensor& states,
                                                 const torch::Tensor& before,
                                                 const torch::Tensor& graph) {
  const auto own = gated(states, graph);
  const auto read = before.defined() ? torch::cat({gated(before, graph).detach(), own}, 1) : own;
  return finish(states, attend(own, read, {}));
}

}  // namespace reverie
