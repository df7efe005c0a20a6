#include "controller/policy/segments.h"

namespace reverie {
namespace {

/// Of x [N], [segments].
torch::Tensor sum_within(const torch::Tensor& x, const torch::Tensor& segment, int64_t segments) {
  return torch::zeros({segments}, x.options()).index_add(0, segment, x);
}

}  // namespace

torch::Tensor range_like(int64_t n, const torch::Tensor& like) {
  return torch::arange(n, like.options().dtype(torch::kInt64));
}

torch::Tensor log_softmax_within(const torch::Tensor& logits, const torch::Tensor& segment,
                                 int64_t segments) {
  return logits - sum_within(logits.exp(), segment, segments).log().index_select(0, segment);
}

torch::Tensor entropy_within(const torch::Tensor& log_probability, const torch::Tensor& inner,
                             const torch::Tensor& segment, int64_t segments) {
  const auto surprise = inner.defined() ? inner - log_probability : -log_probability;
  return sum_within(log_probability.exp() * surprise, segment, segments);
}

torch::Tensor best_within(const torch::Tensor& value, const torch::Tensor& segment,
                          int64_t segments) {
  const auto sizes = segment.bincount({}, segments);
  const auto begin = sizes.cumsum(0) - sizes;
  const auto column = range_like(value.size(0), segment) - begin.index_select(0, segment);
  const auto table = torch::full({segments, sizes.max().item<int64_t>()}, kNever, value.options())
                         .index_put({segment, column}, value);
  return begin + table.argmax(1);
}

}  // namespace reverie
