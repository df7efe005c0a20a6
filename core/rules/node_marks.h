#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/hash.h"
#include "core/ir/graph.h"

namespace reverie {

/// How much of a node a commit changed.
enum class Mark : uint8_t { kUnchanged = 0, kUses = 1, kStructure = 2 };

/// Marks on a few nodes; all others are unchanged.
class NodeMarks {
 public:
  NodeMarks() : table_(64, {-1, Mark::kUnchanged}) {}

  /// The stronger of both marks stays.
  void mark(NodeId node, Mark how) {
    if (2 * nodes_.size() >= table_.size()) grow();
    auto& entry = find(node);
    if (entry.first < 0) {
      entry.first = node.index;
      nodes_.push_back(node);
    }
    entry.second = std::max(entry.second, how);
  }
  Mark of(NodeId node) const { return const_cast<NodeMarks*>(this)->find(node).second; }
  /// In the order in which they were first marked.
  const std::vector<NodeId>& nodes() const { return nodes_; }

 private:
  using Entry = std::pair<int32_t, Mark>;
  Entry& find(NodeId node) {
    size_t at = mix64(static_cast<uint64_t>(node.index)) & (table_.size() - 1);
    while (table_[at].first >= 0 && table_[at].first != node.index)
      at = (at + 1) & (table_.size() - 1);
    return table_[at];
  }
  void grow() {
    std::vector<Entry> old(2 * table_.size(), {-1, Mark::kUnchanged});
    old.swap(table_);
    for (const Entry& entry : old)
      if (entry.first >= 0) find({entry.first}) = entry;
  }

  std::vector<Entry> table_;  // open addressing; a power of two
  std::vector<NodeId> nodes_;
};

}  // namespace reverie
