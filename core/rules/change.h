#pragma once

#include <cstdint>
#include <vector>

#include "core/ir/graph.h"
#include "core/ir/structural_hash.h"
#include "core/rules/instance.h"

namespace reverie {

/// What taking a match does to a graph, found out without touching the graph.
class Change {
 public:
  /// A value of the successor: one of the graph, or a new one by its number.
  struct Ref {
    bool fresh = false;
    int32_t index = -1;
    bool operator==(const Ref&) const = default;
  };

  Change(const Graph& graph, const Binding& binding, const Instance& instance);

  /// Nodes that die.
  const std::vector<NodeId>& removed() const { return removed_; }
  /// Nodes whose uses decided which ones die; may hold duplicates.
  const std::vector<NodeId>& looked_at() const { return looked_at_; }
  /// Whether new node i is used and comes; some are not where an output is not used at all.
  bool comes(size_t node) const { return comes_[node] != 0; }
  bool all_come() const;
  int64_t weight_bytes_delta() const;
  /// Hash of the successor; `hash` is the graph's.
  uint64_t hash_after(const StructuralHash& hash) const;

  struct Applied {
    std::vector<NodeId> added;
    std::vector<NodeId> touched;  ///< nodes whose inputs changed; may hold duplicates
    std::vector<NodeId> removed;
    /// Producers of values whose uses changed; may hold duplicates and removed nodes.
    std::vector<NodeId> used_otherwise;
    bool outputs = false;  ///< some output of the graph is another value
  };
  /// Changes `graph`, which must equal the one given to the constructor.
  Applied apply(Graph& graph) const;

 private:
  friend class ChangeHash;
  Ref ref(const Operand& operand) const;
  Ref resolve(ValueId value) const;
  Ref follow(Ref ref) const { return ref.fresh ? ref : resolve({ref.index}); }
  int& uses(Ref ref);
  void count_uses();
  void remove_dead();
  bool has_uses(NodeId node);
  bool is_removed(NodeId node) const;

  const Graph& graph_;
  const Binding& binding_;
  const Instance& instance_;
  std::vector<int32_t> first_output_;  ///< number of the first output of each new node
  std::vector<int32_t> owner_;         ///< new node per new value
  std::vector<int> fresh_uses_;
  std::vector<std::pair<ValueId, int>> old_uses_;
  std::vector<std::pair<ValueId, Ref>> moved_;
  std::vector<NodeId> removed_;
  std::vector<NodeId> looked_at_;
  std::vector<uint8_t> comes_;
};

}  // namespace reverie
