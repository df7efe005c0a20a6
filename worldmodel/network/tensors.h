#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "worldmodel/network/torch.h"

namespace reverie {

// Structs of tensors: T gives pointers to all of its tensors, in a fixed order, by `tensors()`.
// Those that are undefined stay so.

/// `x` with zeros behind it, so that its dimensions from `first` on have the extents of `shape`.
inline torch::Tensor padded_to(const torch::Tensor& x, at::IntArrayRef shape, int64_t first = 1) {
  std::vector<int64_t> pads;  // of the last dimension first: none before, so many behind
  bool any = false;
  for (int64_t d = x.dim() - 1; d >= first; --d) {
    const int64_t pad = shape[static_cast<size_t>(d)] - x.size(d);
    pads.insert(pads.end(), {0, pad});
    any = any || pad > 0;
  }
  return any ? at::constant_pad_nd(x, pads, 0) : x;
}

/// Zeros behind tensors whose extents differ in other dimensions than the first: states of graphs
/// with different numbers of entities.
inline std::vector<torch::Tensor> padded(std::vector<torch::Tensor> list, int64_t first = 1) {
  auto shape = list.front().sizes().vec();
  for (const torch::Tensor& x : list)
    for (size_t d = static_cast<size_t>(first); d < shape.size(); ++d)
      shape[d] = std::max(shape[d], x.size(static_cast<int64_t>(d)));
  for (torch::Tensor& x : list) x = padded_to(x, shape, first);
  return list;
}

/// f of each tensor.
template <class T, class F>
T map_tensors(T x, const F& f) {
  for (torch::Tensor* tensor : x.tensors())
    if (tensor->defined()) *tensor = f(*tensor);
  return x;
}

/// f of each tensor of `a` and the same tensor of `b`.
template <class T, class F>
T map_tensors(T a, T b, const F& f) {
  const auto left = a.tensors(), right = b.tensors();
  for (size_t i = 0; i < left.size(); ++i)
    if (left[i]->defined()) *left[i] = f(*left[i], *right[i]);
  return a;
}

/// f of the list of each tensor over all `parts`, of which there is one at least. Parts that are
/// moved in are let go tensor by tensor.
template <class T, class F>
T join_tensors(std::vector<T> parts, const F& f) {
  T joined;
  const auto out = joined.tensors();
  for (size_t i = 0; i < out.size(); ++i) {
    std::vector<torch::Tensor> list;
    for (T& part : parts) list.push_back(std::move(*part.tensors()[i]));
    if (list.front().defined()) *out[i] = f(list);
  }
  return joined;
}

/// At time t of [B, T, ...].
template <class T>
T at_time(const T& x, int64_t t) {
  return map_tensors(x, [&](const torch::Tensor& tensor) { return tensor.select(1, t); });
}

/// Rows `index` [n] of every tensor.
template <class T>
T select_rows(T x, const torch::Tensor& index) {
  return map_tensors(std::move(x),
                     [&](const torch::Tensor& t) { return t.index_select(0, index); });
}

/// `x` with the rows of `from` in the places `index` [n].
template <class T>
T with_rows(const T& x, const torch::Tensor& index, const T& from) {
  return map_tensors(x, from, [&](const torch::Tensor& to, const torch::Tensor& rows) {
    const auto both = padded({to, rows});
    return both[0].index_copy(0, index, both[1]);
  });
}

/// Writes the rows `index` [n] of `from`, as far as it is defined, into `to` where the two do not
/// share a tensor already.
template <class T>
void keep_rows(T& to, T from, const torch::Tensor& index) {
  const auto left = to.tensors(), right = from.tensors();
  for (size_t i = 0; i < left.size(); ++i)
    if (right[i]->defined() && !left[i]->is_same(*right[i]))
      left[i]->index_copy_(0, index, right[i]->index_select(0, index));
}

/// Row b of `yes` where `choose` [B] bool, else of `no`.
template <class T>
T choose_rows(const torch::Tensor& choose, const T& yes, const T& no) {
  return map_tensors(yes, no, [&](const torch::Tensor& a, const torch::Tensor& b) {
    auto shape = std::vector<int64_t>(a.dim(), 1);
    shape[0] = choose.size(0);
    const auto both = padded({a, b});
    return torch::where(choose.view(shape), both[0], both[1]);
  });
}

/// Rows of all parts, one below the other.
template <class T>
T concatenate(std::vector<T> parts) {
  return join_tensors(std::move(parts), [](const auto& list) { return torch::cat(padded(list)); });
}

/// Along a new first dimension.
template <class T>
T stack(const std::vector<T>& parts) {
  return join_tensors(parts, [](const auto& list) { return torch::stack(padded(list, 0)); });
}

/// [T, B, ...] to [T * B, ...].
template <class T>
T flatten(const T& x) {
  return map_tensors(x, [](const torch::Tensor& t) { return t.flatten(0, 1); });
}

template <class T>
T to_device(const T& x, torch::Device device) {
  return map_tensors(x, [&](const torch::Tensor& t) { return t.to(device); });
}

}  // namespace reverie
