#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/shared_vector.h"
#include "core/base/small_list.h"
#include "core/ir/attributes.h"
#include "core/ir/schema.h"
#include "core/ir/types.h"
#include "core/ir/value_range.h"
#include "core/ir/weight.h"

namespace reverie {

/// Index of a node in its graph. Stable while the node lives, never reused within a graph; a copy
/// of a graph has the same ids.
struct NodeId {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const NodeId&) const = default;
};

/// Index of a value (one output of one node) in its graph; like NodeId.
struct ValueId {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const ValueId&) const = default;
};

struct GraphOutput {
  std::string name;
  ValueId value;
};

/// What is told of a node, by key; ONNX calls it metadata_props.
using NodeNotes = std::vector<std::pair<std::string, std::string>>;

/// What a node and its outputs are called in the file that they came from, and what else that tells
/// of the node.
struct NodeNames {
  std::string node;
  std::vector<std::string> outputs = {};  ///< may be shorter; empty where one has no name
  NodeNotes notes = {};
};

/// A tensor program: a directed acyclic graph of operators over statically shaped values. A value
/// type: it holds no device, timing or backend state, and copies are independent. A copy takes
/// constant time; what both hold is shared until it is changed. Graph inputs and constants are
/// nodes without inputs (`input_op`, `constant_op`). Spans into a graph are valid until it is
/// changed.
///
/// A node is constant when it is a Constant or computed from constants alone; such work happens
/// once, before run time, and costs nothing. Opaque nodes and operators that keep constants as they
/// are (OpSchema::keeps_constants) never are.
class Graph {
 public:
  // --- Building -------------------------------------------------------------------------------
  /// InputError when the name is taken.
  ValueId add_input(const std::string& name, TensorType type);
  ValueId add_constant(WeightPtr weight);
  /// Adds a node; attributes are brought into canonical form, output types are inferred. Trailing
  /// absent inputs are dropped. InputError when arity, attributes or shapes do not fit; its message
  /// names the operator and the input types.
  NodeId add_node(const OpSchema& op, std::span<const ValueId> inputs, Attributes attributes = {});
  /// The same with attributes that OpSchema::resolve has already seen (shared, not copied) and
  /// types that are already inferred; for rewriting, where both were checked when proposed.
  NodeId add_node(const OpSchema& op, std::span<const ValueId> inputs,
                  std::shared_ptr<const Attributes> attributes, std::span<const TensorType> types);
  /// The only output of a new node; shorthand for builders.
  ValueId add(std::string_view op, std::initializer_list<ValueId> inputs,
              Attributes attributes = {});
  void add_output(const std::string& name, ValueId value);

  /// For messages and files; no part of what the graph means, so that it is neither compared nor
  /// hashed. Copies of the graph share the names. A node that a rewrite adds has none.
  void set_names(NodeId node, std::shared_ptr<const NodeNames> names);

  // --- Changing -------------------------------------------------------------------------------
  /// Every use of `from`, graph outputs included, becomes a use of `to`. Their types must be equal.
  /// Constancy and ranges of what depends on them are brought up to date. Appends to `touched`,
  /// when it is given, each user, and what has another range now with its users.
  void replace_all_uses(ValueId from, ValueId to, std::vector<NodeId>* touched = nullptr);
  /// Removes `node` if none of its outputs is used, then its inputs' producers likewise. Graph
  /// inputs stay. Appends what was removed to `removed` when it is given.
  void erase_if_dead(NodeId node, std::vector<NodeId>* removed = nullptr);
  /// Removes everything that no output depends on, graph inputs excepted.
  void erase_dead();
  /// The same graph with ids numbered along topological_order(), without gaps.
  Graph compacted() const;

  // --- Samples of symbolic extents (core/ir/types.h) --------------------------------------------
  /// Compacted graphs, one for each sample, side by side in one. nullopt where they differ in more
  /// than extents, attributes and the values of constants.
  static std::optional<Graph> of_samples(std::span<const Graph> samples);
  /// 1 where nothing varies.
  size_t samples() const;
  /// At one sample alone, with the same ids.
  Graph sample(size_t index) const;

  // --- Nodes ----------------------------------------------------------------------------------
  /// Number of live nodes, inputs and constants included.
  int node_count() const { return live_nodes_; }
  /// All ids ever given out are below this; for arrays indexed by NodeId.
  int node_capacity() const { return static_cast<int>(nodes_.size()); }
  int value_capacity() const { return static_cast<int>(values_.size()); }
  bool alive(NodeId node) const { return nodes_[at(node)].op != nullptr; }
  const OpSchema& op(NodeId node) const { return *nodes_[at(node)].op; }
  const Attributes& attributes(NodeId node) const { return *nodes_[at(node)].attributes; }
  const std::shared_ptr<const Attributes>& shared_attributes(NodeId node) const {
    return nodes_[at(node)].attributes;
  }
  /// An absent optional input is an invalid id.
  std::span<const ValueId> inputs(NodeId node) const { return nodes_[at(node)].inputs; }
  std::span<const ValueId> outputs(NodeId node) const { return nodes_[at(node)].outputs; }
  ValueId output(NodeId node, int index = 0) const { return nodes_[at(node)].outputs[index]; }
  /// nullptr unless the node is a Constant.
  const WeightPtr& weight(NodeId node) const { return nodes_[at(node)].weight; }
  /// nullptr where it has none.
  const std::shared_ptr<const NodeNames>& names(NodeId node) const {
    return nodes_[at(node)].names;
  }
  /// Computed from constants alone.
  bool is_constant(NodeId node) const { return nodes_[at(node)].constant; }
  /// Of each of its outputs.
  ValueRange range(NodeId node) const { return nodes_[at(node)].range; }
  /// Costs time when the graph runs: no input, constant or folded work.
  bool is_work(NodeId node) const { return !is_constant(node) && &op(node) != &input_op(); }

