#include "env/rewrite/features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "env/rewrite/regions.h"

namespace reverie {

const GraphFeatureNames& graph_feature_names() {
  static const GraphFeatureNames names = {
      {"cost / initial cost of all",
       "best gain, percent of the initial cost",
       "log FLOPs / 32",
       "log bytes of traffic / 32",
       "log elements / 32",
       "rank / 8",
       "log extent -4 / 16",
       "log extent -3 / 16",
       "log extent -2 / 16",
       "log extent -1 / 16",
       "inputs / 8",
       "constant inputs / 8",
       "log bytes of constant inputs / 32",
       "uses / 8",
       "is a graph output",
       "log kernel height / 4",
       "log kernel width / 4",
       "log stride / 4",
       "log sum of pads / 4",
       "log groups / 8",
       "axis / 8",
       "relu fused",
       "sigmoid fused",
       "tanh fused",
       "permutation 0 / 8",
       "permutation 1 / 8",
       "permutation 2 / 8",
       "permutation 3 / 8"},
      {"operand / 8", "rank / 8", "log extent -4 / 16", "log extent -3 / 16", "log extent -2 / 16",
       "log extent -1 / 16", "log elements / 32"},
      {"cost", "FLOPs", "traffic", "launches", "bytes of weights", "log nodes / 16",
       "log edges / 16", "log matches of all rules / 16"}};
  return names;
}

namespace {

constexpr size_t kNode = 28;
constexpr size_t kEdge = 7;

float log_of(double x) { return static_cast<float>(std::log2(1.0 + x)); }

float ratio(double value, double reference) {
  return reference > 0 ? static_cast<float>(value / reference) : 0.0f;
}

/// Rank, then the last four extents.
void write_shape(const TensorType& type, float* rank, float* extents) {
  constexpr int kExtents = 4;
  *rank = static_cast<float>(type.rank()) / 8;
  for (int i = 1; i <= std::min(kExtents, type.rank()); ++i)
    extents[kExtents - i] =
        log_of(static_cast<double>(type.shape[static_cast<size_t>(type.rank() - i)])) / 16;
}

/// An attribute of integers, or of one integer; empty when absent or of another type.
std::vector<int64_t> integers(const Attributes& attributes, std::string_view name) {
  const AttrValue* value = attributes.find(name);
  if (value == nullptr) return {};
  if (const auto* list = std::get_if<std::vector<int64_t>>(value)) return *list;
  if (const auto* one = std::get_if<int64_t>(value)) return {*one};
  return {};
}

double entry(const std::vector<int64_t>& list, size_t index) {
  return index < list.size() ? static_cast<double>(list[index]) : 0.0;
}

/// Extents of the window of a pool, or of the weights of a convolution.
std::vector<int64_t> kernel_of(const Graph& graph, NodeId node) {
  const OpSchema& op = graph.op(node);
  if (!op.is("Conv") && !op.is("ConvTranspose"))
    return integers(graph.attributes(node), "kernel_shape");
  const Shape& weights = graph.type(graph.inputs(node)[1]).shape;
  return {weights.begin() + 2, weights.end()};
}

void write_attributes(const Graph& graph, NodeId node, float* row) {
  const Attributes& attributes = graph.attributes(node);
  if (attributes.empty()) return;
  const std::vector<int64_t> kernel = kernel_of(graph, node);
  row[15] = log_of(entry(kernel, 0)) / 4;
  row[16] = log_of(entry(kernel, 1)) / 4;
  row[17] = log_of(entry(integers(attributes, "strides"), 0)) / 4;
  double pads = 0;
  for (const int64_t pad : integers(attributes, "pads")) pads += static_cast<double>(pad);
  row[18] = log_of(std::max(pads, 0.0)) / 4;
  row[19] = log_of(entry(integers(attributes, "group"), 0)) / 8;
  std::vector<int64_t> axis = integers(attributes, "axis");
  if (axis.empty()) axis = integers(attributes, "axes");
  row[20] = static_cast<float>(entry(axis, 0)) / 8;
  const std::string activation =
      attributes.has("activation") ? attributes.text("activation", "none") : "none";
  row[21] = activation == "relu";
  row[22] = activation == "sigmoid";
  row[23] = activation == "tanh";
  const std::vector<int64_t> perm = integers(attributes, "perm");
  for (size_t i = 0; i < 4; ++i) row[24 + i] = static_cast<float>(entry(perm, i)) / 8;
}

/// What depends on the node alone.
NodeRow row_of(const Graph& graph, CostModel& model, NodeId node) {
  NodeRow row;
  row.cost = node_cost(model, graph, node).runtime.count;
  float* columns = row.columns.data();
  if (graph.is_work(node)) {
    columns[2] = log_of(static_cast<double>(flops(graph, node))) / 32;
    columns[3] = log_of(static_cast<double>(traffic_bytes(graph, node))) / 32;
  }
  if (!graph.outputs(node).empty()) {
    const TensorType& type = graph.type(graph.output(node));
    columns[4] = log_of(static_cast<double>(type.elements())) / 32;
    write_shape(type, &columns[5], &columns[6]);
  }
  write_attributes(graph, node, columns);
  return row;
}

/// What depends on the nodes next to it.
void write_surroundings(const Graph& graph, NodeId node, NodeRow* row) {
  int constants = 0, uses = 0;
  int64_t bytes = 0;
  row->reads = {};
  const auto inputs = graph.inputs(node);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].valid()) continue;
    if (graph.is_constant(inputs[i])) {
      ++constants;
      bytes += graph.type(inputs[i]).bytes();
    } else {
      row->reads.push_back(
          {graph.producer(inputs[i]), graph.output_index(inputs[i]), static_cast<int32_t>(i)});
    }
  }
  bool is_output = false;
  for (const ValueId output : graph.outputs(node)) {
    uses += graph.use_count(output);
    is_output = is_output || graph.is_output(output);
  }
  float* columns = row->columns.data();
  columns[10] = static_cast<float>(inputs.size()) / 8;
  columns[11] = static_cast<float>(constants) / 8;
  columns[12] = bytes > 0 ? log_of(static_cast<double>(bytes)) / 32 : 0;
  columns[13] = static_cast<float>(uses) / 8;
  columns[14] = is_output;
}

