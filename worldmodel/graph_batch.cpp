#include "worldmodel/graph_batch.h"

#include <algorithm>
#include <bit>
#include <limits>
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
  require(graph.node_regions.size() == (spec.regions > 1 ? nodes : 0) &&
              in_range(graph.node_regions, spec.regions),
          "node_regions");
}

/// Writes the neighbours of each region, as in Latents.
void write_neighbours(const GraphFeatures& graph, int regions, int64_t* out) {
  static_assert(kMaxRegions <= 64);
  const auto bit = [&](int32_t node) { return uint64_t{1} << graph.node_regions[node]; };
  std::vector<uint64_t> meet(graph.node_count());  // by node, regions that make or use what it makes
  for (int e = 0; e < graph.edge_count(); ++e)
    meet[graph.senders[e]] |= bit(graph.senders[e]) | bit(graph.receivers[e]);
  std::vector<uint64_t> near(regions);
  for (const uint64_t together : meet)
    for (uint64_t left = together; left != 0; left &= left - 1)
      near[std::countr_zero(left)] |= together;
  for (int region = 0; region < regions; ++region)
    out[region] = static_cast<int64_t>(near[region] & ~(uint64_t{1} << region));
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
    std::fill_n(batch_.node_graph.data_ptr<int64_t>() + node_, nodes, graph_);
    append_regions(graph);
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
  void append_regions(const GraphFeatures& graph) {
    const int regions = spec_.regions;
    float* sizes = batch_.region_sizes.data_ptr<float>() + graph_ * regions;
    for (int i = 0; i < graph.node_count(); ++i) {
      const int region = regions > 1 ? graph.node_regions[i] : 0;
      batch_.node_region.data_ptr<int64_t>()[node_ + i] = graph_ * regions + region;
      batch_.node_index.data_ptr<int64_t>()[node_ + i] = static_cast<int64_t>(sizes[region]++);
    }
    if (regions == 1) return;
    write_neighbours(graph, regions, batch_.neighbours.data_ptr<int64_t>() + graph_ * regions);
  }

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
  for (torch::Tensor* tensor :
       {&batch.node_types, &batch.node_graph, &batch.node_region, &batch.node_index})
    *tensor = torch::empty({nodes}, torch::kInt64);
  for (torch::Tensor* tensor : {&batch.senders, &batch.receivers, &batch.edge_graph})
    *tensor = torch::empty({edges}, torch::kInt64);
  batch.nodes = torch::empty({nodes, spec.node_features});
  batch.edges = torch::empty({edges, spec.edge_features});
  batch.globals = torch::empty({count, spec.global_features});
  batch.node_counts = torch::empty({count});
  batch.edge_counts = torch::empty({count});
  batch.region_sizes = torch::zeros({count * spec.regions});
  batch.node_targets = torch::zeros({nodes});
  if (spec.regions > 1)
    batch.neighbours = torch::empty({count, spec.regions}, torch::kInt64);
  Filler filler(batch, spec);
  for (const GraphFeatures* graph : graphs) filler.append(*graph);
  return batch;
}

ObservationBatch ObservationBatch::to(torch::Device device) const {
  ObservationBatch moved{graph.to(device), to_device(mask, device), action_features.to(device), {}};
  if (region_features.defined()) moved.region_features = region_features.to(device);
  return moved;
}

LatentMask batch_masks(std::span<const ActionMask* const> masks, const EnvSpec& spec) {
  const auto count = static_cast<int64_t>(masks.size());
  const int64_t actions = spec.primary_actions(), regions = spec.regions;
  LatentMask batch{torch::empty({count, actions}, torch::kInt64), {}};
  int64_t* counts = batch.counts.data_ptr<int64_t>();
  for (const ActionMask* mask : masks) {
    REVERIE_CHECK_EQ(static_cast<int64_t>(mask->counts.size()), actions);
    counts = std::copy(mask->counts.begin(), mask->counts.end(), counts);
  }
  if (regions == 1) return batch;
  REVERIE_CHECK_LE(spec.max_secondary, std::numeric_limits<int16_t>::max());
  batch.regions = torch::empty({count, actions, regions}, torch::kInt16);
  int16_t* by_region = batch.regions.data_ptr<int16_t>();
  for (const ActionMask* mask : masks) {
    REVERIE_CHECK_EQ(static_cast<int64_t>(mask->region_counts.size()), actions * regions);
    by_region = std::copy(mask->region_counts.begin(), mask->region_counts.end(), by_region);
  }
  return batch;
}

namespace {

/// One list of floats per observation as a tensor of `shape`, the first extent apart.
torch::Tensor batch_floats(std::span<const Observation* const> observations,
                           std::vector<float> Observation::*member, std::vector<int64_t> shape) {
  shape.insert(shape.begin(), static_cast<int64_t>(observations.size()));
  const auto batch = torch::empty(shape);
  float* out = batch.data_ptr<float>();
  for (const Observation* observation : observations) {
    const auto& values = observation->*member;
    REVERIE_CHECK_EQ(static_cast<int64_t>(values.size() * observations.size()), batch.numel());
    out = std::copy(values.begin(), values.end(), out);
  }
  return batch;
}

}  // namespace

ObservationBatch batch_observations(std::span<const Observation* const> observations,
                                    const EnvSpec& spec) {
  std::vector<const GraphFeatures*> graphs;
  std::vector<const ActionMask*> masks;
  for (const Observation* observation : observations) {
    graphs.push_back(&observation->graph);
    masks.push_back(&observation->mask);
  }
  const int64_t actions = spec.primary_actions(), features = spec.action_features;
  ObservationBatch batch{batch_graphs(graphs, spec), batch_masks(masks, spec), {}, {}};
  batch.action_features =
      batch_floats(observations, &Observation::action_features, {actions, features});
  if (spec.regions > 1)
    batch.region_features = batch_floats(observations, &Observation::region_features,
                                         {actions, spec.regions, features})
                                .transpose(1, 2)
                                .contiguous();
  return batch;
}

ObservationBatch batch_observations(std::span<const Observation> observations,
                                    const EnvSpec& spec) {
  return batch_observations(pointers(observations), spec);
}

}  // namespace reverie
