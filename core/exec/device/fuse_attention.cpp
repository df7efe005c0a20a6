#include <algorithm>
#include <numeric>
#include <optional>

#include "core/exec/device/builder.h"
#include "core/exec/device/fuse.h"
#include "core/exec/device/rebuild.h"
#include "core/exec/reference/reference.h"

namespace reverie::device {
namespace {

using Order = std::vector<int64_t>;

/// A tensor with its axes in another order.
struct Turned {
  ValueId value;
  Order perm;
};

struct SpelledOut {
  Turned q, k, v;
  ValueId mask;
  double scale = 1;
  ValueId result;
  Order perm;                    ///< of the result
  std::vector<NodeId> replaced;  ///< nodes that it takes the place of
};

class Finder {
 public:
  explicit Finder(const Graph& graph)
      : graph_(graph), by_node_(static_cast<size_t>(graph.node_capacity()), kNone) {
    for (const NodeId node : graph.topological_order())
      if (std::optional<SpelledOut> found = find(node)) {
        for (const NodeId replaced : found->replaced) index_of(replaced) = std::ssize(all_);
        all_.push_back(std::move(*found));
      }
  }

  bool finds_any() const { return !all_.empty(); }
  /// Which takes the place of the node, perhaps of others too; nullptr where none does.
  const SpelledOut* of(NodeId node) const {
    return is_taken(node) ? &all_[static_cast<size_t>(by_node_[static_cast<size_t>(node.index)])]
                          : nullptr;
  }

 private:
  static constexpr int64_t kNone = -1;

  int64_t& index_of(NodeId node) { return by_node_[static_cast<size_t>(node.index)]; }
  bool is_taken(NodeId node) const { return by_node_[static_cast<size_t>(node.index)] != kNone; }

  /// That ends with the product `last`.
  std::optional<SpelledOut> find(NodeId last) const {
    SpelledOut found;
    if (!is_plain_product(last)) return {};
    const NodeId softmax = producer(last, 0, "Softmax");
    if (!softmax.valid() || !is_along_last_axis(softmax)) return {};
    found.replaced = {last, softmax};
    NodeId scores = graph_.producer(graph_.inputs(softmax)[0]);
    take_mask(scores, found);
    take_scale(scores, found);
    if (!scores.valid() || !is_only_used_within(scores) || !is_plain_product(scores)) return {};
    found.replaced.push_back(scores);
    found.q = turned(graph_.inputs(scores)[0]);
    found.k = turned(graph_.inputs(scores)[1]);
    found.v = turned(graph_.inputs(last)[1]);
    if (!has_equal_batches(scores, last) || !is_narrow(scores, last)) return {};
    take_result(last, found);
    return found;
  }

  /// Of input `i`, if it is this operator and nothing else uses its result.
  NodeId producer(NodeId node, size_t i, std::string_view op) const {
    const NodeId made = graph_.producer(graph_.inputs(node)[i]);
    return graph_.op(made).is(op) && is_only_used_within(made) ? made : NodeId{};
  }
  bool is_only_used_within(NodeId node) const {
    const ValueId value = graph_.output(node);
    return graph_.users(value).size() == 1 && !graph_.is_output(value);
  }
  const Shape& shape(ValueId value) const { return graph_.type(value).shape; }

  bool is_plain_product(NodeId node) const {
    return graph_.is_work(node) && !is_taken(node) && graph_.op(node).is("MatMul") &&
           graph_.inputs(node).size() == 2 &&
           graph_.attributes(node).text("activation") == "none" &&
           is_device_float(graph_.type(graph_.output(node)).dtype) &&
           graph_.type(graph_.output(node)).elements() > 0;
  }
  bool is_along_last_axis(NodeId softmax) const {
    return graph_.attributes(softmax).integer("axis") + 1 ==
           graph_.type(graph_.output(softmax)).rank();
  }

