#include "worldmodel/graph_batch.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"

namespace reverie {
namespace {

void check_widths(const GraphFeatures& graph, const EnvSpec& spec) {
  const size_t nodes = graph.node_types.size();
  const size_t edges = graph.senders.size();
  const auto require = [&](bool ok, const char* what) {
    if (!ok) throw InputError("an observation of '{}' has the wrong width in {}", spec.name, what);
  };
  require(graph.nodes.size() == nodes * spec.node_features, "nodes");
  require(graph.receivers.size() == edges, "receivers");
  require(graph.edges.size() == edges * spec.edge_features, "edges");
  require(graph.globals.size() == static_cast<size_t>(spec.global_features), "globals");
  require(graph.node_targets.empty() || graph.node_targets.size() == nodes, "node_targets");
  const auto in_range = [](const std::vector<int32_t>& values, size_t bound) {
    return std::all_of(values.begin(), values.end(), [&](int32_t value) {
      return value >= 0 && static_cast<size_t>(value) < bound;
    });
  };
  require(in_range(graph.node_types, spec.node_types), "node_types");
  require(in_range(graph.senders, nodes) && in_range(graph.receivers, nodes), "edge ends");
}

/// Fills the tensors of a batch from front to back.
class Filler {
 public:
  Filler(GraphBatch& batch, const EnvSpec& spec) : batch_(batch), spec_(spec) {}

  void append(const GraphFeatures& graph) {
    const int nodes = graph.node_count();
    const int edges = graph.edge_count();
    std::copy(graph.node_types.begin(), graph.node_types.end(),
              batch_.node_types.data_ptr<int64_t>() + node_);
    copy_floats(graph.nodes, batch_.nodes, node_ * spec_.node_features);
    copy_floats(graph.edges, batch_.edges, edge_ * spec_.edge_features);
    copy_floats(graph.globals, batch_.globals, graph_ * spec_.global_features);
    copy_floats(graph.node_targets, batch_.node_targets, node_);
    for (int i = 0; i < nodes; ++i) {
      batch_.node_graph.data_ptr<int64_t>()[node_ + i] = graph_;
      batch_.node_index.data_ptr<int64_t>()[node_ + i] = i;
    }
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
  static void copy_floats(const std::vector<float>& from, torch::Tensor& to, int64_t offset) {
    std::copy(from.begin(), from.end(), to.data_ptr<float>() + offset);
  }

  GraphBatch& batch_;
  const EnvSpec& spec_;
  int64_t node_ = 0;
  int64_t edge_ = 0;
  int64_t graph_ = 0;
};

template <typename T>
std::vector<const T*> pointers(std::span<const T> values) {
  std::vector<const T*> result;
  for (const T& value : values) result.push_back(&value);
  return result;
}

}  // namespace

GraphBatch GraphBatch::to(torch::Device device) const {
  GraphBatch moved = *this;
  for (torch::Tensor* tensor :
       {&moved.node_types, &moved.nodes, &moved.edges, &moved.senders, &moved.receivers,
        &moved.globals, &moved.node_graph, &moved.edge_graph, &moved.node_index,
        &moved.node_counts, &moved.edge_counts, &moved.node_targets})
    *tensor = tensor->to(device);
  return moved;
}

GraphBatch batch_graphs(std::span<const GraphFeatures* const> graphs, const EnvSpec& spec) {
  int64_t nodes = 0;
  int64_t edges = 0;
  for (const GraphFeatures* graph : graphs) {
    check_widths(*graph, spec);
    nodes += graph->node_count();
    edges += graph->edge_count();
  }
  const auto count = static_cast<int64_t>(graphs.size());
  GraphBatch batch;
  for (torch::Tensor* tensor : {&batch.node_types, &batch.node_graph, &batch.node_index})
    *tensor = torch::empty({nodes}, torch::kInt64);
  for (torch::Tensor* tensor : {&batch.senders, &batch.receivers, &batch.edge_graph})
    *tensor = torch::empty({edges}, torch::kInt64);
  batch.nodes = torch::empty({nodes, spec.node_features});
  batch.edges = torch::empty({edges, spec.edge_features});
  batch.globals = torch::empty({count, spec.global_features});
  batch.node_counts = torch::empty({count});
  batch.edge_counts = torch::empty({count});
  batch.node_targets = torch::zeros({nodes});
  Filler filler(batch, spec);
  for (const GraphFeatures* graph : graphs) filler.append(*graph);
  return batch;
}

ObservationBatch ObservationBatch::to(torch::Device device) const {
  return {graph.to(device), counts.to(device), action_features.to(device)};
}

torch::Tensor batch_counts(std::span<const ActionMask* const> masks, const EnvSpec& spec) {
  const int actions = spec.primary_actions();
  auto counts = torch::empty({static_cast<int64_t>(masks.size()), actions}, torch::kInt64);
  int64_t* out = counts.data_ptr<int64_t>();
  for (const ActionMask* mask : masks) {
    REVERIE_CHECK_EQ(static_cast<int>(mask->counts.size()), actions);
    out = std::copy(mask->counts.begin(), mask->counts.end(), out);
  }
  return counts;
}

ObservationBatch batch_observations(std::span<const Observation* const> observations,
                                    const EnvSpec& spec) {
  std::vector<const GraphFeatures*> graphs;
  std::vector<const ActionMask*> masks;
  for (const Observation* observation : observations) {
    graphs.push_back(&observation->graph);
    masks.push_back(&observation->mask);
  }
  ObservationBatch batch{batch_graphs(graphs, spec), batch_counts(masks, spec), {}};
  const int64_t width = static_cast<int64_t>(spec.primary_actions()) * spec.action_features;
  batch.action_features = torch::zeros(
      {static_cast<int64_t>(observations.size()), spec.primary_actions(), spec.action_features});
  float* out = batch.action_features.data_ptr<float>();
  for (const Observation* observation : observations) {
    REVERIE_CHECK_EQ(static_cast<int64_t>(observation->action_features.size()), width);
    out = std::copy(observation->action_features.begin(), observation->action_features.end(), out);
  }
  return batch;
}

ObservationBatch batch_observations(std::span<const Observation> observations,
                                    const EnvSpec& spec) {
  return batch_observations(pointers(observations), spec);
}

}  // namespace reverie
