#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.h"

namespace reverie {

/// An operator to be placed.
struct CostNode {
  std::string name, op;
  int64_t persistent_bytes = 0;  ///< on its device all the time: weights
  int64_t temporary_bytes = 0;   ///< while it runs
  int group = -1;                ///< nodes of one group stay on one device; -1: it is free
};

/// What a node gives to others. It is sent once to every other device that
/// reads it.
struct CostTensor {
  static constexpr Picoseconds kByLink{-1};

  int producer = 0;
  int64_t bytes = 0;
  Picoseconds transfer = kByLink;  ///< over any link, or what the link needs for the bytes
  std::vector<int> readers;        ///< nodes, each once
};

/// What costs are made of, so that those of fused nodes follow from it
/// (fusion.h): a node takes launch + max(arithmetic, moved bytes / bandwidth),
/// or nothing where it starts no kernel (Williams, Waterman and Patterson,
/// "Roofline", 2009).
struct CostParts {
  struct Kind {
    double bytes_per_second = 0;  ///< of a kernel that streams through memory; above 0
    Picoseconds launch;           ///< of a kernel
    bool operator==(const Kind&) const = default;
  };
  std::vector<Kind> kinds;              ///< in the order of the graph's
  std::vector<Picoseconds> arithmetic;  ///< by node and, within it, by kind: without memory, launch
  std::vector<int64_t> moved_bytes;     ///< by node: read and written, weights among them

  bool operator==(const CostParts&) const = default;
};

/// Operators with their costs on each kind of device, and what they send each
/// other. Immutable.
class CostGraph {
 public:
  static constexpr Picoseconds kCannotRun{std::numeric_limits<int64_t>::min()};

  /// `costs`: by node and, within it, by kind of device, in the order of
  /// `kinds`; kCannotRun where it cannot run. InputError for a cycle, a negative
  /// or missing number, a node that is not there or can run nowhere, or times
  /// that sum to more than 53 days.
  CostGraph(std::string name, std::vector<std::string> kinds, std::vector<CostNode> nodes,
            std::vector<Picoseconds> costs, std::vector<CostTensor> tensors,
            std::optional<CostParts> parts = std::nullopt);

  const std::string& name() const { return name_; }
  const std::vector<std::string>& kinds() const { return kinds_; }
  const std::vector<CostNode>& nodes() const { return nodes_; }
  /// In the order of their producers.
  const std::vector<CostTensor>& tensors() const { return tensors_; }
  /// Empty where only the costs are known.
  const std::optional<CostParts>& parts() const { return parts_; }
  int size() const { return static_cast<int>(nodes_.size()); }

  /// Where it cannot run: longer than an hour, or than everything else together.
  Picoseconds cost(int node, int kind) const { return costs_[index(node, kind)]; }
  bool can_run(int node, int kind) const { return can_run_.empty() || can_run_[index(node, kind)]; }
  /// The number of a kind. InputError where no node has a cost on it.
  int kind_named(const std::string& name) const;
  /// Numbers of the tensors that a node reads.
  std::span<const int> inputs(int node) const { return inputs_[static_cast<size_t>(node)]; }
  /// Of those that it writes: from the first to before the last.
  std::pair<int, int> outputs(int node) const {
    return {first_output_[static_cast<size_t>(node)], first_output_[static_cast<size_t>(node) + 1]};
  }
  /// All nodes, each after those that it reads of; of several that could come,
  /// the lowest number.
  const std::vector<int>& order() const { return order_; }

  /// The same with these colocation groups, one a node; -1: the node is free.
  CostGraph with_groups(const std::vector<int>& groups) const;

 private:
  size_t index(int node, int kind) const {
    return static_cast<size_t>(node) * kinds_.size() + static_cast<size_t>(kind);
  }
  void settle_forbidden();
  void require_numbers() const;
  void require_parts() const;
  void connect();
  void sort();

  std::string name_;
  std::vector<std::string> kinds_;
  std::vector<CostNode> nodes_;
  std::vector<Picoseconds> costs_;
  std::vector<bool> can_run_;  ///< like costs; empty: everything everywhere
  std::vector<CostTensor> tensors_;
  std::optional<CostParts> parts_;
  std::vector<std::vector<int>> inputs_;
  std::vector<int> first_output_, order_;
};

// Files in the format placement-graph/1 (env/placement/README.md), and in it:
//
// - Out-edges of one node that name the same number as their "tensor" are one
//   tensor; those without a number are one where bytes and time are the same.
// - An edge that leads "to" null says of a tensor that nobody reads.
// - A cost of null says that the node cannot run on this kind.
// - "kinds" gives "bytes_per_second" and "launch_us" of each kind of device.
//   Then each node has "arithmetic_us" by kind, and "moved_bytes": CostParts.

/// Kinds in the order of the alphabet. InputError with the file and what is
/// wrong there.
CostGraph read_cost_graph(const std::string& path);
/// Reads as the same graph but for the order of kinds, where no time is longer
/// than 37 minutes. InputError where it cannot be written.
void write_cost_graph(const CostGraph& graph, const std::string& path);

}  // namespace reverie
