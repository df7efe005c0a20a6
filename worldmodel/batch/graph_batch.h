#pragma once

#include <array>
#include <span>
#include <vector>

#include "env/environment.h"
#include "worldmodel/batch/latents.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// Several graphs as one disconnected graph. N nodes, E edges, B graphs, each padded to the S
/// entities of the one that has the most; int64 and float32.
struct GraphBatch {
  torch::Tensor node_types;     ///< [N]
  torch::Tensor nodes;          ///< [N, node_features]
  torch::Tensor edges;          ///< [E, edge_features]
  torch::Tensor senders;        ///< [E], index of a node of the batch
  torch::Tensor receivers;      ///< [E]
  torch::Tensor node_graph;     ///< [N], which graph a node belongs to, ascending
  torch::Tensor edge_graph;     ///< [E]
  torch::Tensor node_entity;    ///< [N], which entity: graph * S + number of the entity
  torch::Tensor node_index;     ///< [N], position among the nodes of its entity
  torch::Tensor node_counts;    ///< [B] float32
  torch::Tensor edge_counts;    ///< [B] float32
  torch::Tensor entity_sizes;   ///< [B * S] float32: nodes
  torch::Tensor node_targets;   ///< [N, targets of nodes]
  torch::Tensor graph_targets;  ///< [B, targets of graphs]
  torch::Tensor neighbours;     ///< [B, S, K], as in Latents

  int64_t graphs() const { return graph_targets.size(0); }
  int64_t node_total() const { return node_types.size(0); }
  int64_t edge_total() const { return senders.size(0); }
  std::array<torch::Tensor*, 15> tensors() {
    return {&node_types,  &nodes,        &edges,        &senders,       &receivers,
            &node_graph,  &edge_graph,   &node_entity,  &node_index,    &node_counts,
            &edge_counts, &entity_sizes, &node_targets, &graph_targets, &neighbours};
  }
  GraphBatch to(torch::Device device) const { return to_device(*this, device); }
};

/// Graphs with what can be done in them. B observations, A primary actions, S entities.
struct ObservationBatch {
  GraphBatch graph;
  LatentMask mask;
  torch::Tensor entity_features;  ///< [B, S, A, action_features] float32, 0 where the count is 0
  torch::Tensor
      action_features;  ///< [B, A, action_features]: the greatest over the entities with choices

  std::array<torch::Tensor*, 4> own_tensors() {
    return {&mask.totals, &mask.by_entity, &entity_features, &action_features};
  }
  ObservationBatch to(torch::Device device) const;
};

/// InputError as check_widths.
ObservationBatch batch_observations(std::span<const Observation* const> observations,
                                    const EnvSpec& spec);
ObservationBatch batch_observations(std::span<const Observation> observations, const EnvSpec& spec);

/// InputError when an observation does not have the widths of `spec`.
void check_widths(const Observation& observation, const EnvSpec& spec);

/// Of each entity its neighbours as in Latents, ascending, without the padding.
std::vector<std::vector<int32_t>> neighbour_lists(const GraphFeatures& graph, int entities);
/// Latents::neighbours of the lists of B graphs.
torch::Tensor padded_neighbours(const std::vector<std::vector<std::vector<int32_t>>>& graphs,
                                int64_t entities);

/// Masks of B observations.
LatentMask batch_masks(std::span<const ActionMask* const> masks, const EnvSpec& spec);

/// Counts of a mask by entity, [B, S, A] int16.
inline torch::Tensor by_entity(const LatentMask& mask) { return mask.by_entity.transpose(1, 2); }

}  // namespace reverie
