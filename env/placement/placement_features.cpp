#include "env/placement/placement_features.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace reverie {
namespace {

float log_of(double x) { return static_cast<float>(std::log2(1 + x)); }

/// Appends rows of a fixed width to an array.
void append(std::vector<float>& rows, std::initializer_list<double> values) {
  for (const double value : values) rows.push_back(static_cast<float>(value));
}

}  // namespace

PlacementFeatures::PlacementFeatures(const Simulator& simulator, const PlacementEntities& entities,
                                     const PlacementVisits& visits, bool is_constructive,
                                     double reference_picoseconds)
    : simulator_(simulator),
      entities_(entities),
      visits_(visits),
      is_constructive_(is_constructive),
      reference_(std::max(reference_picoseconds, 1.0)),
      devices_(simulator.topology().size()) {
  const CostGraph& graph = simulator.graph();
  for (const CostNode& node : graph.nodes())
    all_bytes_ += static_cast<double>(node.persistent_bytes + node.temporary_bytes);
  for (const CostTensor& tensor : graph.tensors()) all_bytes_ += static_cast<double>(tensor.bytes);
  times_.resize(static_cast<size_t>(entities.size() * devices_));
  for (int entity = 0; entity < entities.size(); ++entity) {
    std::map<std::string, double> by_op;
    double persistent = 0;
    for (const int node : entities.nodes(entity)) {
      const CostNode& one = graph.nodes()[static_cast<size_t>(node)];
      persistent += static_cast<double>(one.persistent_bytes);
      for (int device = 0; device < devices_; ++device) {
        const double time = static_cast<double>(simulator.cost(node, device).count) / reference_;
        times_[cell(entity, device)] += time;
        by_op[one.op] += time;
      }
    }
    persistent_.push_back(persistent / all_bytes_);
    const auto most = std::ranges::max_element(by_op, {}, [](const auto& op) { return op.second; });
    ops_.push_back(most->first);
  }
  add_edges();
  add_paths();
}

void PlacementFeatures::add_edges() {
  std::map<std::pair<int, int>, Edge> edges;  // by receiver and sender
  const auto groups = static_cast<size_t>(entities_.size());
  output_bytes_.resize(groups);
  const auto& tensors = simulator_.graph().tensors();
  for (int number = 0; number < std::ssize(tensors); ++number) {
    const CostTensor& tensor = tensors[static_cast<size_t>(number)];
    const int from = entities_.of(tensor.producer);
    const double bytes = static_cast<double>(tensor.bytes) / all_bytes_;
    output_bytes_[static_cast<size_t>(from)] += bytes;
    std::vector<int> readers;  // each group once
    for (const int reader : tensor.readers) readers.push_back(entities_.of(reader));
    std::ranges::sort(readers);
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    for (const int to : readers) {
      if (to == from) continue;
      Edge& edge = edges.try_emplace({to, from}, Edge{from, to, 0, 0}).first->second;
      edge.bytes += bytes;
      if (devices_ > 1)
        edge.time +=
            static_cast<double>(simulator_.transfer(number, 0, devices_ - 1).count) / reference_;
    }
  }
  for (const auto& [unused, edge] : edges) edges_.push_back(edge);
}

/// The longest paths of mean times to each node and from it on; a group has its nodes' longest.
void PlacementFeatures::add_paths() {
  const CostGraph& graph = simulator_.graph();
  std::vector<double> mean(static_cast<size_t>(graph.size())), before(mean), after(mean);
  for (int node = 0; node < graph.size(); ++node)
    for (int device = 0; device < devices_; ++device)
      mean[static_cast<size_t>(node)] +=
          static_cast<double>(simulator_.cost(node, device).count) / reference_ / devices_;
  for (const int node : graph.order())
    for (const int input : graph.inputs(node)) {
      const auto producer =
          static_cast<size_t>(graph.tensors()[static_cast<size_t>(input)].producer);
      before[static_cast<size_t>(node)] =
          std::max(before[static_cast<size_t>(node)], before[producer] + mean[producer]);
    }
  for (auto node = graph.order().rbegin(); node != graph.order().rend(); ++node) {
    const double on = after[static_cast<size_t>(*node)] + mean[static_cast<size_t>(*node)];
    for (const int input : graph.inputs(*node)) {
      const auto producer =
          static_cast<size_t>(graph.tensors()[static_cast<size_t>(input)].producer);
      after[producer] = std::max(after[producer], on);
    }
  }
  above_.resize(static_cast<size_t>(entities_.size()));
  below_.resize(above_.size());
  for (int node = 0; node < graph.size(); ++node) {
    const auto group = static_cast<size_t>(entities_.of(node));
    above_[group] = std::max(above_[group], before[static_cast<size_t>(node)]);
    below_[group] = std::max(below_[group], after[static_cast<size_t>(node)]);
  }
}