  /// Where `node` adds a mask to scores, that becomes one of what is found, and `node` what makes
  /// the scores.
  void take_mask(NodeId& node, SpelledOut& found) const {
    if (!graph_.op(node).is("Add") || !is_only_used_within(node)) return;
    const Shape& scores = shape(graph_.output(node));
    for (const size_t i : {0, 1}) {
      const ValueId rest = graph_.inputs(node)[i];
      const NodeId made = graph_.producer(rest);
      const bool goes_on =
          graph_.op(made).is("MatMul") || graph_.op(made).is("Mul") || graph_.op(made).is("Div");
      if (!goes_on || shape(rest) != scores || !is_only_used_within(made)) continue;
      found.mask = graph_.inputs(node)[1 - i];
      found.replaced.push_back(node);
      node = made;
      return;
    }
  }

  /// The same of scores that are multiplied with a constant number, or divided by one.
  void take_scale(NodeId& node, SpelledOut& found) const {
    const bool divides = graph_.op(node).is("Div");
    if ((!divides && !graph_.op(node).is("Mul")) || !is_only_used_within(node)) return;
    for (const size_t i : {0, 1}) {
      const ValueId factor = graph_.inputs(node)[1 - i];
      const bool has_same_shape = shape(graph_.inputs(node)[i]) == shape(graph_.output(node));
      if ((divides && i == 1) || !has_same_shape || !graph_.is_constant(factor) ||
          graph_.type(factor).elements() != 1)
        continue;
      const double number = fold(graph_, factor, materialized).to_doubles()[0];
      found.scale = divides ? 1 / number : number;
      found.replaced.push_back(node);
      node = graph_.producer(graph_.inputs(node)[i]);
      return;
    }
  }

  /// What a value is a transposition of.
  Turned turned(ValueId value) const {
    Order perm(shape(value).size());
    std::iota(perm.begin(), perm.end(), 0);
    for (NodeId node = graph_.producer(value);
         graph_.is_work(node) && graph_.op(node).is("Transpose") && !is_taken(node);
         node = graph_.producer(value)) {
      const Order& outer = graph_.attributes(node).integers("perm");
      for (int64_t& axis : perm) axis = outer[static_cast<size_t>(axis)];
      value = graph_.inputs(node)[0];
    }
    return {value, perm};
  }

  bool has_equal_batches(NodeId scores, NodeId last) const {
    const auto batch = [&](ValueId value) {
      const Shape& whole = shape(value);
      return whole.size() < 2 ? Shape{-1} : Shape(whole.begin(), whole.end() - 2);
    };
    const Shape q = batch(graph_.inputs(scores)[0]);
    return q != Shape{-1} && q == batch(graph_.inputs(scores)[1]) &&
           q == batch(graph_.inputs(last)[1]);
  }
  bool is_narrow(NodeId scores, NodeId last) const {
    return shape(graph_.inputs(scores)[0]).back() <= kMostHeadColumns &&
           shape(graph_.inputs(last)[1]).back() <= kMostHeadColumns;
  }

  void take_result(NodeId last, SpelledOut& found) const {
    found.result = graph_.output(last);
    found.perm.resize(shape(found.result).size());
    std::iota(found.perm.begin(), found.perm.end(), 0);
    if (!is_only_used_within(last)) return;
    const NodeId user = graph_.users(found.result)[0];
    if (!graph_.op(user).is("Transpose")) return;
    found.perm = graph_.attributes(user).integers("perm");
    found.result = graph_.output(user);
    found.replaced.push_back(user);
  }

  const Graph& graph_;
  std::vector<SpelledOut> all_;
  std::vector<int64_t> by_node_;
};

}  // namespace

Graph with_attention(const Graph& graph) {
  const Finder finder(graph);
  if (!finder.finds_any()) return graph;
  return rebuilt(graph, [&](NodeId node, Rebuilding& rebuilding) {
    const SpelledOut* found = finder.of(node);
    if (found == nullptr) return false;
    const SpelledOut& one = *found;
    if (node != graph.producer(one.result)) return true;
    std::vector<ValueId> inputs = {one.q.value, one.k.value, one.v.value};
    if (one.mask.valid()) inputs.push_back(one.mask);
    const NodeId fused = rebuilding.add(op_named("FusedAttention"), inputs,
                                        {{"scale", one.scale},
                                         {"q_perm", one.q.perm},
                                         {"k_perm", one.k.perm},
                                         {"v_perm", one.v.perm},
                                         {"perm", one.perm}});
    rebuilding.at(one.result) = rebuilding.to().output(fused);
    return true;
  });
}

}  // namespace reverie::device
