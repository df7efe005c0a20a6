#include "worldmodel/batch/graph_batch.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/base/error.h"

namespace reverie {
namespace {

/// Fills the tensors of a batch from front to back.
class Filler {
 public:
  Filler(GraphBatch& batch, int64_t entities) : batch_(batch), entities_(entities) {}

  void append(const GraphFeatures& graph) {
    const int nodes = graph.node_count();
    const int edges = graph.edge_count();
    std::copy(graph.node_types.begin(), graph.node_types.end(),
              batch_.node_types.data_ptr<int64_t>() + node_);
    copy_row(graph.nodes, batch_.nodes, node_);
    copy_row(graph.edges, batch_.edges, edge_);
    copy_row(graph.node_targets, batch_.node_targets, node_);
    copy_row(graph.graph_targets, batch_.graph_targets, graph_);
    std::fill_n(batch_.node_graph.data_ptr<int64_t>() + node_, nodes, graph_);
    append_entities(graph);
    for (int i = 0; i < edges; ++i) {
      batch_.senders.data_ptr<int64_t>()[edge_ + i] = node_ + graph.senders[i];
      batch_.receivers.data_ptr<int64_t>()[edge_ + i] = node_ + graph.receivers[i];
      batch_.edge_graph.data_ptr<int64_t>()[edge_ + i] = graph_;
    }
    batch_.node_counts.data_ptr<float>()[graph_] = static_cast<float>(nodes);
    batch_.edge_counts.data_ptr<float>()[graph_] = static_cast<float>(edges);
    node_ += nodes;
    edge_ += edges;
    ++graph_;
  }

 private:
  void append_entities(const GraphFeatures& graph) {
    float* sizes = batch_.entity_sizes.data_ptr<float>() + graph_ * entities_;
    for (int i = 0; i < graph.node_count(); ++i) {
      const int32_t entity = graph.node_entities[i];
      batch_.node_entity.data_ptr<int64_t>()[node_ + i] = graph_ * entities_ + entity;
      batch_.node_index.data_ptr<int64_t>()[node_ + i] = static_cast<int64_t>(sizes[entity]++);
    }
  }

  static void copy_row(const std::vector<float>& from, torch::Tensor& to, int64_t row) {
    std::copy(from.begin(), from.end(), to.data_ptr<float>() + row * to.size(1));
  }

