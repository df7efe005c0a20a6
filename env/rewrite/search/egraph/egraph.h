#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/ir/graph.h"
#include "core/rules/matcher.h"

namespace reverie {

/// Many equal graphs at once (e-graph: Nelson and Oppen, JACM 1980; Willsey et al., "egg", POPL
/// 2021). Its nodes (e-nodes) stand in one Graph, which only grows and may have cycles; values that
/// are known to be equal form a class, named by one of them, and every input of a node is the name
/// of a class. So what reads a graph (conditions, types, constancy, instantiation of rules) reads
/// this one. All values of a class have one type, and all or none of them are constants.
///
/// Nodes are unique by operator, attributes and input classes (hash-consing; the inputs of a
/// commutative operator in any order). Only opaque nodes, which may not be functions of their
/// inputs, are each their own.
class EGraph : public ValueClasses {
 public:
  /// What `start` computes for its outputs, and its inputs. Equal nodes become one.
  EGraph(const Graph& start, CostModel& cost_model);
  /// Adds a graph that computes the same outputs of the same inputs.
  void add_equal(const Graph& graph, CostModel& cost_model);
  EGraph(const EGraph&) = delete;
  EGraph& operator=(const EGraph&) = delete;

  /// The node with these inputs (any values of the classes meant), new if there is none; `cost` is
  /// its cost as work, zero for work on constants.
  NodeId add(const OpSchema& op, std::span<const ValueId> inputs,
             const std::shared_ptr<const Attributes>& attributes, std::span<const TensorType> types,
             const Cost& cost);
  NodeId add_constant(const WeightPtr& weight);
  /// Makes two classes one; false when they are. Nodes that become equal by it stay until
  /// rebuild().
  bool merge(ValueId a, ValueId b);
  /// Makes nodes that have become equal one, and so their values, until no two are equal. Nodes
  /// that read what they compute leave, since no graph can hold them.
  void rebuild();

  const Graph& graph() const { return graph_; }
  /// The name of a value's class.
  ValueId find(ValueId value) const;
  std::span<const NodeId> producers(ValueId name) const override {
    return producers_[static_cast<size_t>(name.index)];
  }
  std::span<const ValueId> outputs(NodeId node) const override {
    return outputs_[static_cast<size_t>(node.index)];
  }
  /// Whether the node has not become equal to another one, or read itself.
  bool alive(NodeId node) const { return alive_[static_cast<size_t>(node.index)] != 0; }
  /// The node that it has become equal to, or itself.
  NodeId find(NodeId node) const;
  const Cost& cost(NodeId node) const { return costs_[static_cast<size_t>(node.index)]; }
  /// Nodes and classes that are alive.
  int64_t node_count() const { return node_count_; }
  int64_t class_count() const { return class_count_; }
  /// Nodes that are new or connected in another way since the last call: every match that was not
  /// there before has one of them. Ascending.
  std::vector<NodeId> take_changed();

 private:
  /// What makes a node the same as another one.
  struct Content {
    const OpSchema* op = nullptr;
    const Attributes* attributes = nullptr;
    const Weight* weight = nullptr;
    std::vector<ValueId> inputs;
  };
  struct Key {
    using is_transparent = void;
    const EGraph* egraph;
    size_t operator()(const Content& content) const;
    size_t operator()(NodeId node) const { return (*this)(egraph->content(node)); }
    bool operator()(const Content& a, const Content& b) const;
    bool operator()(NodeId a, NodeId b) const {
      return a == b || (*this)(egraph->content(a), egraph->content(b));
    }
    bool operator()(NodeId a, const Content& b) const { return (*this)(egraph->content(a), b); }
    bool operator()(const Content& a, NodeId b) const { return (*this)(a, egraph->content(b)); }
  };

  std::vector<ValueId> add_nodes(const Graph& from, CostModel& cost_model);
  Content content(NodeId node) const;
  void settle(NodeId node, const Cost& cost);
  void forget(NodeId node);
  void absorb(NodeId twin, NodeId node);
  void leave(NodeId node);
  bool reads_itself(NodeId node) const;

  Graph graph_;
  std::vector<ValueId> parents_;                // by value: union-find
  std::vector<std::vector<NodeId>> producers_;  // by value; of names only
  std::vector<std::vector<ValueId>> outputs_;   // by node: names
  std::vector<Cost> costs_;                     // by node
  std::vector<NodeId> twins_;                   // by node: what it was found equal to, or itself
  std::vector<uint8_t> alive_;                  // by node
  std::vector<uint8_t> known_;                  // by node: stands in nodes_
  std::unordered_set<NodeId, Key, Key> nodes_;
  std::vector<NodeId> stale_;    // inputs have changed
  std::vector<NodeId> changed_;  // may hold duplicates
  int64_t node_count_ = 0;
  int64_t class_count_ = 0;
};

}  // namespace reverie
