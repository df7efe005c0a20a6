#include "worldmodel/network/segment_attention.h"

#include <cmath>
#include <limits>
#include <vector>

namespace reverie {
namespace {

constexpr int64_t kWider = 2;  // the hidden layer, in widths

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
                                           const torch::Tensor& reads) {
  const auto parts = keys_values_(read).chunk(2, -1);
  const auto query = by_head(query_(own));
  const double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
  auto scores = torch::matmul(query * scale, by_head(parts[0]).transpose(-1, -2));
  if (reads.defined())
    scores = scores.masked_fill(~reads.unsqueeze(1), -std::numeric_limits<float>::infinity());
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
  const int64_t positions = states.size(1), whole = positions / segment * segment;
  const auto own = gated(states, graph), read = own.detach();
  const auto part = [](const torch::Tensor& all, int64_t first, int64_t end) {
    return all.slice(1, first, end);
  };
  const auto first = part(own, 0, segment);
  std::vector<torch::Tensor> attended = {attend(first, first)};
  if (whole > segment) {  // all other whole segments as one batch
    const auto fold = [&](const torch::Tensor& all) {
      return all.reshape({-1, segment, all.size(2)});
    };
    const auto now = fold(part(own, segment, whole));
    const auto before = fold(part(read, 0, whole - segment));
    attended.push_back(
        attend(now, torch::cat({before, now}, 1)).reshape({states.size(0), whole - segment, -1}));
  }
  if (positions > whole && whole > 0) {
    const auto now = part(own, whole, positions);
    attended.push_back(attend(now, torch::cat({part(read, whole - segment, whole), now}, 1)));
  }
  return finish(states, torch::cat(attended, 1));
}

torch::Tensor SegmentAttentionImpl::among(const torch::Tensor& states, const torch::Tensor& before,
                                          const torch::Tensor& reads) {
  return finish(states, attend(gated(states, before), gated(before, before), reads));
}

}  // namespace reverie