std::vector<std::string> PlacementFeatures::node_features(const Topology& topology, bool fuses) {
  std::vector<std::string> names{"log time here", "log mean time", "weights", "outputs",
                                 "path before",   "path behind",   "start",   "end",
                                 "level",         "placed",        "next",    "work there",
                                 "memory filled"};
  for (const Device& device : topology.devices) names.push_back("on " + device.name);
  if (fuses) names.push_back("fused");
  return names;
}

const std::vector<std::string>& PlacementFeatures::edge_features() {
  static const std::vector<std::string> names{"bytes", "log transfer", "sent",
                                              "holds", "link",         "follows"};
  return names;
}

const std::vector<std::string>& PlacementFeatures::action_features() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all{"log time there", "outputs there"};
    all.insert(all.end(), PlacingSteps::kNames.begin(), PlacingSteps::kNames.end());
    return all;
  }();
  return names;
}

std::vector<Target> PlacementFeatures::targets() {
  return {{"time share", TargetLevel::kNode, TargetLoss::kShare},
          {"log makespan", TargetLevel::kGraph, TargetLoss::kRegression},
          {"log peak memory", TargetLevel::kGraph, TargetLoss::kRegression},
          {"work of the busiest", TargetLevel::kGraph, TargetLoss::kRegression},
          {"fits", TargetLevel::kGraph, TargetLoss::kBinary}};
}

std::vector<double> PlacementFeatures::work_by_device(const PlacementState& state) const {
  std::vector<double> work(static_cast<size_t>(devices_));
  for (int group = 0; group < entities_.size(); ++group) {
    const int device = state.device[static_cast<size_t>(group)];
    if (visits_.is_placed(state, group))
      work[static_cast<size_t>(device)] += times_[cell(group, device)];
  }
  return work;
}

/// Shares of each device's memory, or of all bytes where it has no limit.
std::vector<double> PlacementFeatures::bytes_by_device(const PlacementState& state) const {
  std::vector<double> bytes(static_cast<size_t>(devices_));
  for (int group = 0; group < entities_.size(); ++group)
    if (visits_.is_placed(state, group))
      bytes[static_cast<size_t>(state.device[static_cast<size_t>(group)])] +=
          persistent_[static_cast<size_t>(group)];
  for (size_t device = 0; device < bytes.size(); ++device) {
    const int64_t memory = simulator_.topology().devices[device].memory_bytes;
    if (memory != Device::kUnlimited)
      bytes[device] *= all_bytes_ / std::max(static_cast<double>(memory), 1.0);
  }
  return bytes;
}

void PlacementFeatures::write_devices(const PlacementState& state, GraphFeatures& graph) const {
  const std::vector<double> work = work_by_device(state), bytes = bytes_by_device(state);
  for (int device = 0; device < devices_; ++device) {
    graph.node_entities.push_back(0);
    append(graph.nodes, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, work[static_cast<size_t>(device)],
                         bytes[static_cast<size_t>(device)]});
    for (int other = 0; other < devices_; ++other)
      append(graph.nodes, {other == device ? 1.0 : 0.0});
    if (!state.fused.empty()) append(graph.nodes, {0});
    graph.node_targets.push_back(0);
  }
}

void PlacementFeatures::write_groups(const std::vector<std::string>& types,
                                     const PlacementState& state, const Timeline& timeline,
                                     GraphFeatures& graph) const {
  const auto groups = static_cast<size_t>(entities_.size());
  std::vector<double> start(groups, INFINITY), end(groups);
  for (const Timeline::Run& run : timeline.runs) {
    const auto group = static_cast<size_t>(entities_.of(run.node));
    start[group] = std::min(start[group], static_cast<double>(run.start.count) / reference_);
    end[group] = std::max(end[group], static_cast<double>(run.end.count) / reference_);
  }
  double all = 0;
  for (int group = 0; group < entities_.size(); ++group)
    all += times_[cell(group, state.device[static_cast<size_t>(group)])];
  for (int group = 0; group < entities_.size(); ++group) {
    const auto i = static_cast<size_t>(group);
    const double time = times_[cell(group, state.device[i])];
    double mean = 0;
    for (int device = 0; device < devices_; ++device)
      mean += times_[cell(group, device)] / devices_;
    const auto type = std::ranges::find(types, ops_[i]);
    graph.node_types.push_back(static_cast<int32_t>(type - types.begin()));
    graph.node_entities.push_back(group + 1);
    append(graph.nodes,
           {log_of(100 * time), log_of(100 * mean), persistent_[i], output_bytes_[i], above_[i],
            below_[i], std::min(start[i], end[i]), end[i], static_cast<double>(state.level[i]),
            visits_.is_placed(state, group) ? 1.0 : 0.0,
            visits_.place(group) == state.placed ? 1.0 : 0.0, 0, 0});
    for (int device = 0; device < devices_; ++device)
      append(graph.nodes,
             {visits_.is_placed(state, group) && state.device[i] == device ? 1.0 : 0.0});
    if (!state.fused.empty()) append(graph.nodes, {static_cast<double>(state.fused[i])});
    graph.node_targets.push_back(all > 0 ? static_cast<float>(time / all) : 0);
  }
}