  GraphBatch& batch_;
  int64_t entities_;
  int64_t node_ = 0;
  int64_t edge_ = 0;
  int64_t graph_ = 0;
};

GraphBatch batch_graphs(std::span<const Observation* const> observations, const EnvSpec& spec,
                        int64_t entities) {
  int64_t nodes = 0, edges = 0;
  std::vector<std::vector<std::vector<int32_t>>> neighbours;
  for (const Observation* observation : observations) {
    check_widths(*observation, spec);
    nodes += observation->graph.node_count();
    edges += observation->graph.edge_count();
    neighbours.push_back(neighbour_lists(observation->graph, observation->mask.entities));
  }
  const auto count = static_cast<int64_t>(observations.size());
  GraphBatch batch;
  for (torch::Tensor* tensor :
       {&batch.node_types, &batch.node_graph, &batch.node_entity, &batch.node_index})
    *tensor = torch::empty({nodes}, torch::kInt64);
  for (torch::Tensor* tensor : {&batch.senders, &batch.receivers, &batch.edge_graph})
    *tensor = torch::empty({edges}, torch::kInt64);
  batch.nodes = torch::empty({nodes, std::ssize(spec.node_features)});
  batch.edges = torch::empty({edges, std::ssize(spec.edge_features)});
  batch.node_targets = torch::empty({nodes, spec.target_count(TargetLevel::kNode)});
  batch.graph_targets = torch::empty({count, spec.target_count(TargetLevel::kGraph)});
  batch.node_counts = torch::empty({count});
  batch.edge_counts = torch::empty({count});
  batch.entity_sizes = torch::zeros({count * entities});
  batch.neighbours = padded_neighbours(neighbours, entities);
  Filler filler(batch, entities);
  for (const Observation* observation : observations) filler.append(observation->graph);
  return batch;
}

/// [B, S, A, features].
torch::Tensor batch_features(std::span<const Observation* const> observations, const EnvSpec& spec,
                             int64_t entities) {
  const int64_t actions = spec.primary_actions(), features = std::ssize(spec.action_features);
  const auto batch = torch::zeros({std::ssize(observations), actions, entities, features});
  float* out = batch.data_ptr<float>();
  for (const Observation* observation : observations) {
    const int64_t width = observation->mask.entities * features;
    const float* from = observation->action_features.data();
    for (int64_t action = 0; action < actions; ++action, from += width, out += entities * features)
      std::copy_n(from, width, out);
  }
  return batch.transpose(1, 2).contiguous();
}

/// Over the entities with choices, 0 where there are none: [B, S, A, features] -> [B, A, features].
torch::Tensor greatest_features(const torch::Tensor& features, const LatentMask& mask) {
  const auto none = by_entity(mask).eq(0).unsqueeze(3);
  const auto greatest = features.masked_fill(none, -std::numeric_limits<float>::infinity()).amax(1);
  return greatest.masked_fill(mask.totals.eq(0).unsqueeze(2), 0);
}

template <typename T>
std::vector<const T*> pointers(std::span<const T> values) {
  std::vector<const T*> result;
  for (const T& value : values) result.push_back(&value);
  return result;
}

void sort_uniquely(std::vector<uint64_t>& values) {
  std::ranges::sort(values);
  const auto rest = std::ranges::unique(values);
  values.erase(rest.begin(), rest.end());
}

uint64_t pair_of(int32_t first, int32_t second) {
  return static_cast<uint64_t>(first) << 32 | static_cast<uint64_t>(second);
}

}  // namespace

void check_widths(const Observation& observation, const EnvSpec& spec) {
  const GraphFeatures& graph = observation.graph;
  const size_t nodes = graph.node_types.size(), edges = graph.senders.size();
  const auto require = [&](bool ok, const char* what) {
    if (!ok) throw InputError("an observation of '{}' has the wrong width in {}", spec.name, what);
  };
  const auto targets = [&](TargetLevel level) {
    return static_cast<size_t>(spec.target_count(level));
  };
  require(graph.nodes.size() == nodes * spec.node_features.size(), "nodes");
  require(graph.receivers.size() == edges, "receivers");
  require(graph.edges.size() == edges * spec.edge_features.size(), "edges");
  require(graph.node_targets.size() == nodes * targets(TargetLevel::kNode), "node_targets");
  require(graph.graph_targets.size() == targets(TargetLevel::kGraph), "graph_targets");
  const auto in_range = [](const std::vector<int32_t>& values, size_t bound) {
    return std::all_of(values.begin(), values.end(), [&](int32_t value) {
      return value >= 0 && static_cast<size_t>(value) < bound;
    });
  };
  require(in_range(graph.node_types, spec.node_types.size()), "node_types");
  require(in_range(graph.senders, nodes) && in_range(graph.receivers, nodes), "edge ends");
  const auto entities = static_cast<size_t>(observation.mask.entities);
  require(graph.node_entities.size() == nodes && in_range(graph.node_entities, entities),
          "node_entities");
  require(observation.mask.counts.size() == spec.actions.size() * entities, "mask");
  require(observation.action_features.size() ==
              observation.mask.counts.size() * spec.action_features.size(),
          "action_features");
}

std::vector<std::vector<int32_t>> neighbour_lists(const GraphFeatures& graph, int entities) {
  std::vector<uint64_t> users;  // a node with an entity where its value is
  for (int e = 0; e < graph.edge_count(); ++e) {
    users.push_back(pair_of(graph.senders[e], graph.node_entities[graph.senders[e]]));
    users.push_back(pair_of(graph.senders[e], graph.node_entities[graph.receivers[e]]));
  }
  sort_uniquely(users);
  std::vector<uint64_t> meet;  // an entity with a neighbour
  for (size_t first = 0, end = 0; first < users.size(); first = end) {
    while (end < users.size() && users[end] >> 32 == users[first] >> 32) ++end;
    for (size_t i = first; i < end; ++i)
      for (size_t j = first; j < end; ++j)
        if (i != j)
          meet.push_back(pair_of(static_cast<int32_t>(users[i]), static_cast<int32_t>(users[j])));
  }
  sort_uniquely(meet);
  std::vector<std::vector<int32_t>> lists(static_cast<size_t>(entities));
  for (const uint64_t pair : meet) lists[pair >> 32].push_back(static_cast<int32_t>(pair) + 1);
  return lists;
}

torch::Tensor padded_neighbours(const std::vector<std::vector<std::vector<int32_t>>>& graphs,
                                int64_t entities) {
  size_t most = 1;
  for (const auto& graph : graphs)
    for (const auto& list : graph) most = std::max(most, list.size());
  auto padded =
      torch::zeros({std::ssize(graphs), entities, static_cast<int64_t>(most)}, torch::kInt32);
  int32_t* out = padded.data_ptr<int32_t>();
  for (const auto& graph : graphs) {
    for (size_t entity = 0; entity < graph.size(); ++entity)
      std::copy(graph[entity].begin(), graph[entity].end(), out + entity * most);
    out += static_cast<size_t>(entities) * most;
  }
  return padded;
}

ObservationBatch ObservationBatch::to(torch::Device device) const {
  ObservationBatch moved = *this;
  moved.graph = graph.to(device);
  for (torch::Tensor* tensor : moved.own_tensors()) *tensor = tensor->to(device);
  return moved;
}

LatentMask batch_masks(std::span<const ActionMask* const> masks, const EnvSpec& spec) {
  const int64_t actions = spec.primary_actions();
  REVERIE_CHECK_LE(spec.max_choices, std::numeric_limits<int16_t>::max());
  int64_t entities = 1;
  for (const ActionMask* mask : masks) entities = std::max<int64_t>(entities, mask->entities);
  LatentMask batch;
  batch.by_entity = torch::zeros({std::ssize(masks), actions, entities}, torch::kInt16);
  int16_t* out = batch.by_entity.data_ptr<int16_t>();
  for (const ActionMask* mask : masks) {
    REVERIE_CHECK_EQ(static_cast<int64_t>(mask->primary_actions()), actions);
    for (int action = 0; action < actions; ++action, out += entities)
      std::ranges::copy(mask->of(action), out);
  }
  batch.totals = batch.by_entity.sum(2, false, torch::kInt64);
  return batch;
}

ObservationBatch batch_observations(std::span<const Observation* const> observations,
                                    const EnvSpec& spec) {
  std::vector<const ActionMask*> masks;
  for (const Observation* observation : observations) masks.push_back(&observation->mask);
  ObservationBatch batch;
  batch.mask = batch_masks(masks, spec);
  batch.graph = batch_graphs(observations, spec, batch.mask.entities());
  batch.entity_features = batch_features(observations, spec, batch.mask.entities());
  batch.action_features = greatest_features(batch.entity_features, batch.mask);
  return batch;
}

ObservationBatch batch_observations(std::span<const Observation> observations,
                                    const EnvSpec& spec) {
  return batch_observations(pointers(observations), spec);
}

}  // namespace reverie
