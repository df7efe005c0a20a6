#include <algorithm>
#include <cmath>
#include <limits>

#include "core/exec/reference/indexing.h"
#include "core/exec/reference/kernels.h"

namespace reverie::reference {
namespace {

/// [batch, length, columns], of which a head has `size` columns of each `width`.
struct Heads {
  const double* data;
  int64_t length, width, size;

  const double* of(int64_t batch, int64_t head) const {
    return data + batch * length * width + head * size;
  }
};

/// What is added to the scores [queries, keys] of a head.
class Masks {
 public:
  Masks(const KernelCall& call, size_t mask, const Shape& scores)
      : filtered_(call.attributes.number("mask_filter_value")),
        looks_back_(call.attributes.integer("unidirectional") != 0),
        scores_(scores) {
    if (call.has_input(mask)) mask_ = &call.inputs[mask];
    if (call.has_input(5)) added_ = broadcast_to(call.inputs[5], scores);
  }

  void add_to(std::span<double> head_scores, int64_t batch, int64_t head) const {
    const int64_t keys = scores_[3], per_head = scores_[2] * keys;
    const int64_t first = (batch * scores_[1] + head) * per_head;
    for (int64_t i = 0; i < per_head; ++i) {
      double& score = head_scores[static_cast<size_t>(i)];
      if (!added_.empty()) score += added_[static_cast<size_t>(first + i)];
      if (looks_back_ && i % keys > i / keys)
        score += std::numeric_limits<float>::lowest();
      else if (is_filtered(batch, i % keys))
        score += filtered_;
    }
  }

 private:
  bool is_filtered(int64_t batch, int64_t key) const {
    if (mask_ == nullptr) return false;
    const auto mask = mask_->data<int64_t>();
    const bool is_length = mask_->shape().size() == 1;
    return is_length ? key >= mask[static_cast<size_t>(batch)]
                     : mask[static_cast<size_t>(batch * scores_[3] + key)] <= 0;
  }

