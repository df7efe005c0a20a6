#include "core/rules/node_order.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/error.h"

namespace reverie {
namespace {

/// What the search looks at from a node, in order; from the root: the outputs, then the inputs.
std::vector<NodeId> children_of(const Graph& graph, NodeId node) {
  std::vector<NodeId> children;
  if (node.valid()) {
    for (const ValueId input : graph.inputs(node))
      if (input.valid()) children.push_back(graph.producer(input));
    return children;
  }
  for (const GraphOutput& output : graph.outputs())
    children.push_back(graph.producer(output.value));
  children.insert(children.end(), graph.inputs().begin(), graph.inputs().end());
  return children;
}

}  // namespace

/// Does the search again where a change made it go another way.
class OrderRepair {
 public:
  OrderRepair(NodeOrder& order, const Graph& graph) : order_(order), graph_(graph) {}

  /// Nothing when so much moved that all is better done anew.
  std::optional<NodeOrder::Moved> run(const NodeOrder::Change& change) {
    for (const NodeId node : change.touched)
      if (graph_.alive(node)) suspect(node);
    if (change.outputs) suspect(kRoot);
    while (!pending_.empty()) {
      const auto next = std::min_element(pending_.begin(), pending_.end(),
                                         [&](NodeId a, NodeId b) { return end_of(a) < end_of(b); });
      const NodeId node = *next;
      pending_.erase(next);
      if (order_.listed(node)) search_again(node);  // else another search comes by
      if (work_ > kMostWork) return std::nullopt;
    }
    for (const NodeId node : change.removed)
      REVERIE_CHECK(!order_.listed(node), "an erased node kept its place");
    for (const auto& [node, first] : adrift_)
      REVERIE_CHECK(order_.listed(node), "node {} lost its place", node.index);
    return NodeOrder::Moved{false, std::move(moved_), work_};
  }

 private:
  using Event = NodeOrder::Event;
  static constexpr NodeId kRoot = NodeOrder::kRoot;
  static constexpr int kMostWork = 20000;
  static constexpr int kMostBetween = 500;
  static constexpr size_t kMostUsers = 50;

  /// An event, or the block that it opens.
  struct Item {
    int32_t event = -1;
    bool block = false;
    bool keeps_labels = false;
  };

  static int32_t entering(NodeId node) { return NodeOrder::entering(node); }
  static int32_t leaving(NodeId node) { return NodeOrder::leaving(node); }
  uint64_t label(int32_t event) const { return order_.event(event).label; }
  uint64_t begin_of(NodeId node) const { return label(entering(node)); }
  uint64_t end_of(NodeId node) const { return label(leaving(node)); }

  void suspect(NodeId node) {
    if (!is_pending(node)) pending_.push_back(node);
  }

  // --- Searching ------------------------------------------------------------------------------
  void search_again(NodeId top) {
    top_ = top;
    items_.clear();
    taken_.clear();
    done_.clear();
    aside_.clear();
    struct Visit {
      NodeId node;
      std::vector<NodeId> children;
      size_t next = 0;
    };
    std::vector<Visit> stack;
    stack.push_back({top, children_of(graph_, top)});
    while (!stack.empty() && work_ <= kMostWork) {
      Visit& visit = stack.back();
      if (visit.next < visit.children.size()) {
        const NodeId child = visit.children[visit.next++];
        ++work_;
        if (known(child)) continue;
        if (may_take_block(child)) {
          take_block(child);
        } else {
          enter(child);
          stack.push_back({child, children_of(graph_, child)});
        }
        continue;
      }
      if (visit.node != top) leave(visit.node);
      stack.pop_back();
    }
    if (work_ > kMostWork) return;
    set_aside(entering(top_), leaving(top_));
    link_items();
    label_items();
    suspect_users();
  }

  /// Whether the search has left the node before it comes to this point.
  bool known(NodeId node) const {
    if (!order_.listed(node)) return done_.contains(node);
    const uint64_t end = end_of(node);
    return end < begin_of(top_) ||
           std::any_of(taken_.begin(), taken_.end(), [&](const auto& range) {
             return range.first <= end && end <= range.second;
           });
  }

