#pragma once

#include <functional>
#include <vector>

#include "core/ir/graph.h"

/// Inside of `fused`.
namespace reverie::device {

/// A copy of a graph, under way.
class Rebuilding {
 public:
  explicit Rebuilding(const Graph& graph);
  const Graph& from() const { return graph_; }
  Graph& to() { return copy_; }
  /// What a value is in the copy; not valid where it is not there.
  ValueId& at(ValueId value) { return places_[static_cast<size_t>(value.index)]; }
  /// The same; a constant is copied now where it is not there.
  ValueId needed(ValueId value);
  /// Adds a node that takes values of the original, which may be absent; its types are inferred.
  NodeId add(const OpSchema& op, std::span<const ValueId> inputs, Attributes attributes);
  void copy(NodeId node);

 private:
  const Graph& graph_;
  Graph copy_;
  std::vector<ValueId> places_;
};

/// A copy, for each node of which `replace` is asked, in topological order, but for those whose
/// first result is there. Where it is true, the node is left out, and what its results became has
/// been said by Rebuilding::at, unless nothing needs them. What no output needs any more is left
/// out.
Graph rebuilt(const Graph& graph, const std::function<bool(NodeId, Rebuilding&)>& replace);

}  // namespace reverie::device
