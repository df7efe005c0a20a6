#include "env/placement/placement_starts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "env/placement/graph/kernel_cost.h"
#include "env/placement/search/heuristics.h"

namespace reverie {
namespace {

constexpr char kOther[] = "other";

uint64_t hash_double(double value) { return hash_string(fmt::format("{:a}", value)); }

uint64_t fingerprint_of(const CostGraph& graph, const Topology& topology, bool is_measured) {
  uint64_t hash = hash_string("placement");
  const auto add = [&](uint64_t word) { hash = hash_combine(hash, word); };
  const auto add_cost = [&](uint64_t word) {
    if (!is_measured) add(word);
  };
  for (int node = 0; node < graph.size(); ++node) {
    const CostNode& one = graph.nodes()[static_cast<size_t>(node)];
    add(hash_string(one.op));
    for (const int64_t number : {one.persistent_bytes, one.temporary_bytes, int64_t{one.group}})
      add(static_cast<uint64_t>(number));
    for (int kind = 0; kind < std::ssize(graph.kinds()); ++kind)
      add_cost(static_cast<uint64_t>(graph.cost(node, kind).count));
  }
  for (const CostTensor& tensor : graph.tensors()) {
    for (const int64_t number : {int64_t{tensor.producer}, tensor.bytes, tensor.transfer.count})
      add(static_cast<uint64_t>(number));
    for (const int reader : tensor.readers) add(static_cast<uint64_t>(reader));
  }
  for (const Device& device : topology.devices) {
    add(hash_string(device.kind));
    add(static_cast<uint64_t>(device.memory_bytes));
  }
  for (const Link& link : topology.links) {
    add_cost(static_cast<uint64_t>(link.latency.count));
    add_cost(hash_double(link.bytes_per_second));
    add(static_cast<uint64_t>(link.bus));
  }
  for (const bool on : {topology.send_engines, topology.receive_engines, topology.shared_buses})
    add(on ? 1 : 0);
  return hash;
}

/// By entity: whether a kernel reads from one of its kernels.
std::vector<int> find_fusible(const CostGraph& graph, const PlacementEntities& entities) {
  require_parts(graph);
  std::vector<int> fusible(static_cast<size_t>(entities.size()));
  for (const CostTensor& tensor : graph.tensors())
    for (const int reader : tensor.readers)
      if (starts_kernel(graph, tensor.producer) && starts_kernel(graph, reader))
        fusible[static_cast<size_t>(entities.of(tensor.producer))] = 1;
  return fusible;
}

double all_bytes(const CostGraph& graph) {
  double bytes = 0;
  for (const CostNode& node : graph.nodes())
    bytes += static_cast<double>(node.persistent_bytes + node.temporary_bytes);
  for (const CostTensor& tensor : graph.tensors()) bytes += static_cast<double>(tensor.bytes);
  return bytes;
}

/// Of the devices, and of the operators in all graphs.
std::vector<std::string> node_types(const PlacementStarts& all) {
  std::set<std::string> kinds, ops;
  for (const Device& device : all.topology.devices) kinds.insert("device " + device.kind);
  for (const auto& start : all.starts)
    for (const CostNode& node : start->graph.nodes()) ops.insert(node.op);
  ops.erase(kOther);
  std::vector<std::string> types(kinds.begin(), kinds.end());
  types.insert(types.end(), ops.begin(), ops.end());
  types.push_back(kOther);
  return types;
}

std::vector<std::string> actions(const Topology& topology, const PlacementEnvConfig& config) {
  std::vector<std::string> actions;
  for (const Device& device : topology.devices) actions.push_back("place on " + device.name);
  if (config.form == PlacementForm::kImproving) actions.insert(actions.end(), {"raise", "lower"});
  if (config.fusion) actions.push_back("fuse");
  actions.push_back("NO-OP");
  return actions;
}

EnvSpec spec_of(const PlacementStarts& all) {
  EnvSpec spec;
  int groups = 0;
  const bool measured = static_cast<bool>(all.starts.front()->measure);
  for (const auto& start : all.starts) {
    REVERIE_CHECK_EQ(static_cast<bool>(start->measure), measured);
    groups = std::max(groups, start->entities.size());
    spec.starts.push_back({start->name, fingerprint_of(start->graph, all.topology, measured)});
    for (const Device& device : all.topology.devices)
      if (all_bytes(start->graph) > static_cast<double>(device.memory_bytes))
        spec.may_be_infeasible = true;
  }
  spec.name = "placement";
  spec.node_types = node_types(all);
  spec.other_type = kOther;
  spec.node_features = PlacementFeatures::node_features(all.topology, all.config.fusion);
  spec.edge_features = PlacementFeatures::edge_features();
  spec.action_features = PlacementFeatures::action_features();
  spec.actions = actions(all.topology, all.config);
  spec.targets = PlacementFeatures::targets();
  spec.metrics = {{"makespan", "ms"}, {"peak memory", "MiB"}};
  spec.objective = all.config.memory_weight == 1 ? 1 : 0;
  const int steps = groups * (all.config.fusion ? 2 : 1);
  spec.horizon = all.config.horizon > 0 ? all.config.horizon : steps;
  spec.source = (measured ? "" : "simulator:") + all.topology.name;
  spec.deterministic = !measured;
  spec.measurable = measured;
  spec.knows_dynamics = true;
  return spec;
}

}  // namespace

PreparedStart::PreparedStart(PlacementStart one, const Topology& topology,
                             const PlacementEnvConfig& config)
    : name(std::move(one.name)),
      graph(std::move(one.graph)),
      measure(std::move(one.measure)),
      simulator(graph, topology),
      entities(graph),
      ranks(path_ranks(simulator.plain())),
      visits(simulator.plain(), entities) {
  if (config.fusion) fusible = find_fusible(graph, entities);
  const auto key = [](const Outcome& of) {
    return std::tuple(of.misplaced, of.bytes_over, of.makespan);
  };
  for (int device = 0; device < topology.size(); ++device) {
    const std::vector<int> all(static_cast<size_t>(graph.size()), device);
    Timeline timeline;
    const Outcome alone = simulator.run({all, ranks}, Dispatch::kReady, &timeline);
    if (device > 0 && key(alone) >= key(simulated)) continue;
    best_device = device;
    simulated = judged = alone;
    schedule = std::move(timeline);
  }
  features.emplace(simulator.plain(), entities, visits, config.form == PlacementForm::kConstructive,
                   static_cast<double>(judged.makespan.count));
  if (measure) judged.makespan = measure(schedule);
}

PlacementStarts::PlacementStarts(std::vector<PlacementStart> all, Topology devices,
                                 const PlacementEnvConfig& how)
    : topology(std::move(devices)), config(how) {
  REVERIE_CHECK(!all.empty());
  for (PlacementStart& start : all)
    starts.push_back(std::make_unique<PreparedStart>(std::move(start), topology, config));
  spec = spec_of(*this);
}

}  // namespace reverie