void PlacementFeatures::write_edges(const PlacementState& state, GraphFeatures& graph) const {
  const auto connect = [&](int from, int to, std::initializer_list<double> values) {
    graph.senders.push_back(from);
    graph.receivers.push_back(to);
    append(graph.edges, values);
  };
  for (const Edge& edge : edges_) {
    const bool is_sent =
        visits_.is_placed(state, edge.from) && visits_.is_placed(state, edge.to) &&
        state.device[static_cast<size_t>(edge.from)] != state.device[static_cast<size_t>(edge.to)];
    connect(devices_ + edge.from, devices_ + edge.to,
            {edge.bytes, log_of(100 * edge.time), is_sent ? 1.0 : 0.0, 0, 0, 0});
  }
  for (int group = 0; group < entities_.size(); ++group) {
    const int place = visits_.place(group);
    const int here = state.device[static_cast<size_t>(group)];
    connect(devices_ + group, here, {0, 0, 0, visits_.is_placed(state, group) ? 1.0 : 0.0, 0, 0});
    if (!is_constructive_) connect(here, devices_ + group, {0, 0, 0, 1, 0, 0});
    if (is_constructive_ && place > 0)
      connect(devices_ + visits_.group(place - 1), devices_ + group, {0, 0, 0, 0, 0, 1});
    if (place == state.placed)
      for (int device = 0; device < devices_; ++device)
        connect(device, devices_ + group, {0, 0, 0, 0, 0, 0});
  }
  for (int from = 0; from < devices_; ++from)
    for (int to = 0; to < devices_; ++to)
      if (from != to) connect(from, to, {0, 0, 0, 0, 1, 0});
}

GraphFeatures PlacementFeatures::graph(const std::vector<std::string>& types,
                                       const PlacementState& state, const Outcome& outcome,
                                       const Timeline& timeline) const {
  GraphFeatures graph;
  for (const Device& device : simulator_.topology().devices) {
    const auto type = std::ranges::find(types, "device " + device.kind);
    graph.node_types.push_back(static_cast<int32_t>(type - types.begin()));
  }
  write_devices(state, graph);
  write_groups(types, state, timeline, graph);
  write_edges(state, graph);
  graph.graph_targets = {log_of(static_cast<double>(outcome.makespan.count) / reference_),
                         log_of(static_cast<double>(outcome.peak_bytes) / all_bytes_),
                         static_cast<float>(std::ranges::max(work_by_device(state))),
                         outcome.feasible() ? 1.0f : 0.0f};
  return graph;
}

std::vector<float> PlacementFeatures::actions(const ActionMask& mask, const PlacementState& state,
                                              int fuse) const {
  std::vector<double> outputs(times_.size());
  for (const Edge& edge : edges_)
    outputs[cell(edge.from, state.device[static_cast<size_t>(edge.to)])] += edge.bytes;
  const size_t width = action_features().size(), entities = static_cast<size_t>(mask.entities);
  std::vector<float> features(mask.counts.size() * width),
      columns(static_cast<size_t>(devices_) * PlacingSteps::kColumns);
  const auto write = [&](int primary, int group, int device) {
    if (mask.at(primary, group + 1) == 0) return;
    const auto i = static_cast<size_t>(group), d = static_cast<size_t>(device);
    float* row = &features[(static_cast<size_t>(primary) * entities + i + 1) * width];
    *row++ = log_of(100 * times_[cell(group, device)]);
    *row++ = static_cast<float>(outputs[cell(group, device)] / (output_bytes_[i] + 1e-9));
    std::copy_n(&columns[d * PlacingSteps::kColumns], PlacingSteps::kColumns, row);
  };
  const int from = is_constructive_ ? state.placed : 0;
  const int to = is_constructive_ ? std::min(from + 1, entities_.size()) : entities_.size();
  PlacingSteps steps = visits_.steps(state, from);
  for (int place = from; place < to; ++place) {
    const int group = visits_.group(place), here = state.device[static_cast<size_t>(group)];
    steps.describe(columns.data());
    for (int device = 0; device < devices_; ++device) write(device, group, device);
    if (fuse >= 0) write(fuse, group, here);
    steps.place(here);
  }
  return features;
}

}  // namespace reverie
