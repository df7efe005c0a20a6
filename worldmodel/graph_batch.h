#pragma once

#include <array>
#include <span>

#include "env/environment.h"
#include "worldmodel/latent.h"
#include "worldmodel/torch.h"

namespace reverie {

/// Several graphs as one disconnected graph. N nodes, E edges, B graphs of S regions; int64 and
/// float32. When S = 1 a graph is its one region.
struct GraphBatch {
  torch::Tensor node_types;    ///< [N]
  torch::Tensor nodes;         ///< [N, node_features]
  torch::Tensor edges;         ///< [E, edge_features]
  torch::Tensor senders;       ///< [E], index of a node of the batch
  torch::Tensor receivers;     ///< [E]
  torch::Tensor globals;       ///< [B, global_features]
  torch::Tensor node_graph;    ///< [N], which graph a node belongs to, ascending
  torch::Tensor edge_graph;    ///< [E]
  torch::Tensor node_region;   ///< [N], which region: graph * S + number of the region
  torch::Tensor node_index;    ///< [N], position among the nodes of its region
  torch::Tensor node_counts;   ///< [B] float32
  torch::Tensor edge_counts;   ///< [B] float32
  torch::Tensor region_sizes;  ///< [B * S] float32: nodes
  torch::Tensor node_targets;  ///< [N], share of the graph's cost
  torch::Tensor neighbours;    ///< [B, S], as in Latents; undefined when S = 1

  int64_t graphs() const { return globals.size(0); }
  int64_t node_total() const { return node_types.size(0); }
  int64_t edge_total() const { return senders.size(0); }
  std::array<torch::Tensor*, 15> tensors() {
    return {&node_types, &nodes,       &edges,        &senders,      &receivers,
            &globals,    &node_graph,  &edge_graph,   &node_region,  &node_index,
            &node_counts, &edge_counts, &region_sizes, &node_targets, &neighbours};
  }
  GraphBatch to(torch::Device device) const { return to_device(*this, device); }
};

/// InputError when a graph does not have the widths of `spec`.
GraphBatch batch_graphs(std::span<const GraphFeatures* const> graphs, const EnvSpec& spec);

/// Graphs with what can be done in them. B observations, A primary actions, S regions.
struct ObservationBatch {
  GraphBatch graph;
  LatentMask mask;
  torch::Tensor action_features;  ///< [B, A, action_features] float32, 0 where the count is 0
  /// [B, S, A, action_features] float32, 0 where the count is 0; undefined when S = 1.
  torch::Tensor region_features;

  ObservationBatch to(torch::Device device) const;
};

ObservationBatch batch_observations(std::span<const Observation* const> observations,
                                    const EnvSpec& spec);
ObservationBatch batch_observations(std::span<const Observation> observations,
                                    const EnvSpec& spec);

/// Masks of B observations.
LatentMask batch_masks(std::span<const ActionMask* const> masks, const EnvSpec& spec);

/// Counts of a mask by region, [B, S, A] int16.
inline torch::Tensor by_region(const LatentMask& mask) { return mask.regions.transpose(1, 2); }

}  // namespace reverie
