#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/shared_vector.h"
#include "core/base/small_list.h"
#include "core/cost/cost_model.h"
#include "core/ir/graph.h"
#include "env/environment.h"

namespace reverie {

class Regions;  // env/rewrite/regions.h

/// Features of a tensor program. Only work and graph inputs are nodes: a constant, or what is
/// computed from constants, shows as the count and bytes of constant inputs of its users, so that
/// graphs stay small. Nodes stand in topological order (Graph::topological_order), edges by
/// receiver, then by operand; hence isomorphic graphs have equal features.
///
/// A node that a step does not touch keeps its row ("best gain" apart, where the step changes what
/// is offered at it), which is what storage and caches share. Targets are shares of the current
/// cost.
///
/// Names of the columns; log(x) is log2(1 + x). Extents are those of output 0, the innermost last,
/// 0 where it has fewer. Values of the graph are relative to the start, but for sizes and matches.
struct GraphFeatureNames {
  std::vector<std::string> nodes, edges, graph;
};
const GraphFeatureNames& graph_feature_names();

/// An input of a node that is not constant.
struct ReadValue {
  NodeId producer;
  int32_t output = 0;   ///< which one of the producer's
  int32_t operand = 0;  ///< which one of the reader's
};

/// What a node shows as long as nothing next to it changes.
struct NodeRow {
  int64_t cost = 0;                 ///< run time in picoseconds
  std::array<float, 28> columns{};  ///< "cost" and "best gain" are 0
  SmallList<ReadValue, 2> reads;
};

/// What is asked of each node, constants included; apart, as it is small.
struct NodeKind {
  int32_t type = -1;  ///< of the operator; -1: constant, and not shown
  int32_t reads = 0;  ///< how many values it reads that are not constant
};

/// The rows of a graph under rewriting, brought up to date by difference. Copies share what they
/// have in common.
class NodeRows {
 public:
  NodeRows() = default;
  NodeRows(const Graph& graph, CostModel& model);
  /// `changed`: nodes that came, and those whose inputs or uses changed; may hold duplicates and
  /// erased nodes. No rewrite changes whether a node that stays is constant.
  void update(const Graph& graph, CostModel& model, std::span<const NodeId> changed);
  const NodeRow& operator[](NodeId node) const { return rows_[static_cast<size_t>(node.index)]; }
  NodeKind kind(NodeId node) const { return kinds_[static_cast<size_t>(node.index)]; }

 private:
  SharedVector<NodeRow, 3> rows_;    ///< by index
  SharedVector<NodeKind, 6> kinds_;  ///< likewise
};

/// What the features are relative to.
struct FeatureContext {
  Cost initial;
  int64_t initial_weight_bytes = 0;
  Cost cost;  ///< of the graph
  int64_t weight_bytes = 0;
  int64_t matches = 0;
  /// The gains of the matches that lie at a node, in percent of the initial cost.
  std::vector<std::pair<NodeId, float>> gains;
  const Regions* regions = nullptr;
};

/// `order`: the graph's topological order.
GraphFeatures graph_features(const Graph& graph, std::span<const NodeId> order,
                             const NodeRows& rows, const FeatureContext& context);

}  // namespace reverie
