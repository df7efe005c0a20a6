#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/ir/graph.h"
#include "core/rules/operator_index.h"
#include "core/rules/pattern.h"

namespace reverie {

/// How the operators of a pattern are reached one after another from a node that stands for one of
/// them, along the edges of the graph; where nothing leads to an operator, every node is tried.
struct MatchPlan {
  enum class Via { kAnchor, kProducer, kUser, kAnywhere };
  struct Step {
    int op = -1;
    Via via = Via::kAnchor;
    int value = -1;  ///< the pattern value whose producer or user it is
  };
  std::vector<Step> steps;
};

/// A rule made ready for matching.
struct MatchRule {
  std::shared_ptr<const RulePattern> pattern;
  std::vector<MatchPlan> plans;  ///< by the source operator that the anchor stands for
  bool reads_uses = false;
  /// Pattern values from which the target computes an output although they need not be computed
  /// before it; unless they are constants a cycle is possible.
  std::vector<int> risky_values;
};

/// Operators next to a node, as bits; several operators may share one.
struct Neighbours {
  uint64_t producers = 0;  ///< of its inputs
  uint64_t users = 0;      ///< of its outputs

  static uint64_t bit(const OpSchema& op) {
    return uint64_t{1} << (static_cast<unsigned>(op.id) % 64);
  }
  /// All bits for users where there are very many.
  static Neighbours of(const Graph& graph, NodeId node);
  bool include(const Neighbours& needed) const {
    return (needed.producers & ~producers) == 0 && (needed.users & ~users) == 0;
  }
};

/// The rules of a set with an index by operator.
class MatchProgram {
 public:
  struct Anchor {
    int rule = -1;
    int op = -1;
    Neighbours needed;  ///< no other node of a graph can stand for the operator
  };
  explicit MatchProgram(const RuleSet& rules);

  const std::vector<MatchRule>& rules() const { return rules_; }
  /// Source operators with that row. In a graph without alternatives only those whose needed
  /// neighbours a node has can be found at it.
  std::span<const Anchor> anchors(const OpSchema& op) const {
    return by_op_[static_cast<size_t>(op.id)];
  }
  /// Whether some condition reads the uses of a variable, which no matched node makes.
  bool reads_uses_of_variables() const { return reads_uses_of_variables_; }
  /// By OpSchema::id: whether nodes of the operator are looked for everywhere.
  const std::vector<bool>& sought_anywhere() const { return sought_anywhere_; }

 private:
  std::vector<MatchRule> rules_;
  std::vector<std::vector<Anchor>> by_op_;
  bool reads_uses_of_variables_ = false;
  std::vector<bool> sought_anywhere_;
};

/// A pattern laid over a graph: one node per source operator and values per pattern value. Its
/// values lie in the graph; it holds as long as that does not change.
class Embedding {
 public:
  NodeId node(int op) const { return nodes_[static_cast<size_t>(op)]; }
  std::span<const NodeId> nodes() const { return nodes_; }
  std::span<const ValueId> values(int value) const { return values_[static_cast<size_t>(value)]; }
  Binding binding() const;

 private:
  friend class Matcher;
  std::vector<NodeId> nodes_;
  std::vector<std::span<const ValueId>> values_;
  std::vector<uint8_t> bound_;
};

/// Which values of a graph are known to be equal, where it holds alternatives: a class of values is
/// named by one of them, and every input of a node is such a name.
class ValueClasses {
 public:
  virtual ~ValueClasses() = default;
  /// Nodes with an output in the class of that name, each once.
  virtual std::span<const NodeId> producers(ValueId name) const = 0;
  /// The names of the classes of a node's outputs.
  virtual std::span<const ValueId> outputs(NodeId node) const = 0;
};

/// Finds the embeddings of patterns; one object can be used for many searches.
class Matcher {
 public:
  /// Whether a node may stand for a source operator.
  using Filter = std::function<bool(int op, NodeId node)>;
  using Sink = std::function<void(const Embedding&)>;

  /// With `classes`, a tensor is a class of values, and any node that computes it may be matched.
  /// With `index`, of the operators that the rules seek anywhere; else all nodes are tried.
  explicit Matcher(const Graph& graph, const ValueClasses* classes = nullptr,
                   const OperatorIndex* index = nullptr)
      : graph_(graph), index_(index), classes_(classes) {}
  Matcher(const Graph& graph, const OperatorIndex& index) : Matcher(graph, nullptr, &index) {}
  /// Every embedding in which `node` stands for source operator `op`, structure and plain attribute
  /// values checked; conditions are the caller's.
  void find(const MatchRule& rule, int op, NodeId node, const Filter& filter, const Sink& sink);

 private:
  struct Lists {
    int inputs = 0;  ///< ways to lay the pattern's inputs over the node's
    int outputs = 0;
    bool swappable = false;
  };
  void extend(size_t step);
  void try_node(size_t step, NodeId node);
  std::span<const ValueId> outputs(NodeId node) const {
    return classes_ == nullptr ? graph_.outputs(node) : classes_->outputs(node);
  }
  Lists alternatives(const SourceOp& op, NodeId node) const;
  bool attributes_fit(const SourceOp& op, NodeId node) const;
  bool lay(const std::vector<int>& patterns, std::span<const ValueId> actual, int way, bool swap);
  bool bind(int value, std::span<const ValueId> actual);
  void undo(size_t mark);

  const Graph& graph_;
  const OperatorIndex* index_ = nullptr;
  const ValueClasses* classes_ = nullptr;
  const RulePattern* pattern_ = nullptr;
  const MatchPlan* plan_ = nullptr;
  NodeId anchor_;
  const Filter* filter_ = nullptr;
  const Sink* sink_ = nullptr;
  Embedding embedding_;
  std::vector<int> trail_;
};

}  // namespace reverie
