#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/ir/tensor.h"

namespace reverie {

class Graph;

/// The payload of a Constant node: a tensor that costs nothing until it is needed. Immutable and
/// shared between graphs.
///
/// `identity` decides equality of constants in hashes and in comparisons of graphs. It is the same
/// in every process. A small constant (at most kSmallWeight elements, or not floating) is known by
/// its content; a dense large one by a hash of its content; a large fill (`ConstantOfShape`) is an
/// opaque weight known by its name and never equal to another because both hold the same value;
/// what a rule makes (`ones`, `identity` and their like) is known by its formula, whatever its
/// size.
class Weight {
 public:
  static constexpr int64_t kSmallWeight = 64;
  using Loader = std::function<Tensor()>;
  /// Fills `out` with the tensor's bytes from byte `offset` on; from several threads.
  using Reader = std::function<void(int64_t offset, std::span<std::byte> out)>;

  static std::shared_ptr<const Weight> dense(Tensor tensor, const std::string& name = {});
  /// Every element is `value`. `name` is the identity of a large one.
  static std::shared_ptr<const Weight> fill(TensorType type, double value, const std::string& name);
  /// Every element is `value`, which is part of what the graph means.
  static std::shared_ptr<const Weight> constant(TensorType type, double value);
  /// A tensor whose value is part of what the graph means, however large: a mask or a table that
  /// the model computes from numbers that are known.
  static std::shared_ptr<const Weight> known(Tensor tensor, const std::string& name = {});
  /// Of shape [n, n], or [c, c, k...]: one where the first two indices are equal and every further
  /// one is (k-1)/2, the centre of a kernel with same padding; else nought. Part of what the graph
  /// means.
  static std::shared_ptr<const Weight> identity_kernel(TensorType type);
  /// Lies in a file, and is known by its content like a dense one: read once now, and again
  /// whenever it is needed.
  static std::shared_ptr<const Weight> stored(TensorType type, Reader reader,
                                              const std::string& name);
  /// Made on demand; `identity` must name the content uniquely.
  static std::shared_ptr<const Weight> lazy(TensorType type, uint64_t identity, Loader loader,
                                            const std::string& name);
  /// The same weight, which a file may hold as `expression` instead: a graph without inputs, whose
  /// one output it is.
  static std::shared_ptr<const Weight> computed(const Weight& weight,
                                                std::shared_ptr<const Graph> expression);

  /// What a model with symbolic dimensions computes from these, by sample (core/ir/types.h), its
  /// first two at least. No rule may look at it; its tensor is that of sample 0.
  static std::shared_ptr<const Weight> of_samples(
      std::vector<std::shared_ptr<const Weight>> samples);
  bool varies() const { return !samples_.empty(); }
  size_t samples() const { return std::max<size_t>(samples_.size(), 1); }
  /// At one sample alone, of a weight that varies.
  const std::shared_ptr<const Weight>& at(size_t sample) const { return samples_.at(sample); }

  const TensorType& type() const { return type_; }
  uint64_t identity() const { return identity_; }
  /// The initializer's name in the file it came from, or empty; no part of the identity of a small
  /// or dense weight.
  const std::string& name() const { return name_; }
  /// Small, integral, known or given by a formula: its value is part of what the graph means, and
  /// rules may look at it. Others are drawn anew when two graphs are compared.
  bool is_small() const { return small_; }
  bool is_fill() const { return fill_; }
  /// nullptr where it has none.
  const std::shared_ptr<const Graph>& expression() const { return expression_; }
  /// That a file needs to hold it: those of the weights in its expression, where it has one.
  int64_t least_bytes() const { return expression_ == nullptr ? type_.bytes() : expression_bytes_; }
  /// The value of a fill.
  double fill_value() const { return fill_value_; }
  /// Whether it holds what `identity_kernel` of its type does; false where it is not small.
  bool is_identity_kernel() const;

  /// The tensor itself. A fill is built, a stored one read and a lazy one made at each call; a
  /// dense one is shared.
  Tensor materialize() const;
  /// Shows the tensor's bytes in order, piece by piece: of what lies in a file and of a fill, a few
  /// MiB at a time are in memory.
  void visit_bytes(const std::function<void(std::span<const std::byte>)>& visit) const;

 private:
  Weight() = default;
  TensorType type_;
  uint64_t identity_ = 0;
  std::string name_;
  bool small_ = false;
  bool fill_ = false;
  bool identity_kernel_ = false;
  double fill_value_ = 0;
  Tensor dense_;
  Loader loader_;
  Reader reader_;
  std::vector<std::shared_ptr<const Weight>> samples_;  // empty where it does not vary
  std::shared_ptr<const Graph> expression_;
  int64_t expression_bytes_ = 0;
};

using WeightPtr = std::shared_ptr<const Weight>;

}  // namespace reverie