/// Rank, extents and elements of a value, as the row of its producer has them where it is its first
/// output.
void write_value(const Graph& graph, const ReadValue& read, const float* producer, float* row) {
  if (read.output == 0) {
    std::copy_n(producer + 5, 5, row + 1);
    row[6] = producer[4];
    return;
  }
  const TensorType& type = graph.type(graph.output(read.producer, read.output));
  write_shape(type, &row[1], &row[2]);
  row[6] = log_of(static_cast<double>(type.elements())) / 32;
}

void reserve(std::span<const NodeId> order, const NodeRows& rows, GraphFeatures* features) {
  size_t nodes = 0, edges = 0;
  for (const NodeId node : order) {
    const NodeKind kind = rows.kind(node);
    if (kind.type < 0) continue;
    ++nodes;
    edges += static_cast<size_t>(kind.reads);
  }
  features->node_types.reserve(nodes);
  features->node_entities.reserve(nodes);
  features->node_targets.reserve(nodes);
  features->nodes.reserve(nodes * kNode);
  features->senders.reserve(edges);
  features->receivers.reserve(edges);
  features->edges.reserve(edges * kEdge);
}

/// In a large graph a step waits for rows from memory most of all: they are asked for so many nodes
/// ahead.
constexpr size_t kAhead = 12;

void prefetch(const NodeRow& row) {
  constexpr size_t kCacheLine = 64;
  const auto* bytes = reinterpret_cast<const char*>(&row);
  for (size_t at = 0; at < sizeof(row); at += kCacheLine) __builtin_prefetch(bytes + at);
}

