#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

/// What a node shows as long as it lives, whatever becomes of the graph around it.
struct NodeRow {
  int64_t cost = 0;                 ///< run time in picoseconds
  std::array<float, 28> columns{};  ///< those that depend on the surroundings are 0
};

/// The rows of a graph under rewriting, each computed once.
class NodeRows {
 public:
  NodeRows() = default;
  /// Those of a start graph. Copies share them.
  NodeRows(const Graph& start, CostModel& model);
  /// `graph` came from the start graph by rewrites, and NodeRows is for these alone.
  const NodeRow& of(const Graph& graph, CostModel& model, NodeId node);

 private:
  std::shared_ptr<const std::vector<NodeRow>> start_ =
      std::make_shared<const std::vector<NodeRow>>();
  std::vector<std::optional<NodeRow>> since_;  ///< of the nodes that came, by index
};

/// What the features are relative to.
struct FeatureContext {
  Cost initial;
  int64_t initial_weight_bytes = 0;
  Cost cost;  ///< of the graph
  int64_t weight_bytes = 0;
  int64_t matches = 0;
  /// By index of a node: the best gain of the matches that lie at it, in percent of the initial
  /// cost.
  std::vector<std::optional<double>> gains;
  const Regions* regions = nullptr;
};

/// `order`: the graph's topological order.
GraphFeatures graph_features(const Graph& graph, std::span<const NodeId> order, CostModel& model,
                             NodeRows& rows, const FeatureContext& context);

}  // namespace reverie