  double filtered_;
  bool looks_back_;
  Shape scores_;  ///< [batch, heads, queries, keys]
  const Tensor* mask_ = nullptr;
  std::vector<double> added_;
};

void softmax(std::span<double> row) {
  const double largest = *std::ranges::max_element(row);
  double sum = 0;
  for (double& value : row) sum += value = std::exp(value - largest);
  for (double& value : row) value /= sum;
}

int64_t lead(int64_t extent) { return std::max<int64_t>(extent, 1); }

/// scores [queries, keys] = scale * q * k'.
void multiply_keys(const Heads& q, const Heads& k, int64_t batch, int64_t head, double scale,
                   double* scores) {
  gemm({.rows = q.length,
        .columns = k.length,
        .inner = q.size,
        .trans_b = true,
        .lda = lead(q.width),
        .ldb = lead(k.width),
        .ldc = k.length,
        .alpha = scale,
        .beta = 0},
       q.of(batch, head), k.of(batch, head), scores);
}

/// result = scores * v; the rows of the result have `width` columns.
void multiply_values(const double* scores, int64_t queries, const Heads& v, int64_t batch,
                     int64_t head, double* result, int64_t width) {
  gemm({.rows = queries,
        .columns = v.size,
        .inner = v.length,
        .lda = v.length,
        .ldb = lead(v.width),
        .ldc = lead(width),
        .beta = 0},
       scores, v.of(batch, head), result + batch * queries * width + head * v.size);
}

Tensor attend(const KernelCall& call, const Heads& q, const Heads& k, const Heads& v, size_t mask) {
  Tensor result = call.new_output();
  const std::span<double> out = result.data<double>();
  if (k.length == 0) std::ranges::fill(out, 0);
  if (out.empty() || k.length == 0) return result;
  const int64_t batch = result.shape()[0], heads = call.attributes.integer("num_heads");
  const double given = call.attributes.number("scale");
  const double scale = given == 0 ? 1 / std::sqrt(static_cast<double>(q.size)) : given;
  const Masks masks(call, mask, {batch, heads, q.length, k.length});
  const auto keys = static_cast<size_t>(k.length);
  std::vector<double> scores(static_cast<size_t>(q.length) * keys);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t head = 0; head < heads; ++head) {
      multiply_keys(q, k, b, head, scale, scores.data());
      masks.add_to(scores, b, head);
      for (size_t at = 0; at < scores.size(); at += keys)
        softmax(std::span(scores).subspan(at, keys));
      multiply_values(scores.data(), q.length, v, b, head, out.data(), result.shape()[2]);
    }
  return result;
}

/// A copy of rows of `bias.size()` elements, or of all of them without a bias.
std::vector<double> shifted(std::span<const double> rows, std::span<const double> bias) {
  std::vector<double> sum(rows.begin(), rows.end());
  for (size_t i = 0; !bias.empty() && i < sum.size(); ++i) sum[i] += bias[i % bias.size()];
  return sum;
}

std::vector<Tensor> joint_attention(const KernelCall& call) {
  const Shape& x = call.inputs[0].shape();
  const int64_t joint = call.inputs[1].shape()[1], hidden = joint / 3;
  std::vector<double> projected(static_cast<size_t>(x[0] * x[1] * joint));
  gemm({.rows = x[0] * x[1],
        .columns = joint,
        .inner = x[2],
        .lda = lead(x[2]),
        .ldb = lead(joint),
        .ldc = lead(joint),
        .beta = 0},
       call.inputs[0].data<double>().data(), call.inputs[1].data<double>().data(),
       projected.data());
  if (call.has_input(2)) projected = shifted(projected, call.inputs[2].data<double>());
  const int64_t size = hidden / call.attributes.integer("num_heads");
  const auto heads = [&](int64_t which) {
    return Heads{projected.data() + which * hidden, x[1], joint, size};
  };
  return {attend(call, heads(0), heads(1), heads(2), 3)};
}

std::vector<Tensor> multi_head_attention(const KernelCall& call) {
  std::span<const double> bias;
  if (call.has_input(3)) bias = call.inputs[3].data<double>();
  std::vector<double> data[3];
  Heads heads[3];
  for (size_t i = 0; i < 3; ++i) {
    const Shape& shape = call.inputs[i].shape();
    const auto columns = static_cast<size_t>(shape[2]);
    data[i] = shifted(call.inputs[i].data<double>(), bias.first(bias.empty() ? 0 : columns));
    bias = bias.subspan(bias.empty() ? 0 : columns);
    heads[i] = {data[i].data(), shape[1], shape[2],
                shape[2] / call.attributes.integer("num_heads")};
  }
  return {attend(call, heads[0], heads[1], heads[2], 4)};
}

Tensor with_axes(const Tensor& tensor, const std::vector<int64_t>& perm) {
  const Strides strides = contiguous_strides(tensor.shape());
  Shape shape;
  std::vector<AxisOffsets> axes;
  for (const int64_t axis : perm) {
    const auto from = static_cast<size_t>(axis);
    shape.push_back(tensor.shape()[from]);
    AxisOffsets& offsets = axes.emplace_back();
    for (int64_t i = 0; i < shape.back(); ++i) offsets.push_back(i * strides[from]);
  }
  Tensor result({tensor.type().dtype, shape});
  copy_mapped(tensor.bytes(), result.bytes(), size_of(tensor.type().dtype), axes, nullptr);
  return result;
}

std::vector<Tensor> fused_attention(const KernelCall& call) {
  const Attributes& attributes = call.attributes;
  const Tensor q = with_axes(call.inputs[0], attributes.integers("q_perm")),
               k = with_axes(call.inputs[1], attributes.integers("k_perm")),
               v = with_axes(call.inputs[2], attributes.integers("v_perm"));
  const int64_t queries = q.shape().end()[-2], depth = q.shape().back(), keys = k.shape().back(),
                width = v.shape().back();
  Shape scores_shape = q.shape(), result_shape = q.shape();
  scores_shape.back() = keys;
  result_shape.back() = width;
  std::vector<double> scores(static_cast<size_t>(element_count(scores_shape)));
  if (call.has_input(3)) scores = broadcast_to(call.inputs[3], scores_shape);
  Tensor result({q.type().dtype, result_shape});
  const int64_t one = queries * keys, heads = one == 0 ? 0 : std::ssize(scores) / one;
  for (int64_t head = 0; head < heads; ++head) {
    const std::span<double> here(scores.data() + head * one, static_cast<size_t>(one));
    gemm({.rows = queries,
          .columns = keys,
          .inner = depth,
          .lda = lead(depth),
          .ldb = keys,
          .ldc = keys,
          .alpha = attributes.number("scale"),
          .beta = 1},
         q.data<double>().data() + head * queries * depth,
         k.data<double>().data() + head * depth * keys, here.data());
    for (size_t row = 0; row < here.size(); row += static_cast<size_t>(keys))
      softmax(here.subspan(row, static_cast<size_t>(keys)));
    gemm({.rows = queries,
          .columns = width,
          .inner = keys,
          .lda = keys,
          .ldb = lead(width),
          .ldc = lead(width),
          .beta = 0},
         here.data(), v.data<double>().data() + head * keys * width,
         result.data<double>().data() + head * queries * width);
  }
  return {with_axes(result, attributes.integers("perm"))};
}

}  // namespace

std::vector<KernelRow> attention_kernels() {
  return {{"JointAttention", joint_attention},
          {"MultiHeadAttention", multi_head_attention},
          {"FusedAttention", fused_attention}};
}

}  // namespace reverie::reference