void append_node(const NodeRow& row, const FeatureContext& context, GraphFeatures* features) {
  const auto cost = static_cast<double>(row.cost);
  features->node_targets.push_back(ratio(cost, static_cast<double>(context.cost.runtime.count)));
  features->nodes.push_back(ratio(cost, static_cast<double>(context.initial.runtime.count)));
  features->nodes.insert(features->nodes.end(), row.columns.begin() + 1, row.columns.end());
}

/// `position`: the number of a node that is shown, by its index; -1 of others.
void append_edges(const Graph& graph, const NodeRow& receiver, const std::vector<int32_t>& position,
                  GraphFeatures* features) {
  for (const ReadValue& read : receiver.reads) {
    const int32_t sender = position[static_cast<size_t>(read.producer.index)];
    features->senders.push_back(sender);
    features->receivers.push_back(features->node_count() - 1);
    features->edges.resize(features->edges.size() + kEdge);
    float* const row = features->edges.data() + features->edges.size() - kEdge;
    row[0] = static_cast<float>(read.operand) / 8;
    write_value(graph, read, &features->nodes[static_cast<size_t>(sender) * kNode], row);
  }
}

void write_gains(const std::vector<int32_t>& position, const FeatureContext& context,
                 GraphFeatures* features) {
  const auto for_each = [&](const auto& write) {
    for (const auto& [node, gain] : context.gains)
      if (const int32_t row = position[static_cast<size_t>(node.index)]; row >= 0)
        write(features->nodes[static_cast<size_t>(row) * kNode + 1], gain);
  };
  for_each([](float& best, float gain) { best = gain; });
  for_each([](float& best, float gain) { best = std::max(best, gain); });
}

void write_graph_targets(const FeatureContext& context, GraphFeatures* features) {
  const auto relative = [](auto value, auto reference) {
    return ratio(static_cast<double>(value), static_cast<double>(reference));
  };
  features->graph_targets = {relative(context.cost.runtime.count, context.initial.runtime.count),
                             relative(context.cost.flops, context.initial.flops),
                             relative(context.cost.bytes, context.initial.bytes),
                             relative(context.cost.launches, context.initial.launches),
                             relative(context.weight_bytes, context.initial_weight_bytes),
                             log_of(features->node_count()) / 16,
                             log_of(features->edge_count()) / 16,
                             log_of(static_cast<double>(context.matches)) / 16};
}

}  // namespace

NodeRows::NodeRows(const Graph& graph, CostModel& model) { update(graph, model, graph.nodes()); }

void NodeRows::update(const Graph& graph, CostModel& model, std::span<const NodeId> changed) {
  rows_.extend(static_cast<size_t>(graph.node_capacity()));
  kinds_.extend(rows_.size());
  for (const NodeId node : changed) {
    if (!graph.alive(node) || graph.is_constant(node)) continue;
    const auto index = static_cast<size_t>(node.index);
    NodeRow& row = rows_.edit(index);
    if (kinds_[index].type < 0) row = row_of(graph, model, node);
    write_surroundings(graph, node, &row);
    kinds_.edit(index) = {graph.op(node).id, static_cast<int32_t>(row.reads.size())};
  }
}

GraphFeatures graph_features(const Graph& graph, std::span<const NodeId> order,
                             const NodeRows& rows, const FeatureContext& context) {
  GraphFeatures features;
  reserve(order, rows, &features);
  std::vector<int32_t> position(static_cast<size_t>(graph.node_capacity()), -1);
  for (size_t i = 0; i < order.size(); ++i) {
    if (i + kAhead < order.size()) prefetch(rows[order[i + kAhead]]);
    const NodeId node = order[i];
    const NodeKind kind = rows.kind(node);
    if (kind.type < 0) continue;
    position[static_cast<size_t>(node.index)] = features.node_count();
    features.node_types.push_back(kind.type);
    features.node_entities.push_back(context.regions->of(node));
    append_node(rows[node], context, &features);
    append_edges(graph, rows[node], position, &features);
  }
  write_gains(position, context, &features);
  write_graph_targets(context, &features);
  return features;
}

}  // namespace reverie
