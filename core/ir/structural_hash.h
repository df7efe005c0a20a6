#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/shared_vector.h"
#include "core/ir/graph.h"

namespace reverie {

/// Hash of a graph's structure that can be brought up to date after a local change. Every node is
/// hashed with its ancestors up to kRadius steps away (operator, attributes, types, identity of
/// constants, names of inputs); the hash of the graph is the sum over live nodes plus the outputs
/// in order. It does not depend on ids, on the order of rewrites, or on the process. Graphs that
/// are equal in the sense of `isomorphic` have equal hashes; the converse has to be confirmed.
class StructuralHash {
 public:
  static constexpr int kRadius = 3;

  explicit StructuralHash(const Graph& graph);
  uint64_t value() const;
  /// `changed`: nodes that were added, or whose inputs changed; `removed`: nodes that were erased.
  /// Work is proportional to what lies within kRadius steps downstream of them.
  void update(const Graph& graph, std::span<const NodeId> changed, std::span<const NodeId> removed);
  /// The node's own part of the sum (its neighbourhood of radius kRadius).
  uint64_t of(NodeId node) const;
  /// The node with its ancestors up to `level` steps away, level <= kRadius; for computing the hash
  /// of a graph that differs a little without building it.
  uint64_t level(NodeId node, int level) const {
    return nodes_[static_cast<size_t>(node.index)].level[level];
  }
  /// The part of `value` that the nodes make up: the sum of mix64(of(node)).
  uint64_t sum() const { return sum_; }
  /// `value` from that sum and the hashes of the outputs' producers (`of`) in order.
  static uint64_t combine(uint64_t sum, const Graph& graph, std::span<const uint64_t> producers,
                          std::span<const int> output_indices);

 private:
  struct Levels {
    uint64_t level[kRadius + 1] = {};
    bool counted = false;
  };
  void resize(const Graph& graph);
  void compute(const Graph& graph, NodeId node, int level);

  SharedVector<Levels> nodes_;
  uint64_t sum_ = 0;
  uint64_t value_ = 0;
  std::vector<uint64_t> outputs_;
  std::vector<int> output_indices_;
};

/// Hash of operator, attributes, output types and identity of constants, without neighbours.
uint64_t local_hash(const Graph& graph, NodeId node);

/// Whether both graphs compute the same by the same operators: outputs in order are produced by
/// equal nodes with equal inputs, recursively, with the same sharing. Constants are equal by
/// identity, graph inputs by name. Linear time.
bool isomorphic(const Graph& a, const Graph& b);

}  // namespace reverie
