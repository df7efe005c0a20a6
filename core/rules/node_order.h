#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/shared_vector.h"
#include "core/ir/graph.h"

namespace reverie {

/// Graph::topological_order() of a graph that changes, brought up to date by difference. Copies
/// share what they have in common.
///
/// The depth-first search is kept as a list of its events, the entering and the leaving of each
/// node; what lies between the two of a node, its block, is what the search first finds from there.
/// Events carry labels that ascend along the list (Dietz and Sleator 1987 call this order
/// maintenance). After a change the search is done again from each node whose inputs changed,
/// innermost first. A block is taken over as a whole where nothing inside changed and all that the
/// search knew when it came there is known now: knowing more only leaves out what is known.
class NodeOrder {
 public:
  explicit NodeOrder(const Graph& graph) { rebuild(graph); }

  /// Ascends along Graph::topological_order().
  uint64_t position(NodeId node) const { return event(leaving(node)).label; }

  struct Change {
    std::span<const NodeId> touched;  ///< nodes whose inputs changed; may hold erased ones
    std::span<const NodeId> removed;
    bool outputs = false;  ///< whether outputs of the graph changed
  };
  struct Moved {
    bool all = false;
    std::vector<NodeId> nodes;  ///< added ones included
    int64_t work = 0;           ///< nodes and events that were looked at
  };
  /// `graph` is the changed one. Gives nodes among which are all whose place relative to others
  /// changed.
  Moved update(const Graph& graph, const Change& change);
  /// Nodes among which are all that one which moved has passed on its way from its place in the
  /// order as it was `before` the update, erased ones included; none of a node that is new. Work in
  /// proportion to the way.
  std::vector<NodeId> passed_by(NodeId node, const NodeOrder& before, const Moved& moved) const;

 private:
  friend class OrderRepair;
  /// Events are numbered: 0 and 1 are the search's own begin and end, then two for each node.
  struct Event {
    uint64_t label = 0;
    int32_t previous = kOut;
    int32_t next = kOut;
  };
  static constexpr int32_t kOut = -2;  ///< `previous` of an event that is not in the list
  static constexpr uint64_t kLastLabel = uint64_t{1} << 62;
  static constexpr NodeId kRoot{-1};

  static int32_t entering(NodeId node) { return 2 * (node.index + 1); }
  static int32_t leaving(NodeId node) { return 2 * (node.index + 1) + 1; }
  static NodeId node_of(int32_t event) { return {event / 2 - 1}; }
  static bool is_leaving(int32_t event) { return event % 2 == 1; }

  const Event& event(int32_t number) const { return events_[static_cast<size_t>(number)]; }
  Event& edit(int32_t number) { return events_.edit(static_cast<size_t>(number)); }
  bool listed(NodeId node) const { return event(entering(node)).previous != kOut; }
  void rebuild(const Graph& graph);
  void link(int32_t before, int32_t after);

  SharedVector<Event, 5> events_;
};

}  // namespace reverie
