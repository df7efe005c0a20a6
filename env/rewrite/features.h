#pragma once

#include <string>
#include <unordered_map>
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

/// What the features are relative to.
struct FeatureContext {
  Cost initial;
  int64_t initial_weight_bytes = 0;
  Cost cost;  ///< of the graph
  int64_t weight_bytes = 0;
  int64_t matches = 0;
  /// Best gain of the matches that lie at a node, in percent of the initial cost; absent: 0.
  std::unordered_map<NodeId, double> gains;
  const Regions* regions = nullptr;
};

GraphFeatures graph_features(const Graph& graph, CostModel& model, const FeatureContext& context);

}  // namespace reverie