  bool may_take_block(NodeId node) {
    if (!order_.listed(node)) return false;
    const uint64_t begin = begin_of(node);
    const uint64_t end = end_of(node);
    for (const NodeId other : pending_)
      if (order_.listed(other) && begin <= end_of(other) && end_of(other) <= end) return false;
    if (graph_.inputs(node).empty()) return true;
    // What was left between top and here, and is still in the list, is not known yet.
    if (end > end_of(top_)) return false;
    int left = kMostBetween;
    for (int32_t at = order_.event(entering(node)).previous; at != entering(top_);
         at = order_.event(at).previous) {
      ++work_;
      if (--left == 0) return false;
      if (NodeOrder::is_leaving(at) && alive(at) && may_feed(NodeOrder::node_of(at), end))
        return false;
    }
    return true;
  }

  /// Whether something that was left no later than `end` may be computed from the node.
  bool may_feed(NodeId node, uint64_t end) {
    for (const ValueId output : graph_.outputs(node)) {
      if (graph_.users(output).size() > kMostUsers) return true;
      for (const NodeId user : graph_.users(output)) {
        ++work_;
        if (order_.listed(user) && end_of(user) <= end) return true;
      }
    }
    return false;
  }

  bool alive(int32_t event) const {
    const NodeId node = NodeOrder::node_of(event);
    return !node.valid() || graph_.alive(node);
  }

  void take_block(NodeId node) {
    const int32_t first = entering(node);
    const int32_t last = leaving(node);
    taken_.emplace_back(label(first), label(last));
    order_.link(order_.event(first).previous, order_.event(last).next);
    items_.push_back({first, true});
  }

  void enter(NodeId node) { items_.push_back({entering(node)}); }

  void leave(NodeId node) {
    if (order_.listed(node)) {
      set_aside(entering(node), leaving(node));
      unlist(entering(node));
      unlist(leaving(node));
    }
    done_.insert(node);
    std::erase(pending_, node);
    items_.push_back({leaving(node)});
  }

  void unlist(int32_t event) {
    if (order_.event(event).previous == NodeOrder::kOut) return;
    order_.link(order_.event(event).previous, order_.event(event).next);
    order_.edit(event).previous = NodeOrder::kOut;
  }

  /// What is left between two events is erased, or found from elsewhere later on.
  void set_aside(int32_t first, int32_t last) {
    for (int32_t at = order_.event(first).next; at != last;) {
      ++work_;
      const int32_t left = std::exchange(at, order_.event(at).next);
      unlist(left);
      if (NodeOrder::is_leaving(left) && alive(left)) aside_.push_back(NodeOrder::node_of(left));
    }
  }

  /// Who uses what the search did not find again has to look for it: of those that are not searched
  /// again anyway, the one that comes by it first.
  void suspect_users() {
    for (const NodeId node : aside_)
      if (!order_.listed(node)) adrift_[node] = suspect_first_user(node);
    for (auto& [node, first] : adrift_)
      if (!order_.listed(node) && first.valid() && !order_.listed(first))
        first = suspect_first_user(node);
  }

  NodeId suspect_first_user(NodeId node) {
    bool is_output = &graph_.op(node) == &input_op();
    size_t users = 0;
    for (const ValueId output : graph_.outputs(node)) {
      is_output = is_output || graph_.is_output(output);
      users += graph_.users(output).size();
    }
    if (is_output) suspect(kRoot);
    NodeId first = users > kMostUsers ? next_user(node, static_cast<int>(users)) : NodeId{};
    if (!first.valid()) first = first_user(node);
    if (first.valid()) suspect(first);
    return first;
  }

  NodeId first_user(NodeId node) {
    NodeId first;
    uint64_t least = kUnset;
    for (const ValueId output : graph_.outputs(node))
      for (const NodeId user : graph_.users(output)) {
        ++work_;
        if (!order_.listed(user)) continue;
        const uint64_t when = comes_by(user, node);
        if (when >= least || is_pending(user)) continue;
        least = when;
        first = user;
      }
    return first;
  }

  /// The same for a node that was set aside just now, so that the search comes by none before it
  /// leaves the top. Gives up after so many events.
  NodeId next_user(NodeId node, int most) {
    const auto comes_by_here = [&](NodeId user, int32_t event) {
      return uses(user, node) && comes_by(user, node) == label(event) && !is_pending(user);
    };
    for (int32_t at = leaving(top_); at != leaving(kRoot) && most > 0; --most) {
      ++work_;
      const NodeId user = NodeOrder::is_leaving(at) ? found_from(at, most) : NodeOrder::node_of(at);
      if (user.valid() && comes_by_here(user, at)) return user;
      at = order_.event(at).next;
    }
    return {};
  }

