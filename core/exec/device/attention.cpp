#include <algorithm>

#include "core/exec/device/builder.h"

namespace reverie::device {
namespace {

/// Distances along the axes of a tensor of this shape once they are in the order `perm`.
Strides in_order(const Shape& shape, const std::vector<int64_t>& perm) {
  const Strides own = row_major(shape);
  Strides strides;
  for (const int64_t axis : perm) strides.push_back(own[static_cast<size_t>(axis)]);
  return strides;
}

/// The order that undoes `perm`.
std::vector<int64_t> inverse(const std::vector<int64_t>& perm) {
  std::vector<int64_t> order(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    order[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return order;
}

/// Takes rows and columns away from all axes.
HeadStrides matrix_of(Strides& strides, bool is_transposed = false) {
  const int64_t columns = strides.back(), rows = strides.end()[-2];
  strides.resize(strides.size() - 2);
  return is_transposed ? HeadStrides{0, 0, columns, rows} : HeadStrides{0, 0, rows, columns};
}

}  // namespace

bool lower_attention(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const auto inputs = builder.graph().inputs(node);
  const ValueId output = builder.graph().output(node);
  const Attributes& attributes = builder.graph().attributes(node);
  const auto shape = [&](ValueId value) { return builder.type(value).shape; };
  const auto extent = [&](size_t input, const char* perm, ptrdiff_t axis) {
    return shape(inputs[input])[static_cast<size_t>(attributes.integers(perm).end()[axis])];
  };
  Attention call{.dtype = builder.type(output).dtype,
                 .queries = extent(0, "q_perm", -2),
                 .keys = extent(1, "k_perm", -1),
                 .depth = extent(0, "q_perm", -1),
                 .width = extent(2, "v_perm", -1),
                 .scale = attributes.number("scale"),
                 .has_mask = inputs.size() > 3 && inputs[3].valid()};
  if (std::max(call.depth, call.width) > kMostHeadColumns) return false;

  Shape batch;
  for (const int64_t axis : attributes.integers("q_perm"))
    batch.push_back(shape(inputs[0])[static_cast<size_t>(axis)]);
  Shape scores = batch;
  scores.back() = call.keys;
  batch.resize(batch.size() - 2);
  Strides q = in_order(shape(inputs[0]), attributes.integers("q_perm"));
  Strides k = in_order(shape(inputs[1]), attributes.integers("k_perm"));
  Strides v = in_order(shape(inputs[2]), attributes.integers("v_perm"));
  Strides result = in_order(shape(output), inverse(attributes.integers("perm")));
  Strides mask =
      call.has_mask ? broadcast_strides(shape(inputs[3]), scores) : Strides(scores.size(), 0);
  call.q = matrix_of(q);
  call.k = matrix_of(k, true);
  call.v = matrix_of(v);
  call.mask = matrix_of(mask);
  call.result = matrix_of(result);
  join_axes(batch, {&q, &k, &v, &mask, &result});
  if (batch.size() > 2) return false;
  if (!batch.empty()) call.heads = batch.back();
  if (batch.size() > 1) call.outer = batch.front();
  const auto set_batch = [&](HeadStrides& to, const Strides& from) {
    if (!from.empty()) to[1] = from.back();
    if (from.size() > 1) to[0] = from.front();
  };
  set_batch(call.q, q);
  set_batch(call.k, k);
  set_batch(call.v, v);
  set_batch(call.mask, mask);
  set_batch(call.result, result);

  std::vector<BufferId> reads;
  for (const ValueId input : inputs)
    if (input.valid()) reads.push_back(builder.at(input));
  return builder.add(call, std::move(reads), {builder.define(output)});
}

}  // namespace reverie::device
