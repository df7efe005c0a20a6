#pragma once

#include <span>
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
/// A node that a step does not touch keeps its row (column 1 apart, where the step changes what is
/// offered at it), which is what storage and caches share. Targets are shares of the current cost.
///
/// log(x) is log2(1 + x). Node columns:
///    0 cost / initial cost of all     1 best gain offered here, percent of the initial cost
///    2 log FLOPs / 32                 3 log bytes of traffic / 32
///    4 log elements of output 0 / 32  5 rank of output 0 / 8
///    6-9 log of its last four extents / 16, innermost last, 0 where it has fewer
///   10 inputs / 8                    11 constant inputs / 8
///   12 log bytes of these / 32       13 uses of the outputs / 8
///   14 1 when a graph output         15-16 log kernel height, width / 4
///   17 log stride / 4                18 log sum of the pads / 4
///   19 log groups / 8                20 axis (the first of several) / 8
///   21-23 relu, sigmoid, tanh fused  24-27 first four entries of a permutation / 8
/// Edge columns: 0 operand position / 8, 1 rank / 8, 2-5 extents as above, 6 log elements / 32.
/// Globals: 0 cost, 1 FLOPs, 2 traffic, 3 launches, 4 bytes of weights, each relative to the start;
/// 5 log nodes / 16, 6 log edges / 16, 7 log matches of all rules / 16.
struct GraphFeatureWidths {
  static constexpr int kNode = 28;
  static constexpr int kEdge = 7;
  static constexpr int kGlobal = 8;
};

/// What the features are relative to.
struct FeatureContext {
  Cost initial;
  int64_t initial_weight_bytes = 0;
  Cost cost;          ///< of the graph
  int64_t weight_bytes = 0;
  int64_t matches = 0;
  /// Best gain of the matches that lie at a node, in percent of the initial cost; absent: 0.
  std::unordered_map<NodeId, double> gains;
  const Regions* regions = nullptr;  ///< none: the graph is not cut
};

GraphFeatures graph_features(const Graph& graph, CostModel& model, const FeatureContext& context);

}  // namespace reverie
