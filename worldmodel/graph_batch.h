#pragma once

#include <span>

#include "env/environment.h"
#include "worldmodel/torch.h"

namespace reverie {

/// Several graphs as one disconnected graph. N nodes, E edges, B graphs; int64 and float32.
struct GraphBatch {
  torch::Tensor node_types;    ///< [N]
  torch::Tensor nodes;         ///< [N, node_features]
  torch::Tensor edges;         ///< [E, edge_features]
  torch::Tensor senders;       ///< [E], index of a node of the batch
  torch::Tensor receivers;     ///< [E]
  torch::Tensor globals;       ///< [B, global_features]
  torch::Tensor node_graph;    ///< [N], which graph a node belongs to, ascending
  torch::Tensor edge_graph;    ///< [E]
  torch::Tensor node_index;    ///< [N], position within its graph
  torch::Tensor node_counts;   ///< [B] float32
  torch::Tensor edge_counts;   ///< [B] float32
  torch::Tensor node_targets;  ///< [N], share of the graph's cost

  int64_t graphs() const { return globals.size(0); }
  int64_t node_total() const { return node_types.size(0); }
  int64_t edge_total() const { return senders.size(0); }
  GraphBatch to(torch::Device device) const;
};

/// InputError when a graph does not have the widths of `spec`.
GraphBatch batch_graphs(std::span<const GraphFeatures* const> graphs, const EnvSpec& spec);

/// Graphs with what can be done in them. B observations, A primary actions.
struct ObservationBatch {
  GraphBatch graph;
  torch::Tensor counts;           ///< [B, A] int64
  torch::Tensor action_features;  ///< [B, A, action_features] float32, 0 where the count is 0

  ObservationBatch to(torch::Device device) const;
};

ObservationBatch batch_observations(std::span<const Observation* const> observations,
                                    const EnvSpec& spec);
ObservationBatch batch_observations(std::span<const Observation> observations,
                                    const EnvSpec& spec);

/// Mask counts of several observations as [B, A] int64.
torch::Tensor batch_counts(std::span<const ActionMask* const> masks, const EnvSpec& spec);

}  // namespace reverie
