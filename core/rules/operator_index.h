#pragma once

#include <cstdint>
#include <vector>

#include "core/base/shared_vector.h"
#include "core/ir/graph.h"

namespace reverie {

/// The nodes of some operators, for patterns whose operators nothing leads to. Copies share what
/// they have in common.
class OperatorIndex {
 public:
  /// `wanted`: by OpSchema::id, whether nodes of that operator are kept.
  explicit OperatorIndex(const std::vector<bool>& wanted) : wanted_(wanted) {
    nodes_.extend(wanted.size());
  }

  void add(const Graph& graph, NodeId node) {
    const auto op = static_cast<size_t>(graph.op(node).id);
    if (!wanted_[op]) return;
    places_.extend(static_cast<size_t>(node.index) + 1);
    places_.edit(static_cast<size_t>(node.index)) = {static_cast<int32_t>(op),
                                                     static_cast<int32_t>(nodes_[op].size())};
    nodes_.edit(op).push_back(node);
  }
  /// `node` may be erased already, or of an operator that is not kept.
  void remove(NodeId node) {
    if (static_cast<size_t>(node.index) >= places_.size()) return;
    const Place place = places_[static_cast<size_t>(node.index)];
    if (place.op < 0) return;
    auto& list = nodes_.edit(static_cast<size_t>(place.op));
    const NodeId last = list[list.size() - 1];
    list.edit(static_cast<size_t>(place.index)) = last;
    places_.edit(static_cast<size_t>(last.index)).index = place.index;
    list.pop_back();
    places_.edit(static_cast<size_t>(node.index)).op = -1;
  }
  /// In no particular order.
  template <class Use>
  void for_each(const OpSchema& op, const Use& use) const {
    const auto& list = nodes_[static_cast<size_t>(op.id)];
    for (size_t i = 0; i < list.size(); ++i) use(list[i]);
  }

 private:
  struct Place {
    int32_t op = -1;
    int32_t index = -1;
  };
  std::vector<bool> wanted_;
  SharedVector<SharedVector<NodeId, 5>, 0> nodes_;  // by operator
  SharedVector<Place, 5> places_;                   // by node
};

}  // namespace reverie