  /// The node from which the one that is left by the event was entered.
  NodeId found_from(int32_t event, int& most) const {
    for (int32_t at = order_.event(event).next; most > 0; --most) {
      if (NodeOrder::is_leaving(at)) return NodeOrder::node_of(at);
      at = order_.event(leaving(NodeOrder::node_of(at))).next;
    }
    return {};
  }

  bool uses(NodeId node, NodeId producer) const {
    return std::ranges::any_of(graph_.inputs(node), [&](ValueId input) {
      return input.valid() && graph_.producer(input) == producer;
    });
  }

  bool is_pending(NodeId node) const { return std::ranges::find(pending_, node) != pending_.end(); }

  /// Label of the event after which the search looks at `input` from a node that is in the list.
  uint64_t comes_by(NodeId node, NodeId input) const {
    uint64_t when = begin_of(node);
    for (const ValueId value : graph_.inputs(node)) {
      if (!value.valid()) continue;
      const NodeId producer = graph_.producer(value);
      if (producer == input) break;
      if (order_.listed(producer)) when = std::max(when, end_of(producer));
    }
    return when;
  }

  // --- Listing --------------------------------------------------------------------------------
  void link_items() {
    int32_t last = entering(top_);
    for (const Item& item : items_) {
      order_.link(last, item.event);
      last = item.block ? leaving(NodeOrder::node_of(item.event)) : item.event;
    }
    order_.link(last, leaving(top_));
  }

  /// Chooses the blocks that keep their labels: an ascending sequence, by size.
  void choose_kept() {
    std::vector<size_t> blocks;
    for (size_t i = 0; i < items_.size(); ++i)
      if (items_[i].block && label(items_[i].event) > begin_of(top_) &&
          label(items_[i].event) < end_of(top_))
        blocks.push_back(i);
    std::vector<double> best(blocks.size());
    std::vector<size_t> from(blocks.size());
    size_t last = blocks.size();
    for (size_t i = 0; i < blocks.size(); ++i) {
      const NodeId node = NodeOrder::node_of(items_[blocks[i]].event);
      from[i] = blocks.size();
      for (size_t j = 0; j < i; ++j, ++work_)
        if (end_of(NodeOrder::node_of(items_[blocks[j]].event)) < begin_of(node) &&
            best[j] > best[i]) {
          best[i] = best[j];
          from[i] = j;
        }
      best[i] += static_cast<double>(end_of(node) - begin_of(node));
      if (last == blocks.size() || best[i] > best[last]) last = i;
    }
    for (; last != blocks.size(); last = from[last]) items_[blocks[last]].keeps_labels = true;
  }

  void label_items() {
    choose_kept();
    std::vector<std::pair<int32_t, int32_t>> runs;  // of events that get new labels
    bool open = false;
    for (const Item& item : items_) {
      if (item.keeps_labels) {
        open = false;
        continue;
      }
      const NodeId node = NodeOrder::node_of(item.event);
      const int32_t last = item.block ? leaving(node) : item.event;
      for (int32_t at = item.event;; at = order_.event(at).next) {
        ++work_;
        order_.edit(at).label = kUnset;
        if (NodeOrder::is_leaving(at)) moved_.push_back(NodeOrder::node_of(at));
        if (at == last) break;
      }
      if (open)
        runs.back().second = last;
      else
        runs.emplace_back(item.event, last);
      open = true;
    }
    for (const auto& [first, last] : runs) give_labels(first, last);
  }

  /// Spreads labels over a stretch of the list, and over more of it on both sides where there are
  /// too few between its neighbours'.
  void give_labels(int32_t first, int32_t last) {
    uint64_t count = 1;
    for (int32_t at = first; at != last; at = order_.event(at).next) ++count;
    int32_t before = order_.event(first).previous;
    int32_t after = order_.event(last).next;
    const auto short_of_labels = [&] {
      return label(before) == kUnset || label(after) == kUnset ||
             label(after) - label(before) < kSpacing * (count + 1);
    };
    for (uint64_t more = count; short_of_labels(); more *= 2)
      for (uint64_t i = 0; i < more; ++i, ++work_) {
        if (before != entering(kRoot)) {
          before = order_.event(before).previous;
          ++count;
        }
        if (after != leaving(kRoot)) {
          after = order_.event(after).next;
          ++count;
        }
      }
    const uint64_t step = (label(after) - label(before)) / (count + 1);
    uint64_t next = label(before);
    for (int32_t at = order_.event(before).next; at != after; at = order_.event(at).next)
      order_.edit(at).label = next += step;
  }

