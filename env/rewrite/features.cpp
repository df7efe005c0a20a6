#include "env/rewrite/features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
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

/// The columns that depend on what is around a node.
void write_surroundings(const Graph& graph, NodeId node, float* row) {
  int constants = 0, uses = 0;
  int64_t bytes = 0;
  for (const ValueId input : graph.inputs(node)) {
    if (!input.valid() || !graph.is_constant(input)) continue;
    ++constants;
    bytes += graph.type(input).bytes();
  }
  row[10] = static_cast<float>(graph.inputs(node).size()) / 8;
  row[11] = static_cast<float>(constants) / 8;
  if (bytes > 0) row[12] = log_of(static_cast<double>(bytes)) / 32;
  for (const ValueId output : graph.outputs(node)) {
    uses += graph.use_count(output);
    if (graph.is_output(output)) row[14] = 1;
  }
  row[13] = static_cast<float>(uses) / 8;
}

/// Rank, extents and elements of a value, as the row of its producer has them where it is its first
/// output.
void write_value(const Graph& graph, ValueId value, const float* producer, float* row) {
  if (graph.output(graph.producer(value)) == value) {
    std::copy_n(producer + 5, 5, row + 1);
    row[6] = producer[4];
    return;
  }
  const TensorType& type = graph.type(value);
  write_shape(type, &row[1], &row[2]);
  row[6] = log_of(static_cast<double>(type.elements())) / 32;
}

void append_edges(const Graph& graph, NodeId node, const std::vector<int32_t>& position,
                  GraphFeatures* features) {
  const auto inputs = graph.inputs(node);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].valid() || graph.is_constant(inputs[i])) continue;
    const int32_t sender = position[static_cast<size_t>(graph.producer(inputs[i]).index)];
    features->senders.push_back(sender);
    features->receivers.push_back(position[static_cast<size_t>(node.index)]);
    std::array<float, kEdge> row{};
    row[0] = static_cast<float>(i) / 8;
    write_value(graph, inputs[i], &features->nodes[static_cast<size_t>(sender) * kNode],
                row.data());
    features->edges.insert(features->edges.end(), row.begin(), row.end());
  }
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

NodeRows::NodeRows(const Graph& start, CostModel& model) {
  std::vector<NodeRow> rows(static_cast<size_t>(start.node_capacity()));
  for (const NodeId node : start.nodes())
    if (!start.is_constant(node))
      rows[static_cast<size_t>(node.index)] = row_of(start, model, node);
  start_ = std::make_shared<const std::vector<NodeRow>>(std::move(rows));
}

const NodeRow& NodeRows::of(const Graph& graph, CostModel& model, NodeId node) {
  const auto index = static_cast<size_t>(node.index);
  if (index < start_->size()) return (*start_)[index];
  const size_t came = index - start_->size();
  if (came >= since_.size()) since_.resize(came + 1);
  if (!since_[came]) since_[came] = row_of(graph, model, node);
  return *since_[came];
}

GraphFeatures graph_features(const Graph& graph, std::span<const NodeId> order, CostModel& model,
                             NodeRows& rows, const FeatureContext& context) {
  std::vector<NodeId> nodes;
  nodes.reserve(order.size());
  std::ranges::copy_if(order, std::back_inserter(nodes),
                       [&](NodeId node) { return !graph.is_constant(node); });
  std::vector<int32_t> position(static_cast<size_t>(graph.node_capacity()), -1);
  GraphFeatures features;
  features.nodes.resize(nodes.size() * kNode);
  for (size_t i = 0; i < nodes.size(); ++i) {
    const NodeId node = nodes[i];
    const auto index = static_cast<size_t>(node.index);
    position[index] = static_cast<int32_t>(i);
    features.node_types.push_back(graph.op(node).id);
    features.node_entities.push_back(context.regions->of(node));
    const NodeRow& kept = rows.of(graph, model, node);
    const auto cost = static_cast<double>(kept.cost);
    features.node_targets.push_back(ratio(cost, static_cast<double>(context.cost.runtime.count)));
    float* row = &features.nodes[i * kNode];
    std::ranges::copy(kept.columns, row);
    write_surroundings(graph, node, row);
    row[0] = ratio(cost, static_cast<double>(context.initial.runtime.count));
    if (index < context.gains.size() && context.gains[index])
      row[1] = static_cast<float>(*context.gains[index]);
  }
  for (const NodeId node : nodes) append_edges(graph, node, position, &features);
  write_graph_targets(context, &features);
  return features;
}

}  // namespace reverie