  // --- Values ---------------------------------------------------------------------------------
  const TensorType& type(ValueId value) const { return *values_[at(value)].type; }
  NodeId producer(ValueId value) const { return values_[at(value)].producer; }
  int output_index(ValueId value) const { return values_[at(value)].output_index; }
  /// One entry per use, so a node that uses the value twice stands here twice. Unordered.
  std::span<const NodeId> users(ValueId value) const { return values_[at(value)].users; }
  bool is_constant(ValueId value) const { return is_constant(producer(value)); }
  ValueRange range(ValueId value) const { return range(producer(value)); }
  bool is_output(ValueId value) const;
  /// Uses by nodes and as graph outputs together.
  int use_count(ValueId value) const;

  // --- The whole ------------------------------------------------------------------------------
  /// Input nodes in the order in which they were added.
  const std::vector<NodeId>& inputs() const { return inputs_; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }
  const std::string& input_name(NodeId input) const { return attributes(input).text("name"); }
  /// Live ids in ascending order.
  std::vector<NodeId> nodes() const;
  /// Producers before users; depth-first from the outputs in order, inputs in order. It depends on
  /// the structure alone, not on ids. Unused graph inputs come last.
  std::vector<NodeId> topological_order() const;
  /// The same for what `roots` depend on, and nothing else.
  std::vector<NodeId> topological_order(std::span<const ValueId> roots) const;
  /// InternalError with the node and the reason when an invariant does not hold: types as inferred,
  /// uses and producers consistent, no cycle, no dangling id.
  void validate() const;
  /// Bytes of the weights as a file has to store them: every constant value that a non-constant
  /// node or an output uses, once, by `stored_bytes`.
  int64_t weight_bytes() const;
  /// Of a constant value: Weight::least_bytes, or those of its type where it is still to be
  /// computed.
  int64_t stored_bytes(ValueId value) const;

 private:
  struct Node {
    const OpSchema* op = nullptr;  // null: erased
    std::shared_ptr<const Attributes> attributes;
    WeightPtr weight;
    std::shared_ptr<const NodeNames> names;
    SmallList<ValueId, 4> inputs;
    SmallList<ValueId, 2> outputs;
    bool constant = false;
    ValueRange range = ValueRange::kFinite;
  };
  struct Value {
    std::shared_ptr<const TensorType> type;
    NodeId producer;
    int32_t output_index = 0;
    int32_t graph_output_uses = 0;
    SmallList<NodeId, 4> users;
  };
  static size_t at(NodeId node) { return static_cast<size_t>(node.index); }
  static size_t at(ValueId value) { return static_cast<size_t>(value.index); }

  NodeId append_node(Node node, std::span<const TensorType> types);
  bool computed_from_constants(const Node& node) const;
  ValueRange computed_range(const Node& node, DType dtype) const;
  void compute_ranges();
  void update_what_follows(NodeId node, std::vector<NodeId>* touched);
  void remove_user(ValueId value, NodeId user);

  SharedVector<Node> nodes_;
  SharedVector<Value> values_;
  std::vector<NodeId> inputs_;
  std::vector<GraphOutput> outputs_;
  int live_nodes_ = 0;
};

/// A node as a message names it: "Gather at embedding", or "Gather" where it has no name; the
/// operator of an opaque node is the one that it stands for. Long names are cut.
std::string described(const Graph& graph, NodeId node);
/// Types of a node's inputs; an absent one has known() == false.
std::vector<TensorType> input_types(const Graph& graph, NodeId node);
std::vector<TensorType> output_types(const Graph& graph, NodeId node);
/// Whether a node is carried through untouched, so that the graph cannot be run.
bool has_opaque_node(const Graph& graph);
/// Whether rounding may decide what the node gives (OpSchema::steps).
bool is_step(const Graph& graph, NodeId node);
int64_t flops(const Graph& graph, NodeId node);
int64_t traffic_bytes(const Graph& graph, NodeId node);

}  // namespace reverie

template <>
struct std::hash<reverie::NodeId> {
  size_t operator()(reverie::NodeId id) const noexcept { return static_cast<size_t>(id.index); }
};
template <>
struct std::hash<reverie::ValueId> {
  size_t operator()(reverie::ValueId id) const noexcept { return static_cast<size_t>(id.index); }
};