  static constexpr uint64_t kUnset = ~uint64_t{0};
  static constexpr uint64_t kSpacing = 16;

  NodeOrder& order_;
  const Graph& graph_;
  std::vector<NodeId> pending_;
  /// What was set aside and not found at once, and who is to look for it.
  std::unordered_map<NodeId, NodeId> adrift_;
  std::vector<NodeId> moved_;
  int work_ = 0;

  // Of the search that is being done again.
  NodeId top_;
  std::vector<Item> items_;
  std::vector<std::pair<uint64_t, uint64_t>> taken_;  // labels of blocks
  std::unordered_set<NodeId> done_;
  std::vector<NodeId> aside_;
};

void NodeOrder::link(int32_t before, int32_t after) {
  edit(before).next = after;
  edit(after).previous = before;
}

void NodeOrder::rebuild(const Graph& graph) {
  events_ = {};
  events_.extend(2 * static_cast<size_t>(graph.node_capacity()) + 2);
  std::vector<int32_t> sequence = {entering(kRoot)};
  std::vector<uint8_t> seen(static_cast<size_t>(graph.node_capacity()), 0);
  std::vector<std::pair<NodeId, size_t>> stack;  // node, next child to visit
  const std::vector<NodeId> roots = children_of(graph, kRoot);
  const auto enter = [&](NodeId node) {
    if (std::exchange(seen[static_cast<size_t>(node.index)], 1)) return;
    sequence.push_back(entering(node));
    stack.emplace_back(node, 0);
  };
  for (const NodeId root : roots) {
    enter(root);
    while (!stack.empty()) {
      const NodeId node = stack.back().first;
      const auto inputs = graph.inputs(node);
      if (stack.back().second < inputs.size()) {
        const ValueId input = inputs[stack.back().second++];
        if (input.valid()) enter(graph.producer(input));
      } else {
        sequence.push_back(leaving(node));
        stack.pop_back();
      }
    }
  }
  sequence.push_back(leaving(kRoot));
  const uint64_t step = kLastLabel / sequence.size();
  for (size_t i = 0; i < sequence.size(); ++i)
    edit(sequence[i]) = {i * step, i > 0 ? sequence[i - 1] : -1,
                         i + 1 < sequence.size() ? sequence[i + 1] : -1};
}

NodeOrder::Moved NodeOrder::update(const Graph& graph, const Change& change) {
  events_.extend(2 * static_cast<size_t>(graph.node_capacity()) + 2);
  if (auto moved = OrderRepair(*this, graph).run(change)) return std::move(*moved);
  rebuild(graph);
  return {true, {}, graph.node_count()};
}

std::vector<NodeId> NodeOrder::passed_by(NodeId node, const NodeOrder& before,
                                         const Moved& moved) const {
  const auto was_listed = [&](int32_t event) {
    return static_cast<size_t>(event) < before.events_.size() &&
           before.event(event).previous != kOut;
  };
  const auto stayed = [&](int32_t event) {
    return event == entering(kRoot) ||
           (was_listed(event) &&
            std::ranges::find(moved.nodes, node_of(event)) == moved.nodes.end());
  };
  std::vector<NodeId> passed;
  if (!was_listed(leaving(node))) return passed;
  int32_t to = event(leaving(node)).previous;
  while (!stayed(to)) to = event(to).previous;
  const bool later = before.event(to).label > before.position(node);
  for (int32_t at = leaving(node); at != to;) {
    at = later ? before.event(at).next : before.event(at).previous;
    if (is_leaving(at)) passed.push_back(node_of(at));
  }
  for (const NodeId other : moved.nodes)  // which may have come the other way
    if (was_listed(leaving(other)) &&
        (before.position(node) < before.position(other)) != (position(node) < position(other)))
      passed.push_back(other);
  return passed;
}

}  // namespace reverie
