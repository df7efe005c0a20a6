#include "datasets/state_table.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace reverie {
namespace {

constexpr uint16_t kInfiniteHalf = 0x7c00;

float from_bits(uint16_t bits) {
  Float16 half;
  half.bits = bits;
  return static_cast<float>(half);
}

std::vector<Float16> encode_halves(const std::vector<float>& values, size_t columns,
                                   const EnvSpec& spec, const char* what) {
  std::vector<Float16> halves(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    halves[i] = Float16(values[i]);
    if ((halves[i].bits & kInfiniteHalf) == kInfiniteHalf)
      throw InputError("environment {}: {}, column {}, is {}, which float16 cannot hold; scale it",
                       spec.name, what, i % std::max<size_t>(columns, 1), values[i]);
  }
  return halves;
}

void check_size(size_t size, size_t expected, const EnvSpec& spec, const char* what) {
  if (size != expected)
    throw InputError("environment {}: an observation has {} values of {} where its spec says {}",
                     spec.name, size, what, expected);
}

void check_sizes(const EnvSpec& spec, const Observation& observation) {
  const GraphFeatures& graph = observation.graph;
  const size_t nodes = graph.node_types.size(), edges = graph.senders.size();
  const auto targets = [&](TargetLevel level) {
    return static_cast<size_t>(spec.target_count(level));
  };
  check_size(graph.nodes.size(), nodes * spec.node_features.size(), spec, "node features");
  check_size(graph.node_entities.size(), nodes, spec, "node entities");
  check_size(graph.node_targets.size(), nodes * targets(TargetLevel::kNode), spec, "node targets");
  check_size(graph.graph_targets.size(), targets(TargetLevel::kGraph), spec, "graph targets");
  check_size(graph.receivers.size(), edges, spec, "receivers");
  check_size(graph.edges.size(), edges * spec.edge_features.size(), spec, "edge features");
  const size_t cells =
      spec.actions.size() * static_cast<size_t>(std::max(observation.mask.entities, 1));
  check_size(observation.mask.counts.size(), cells, spec, "mask counts");
  check_size(observation.action_features.size(), cells * spec.action_features.size(), spec,
             "action features");
}

void check_numbers(const EnvSpec& spec, const Observation& observation) {
  const GraphFeatures& graph = observation.graph;
  const auto all_below = [](const std::vector<int32_t>& values, int limit) {
    return std::all_of(values.begin(), values.end(), [&](int v) { return v >= 0 && v < limit; });
  };
  if (spec.node_types.size() > 65536 ||
      !all_below(graph.node_types, static_cast<int>(spec.node_types.size())))
    throw InputError("environment {}: a node type is not below {}", spec.name,
                     spec.node_types.size());
  if (!all_below(graph.senders, graph.node_count()) ||
      !all_below(graph.receivers, graph.node_count()))
    throw InputError("environment {}: an edge ends at no node", spec.name);
  for (const float value : graph.graph_targets)
    if (!std::isfinite(value))
      throw InputError("environment {}: a target is not finite", spec.name);
  if (!all_below(graph.node_entities, observation.mask.entities))
    throw InputError("environment {}: an entity of a node is not below {}", spec.name,
                     observation.mask.entities);
}

/// Features of the cells that have choices; all others are 0.
std::vector<float> features_of_cells(const EnvSpec& spec, const Observation& observation) {
  const size_t width = spec.action_features.size();
  const auto& counts = observation.mask.counts;
  std::vector<float> features;
  for (size_t i = 0; i < observation.action_features.size(); ++i) {
    if (counts[i / width] > 0)
      features.push_back(observation.action_features[i]);
    else if (observation.action_features[i] != 0)
      throw InputError("environment {}: an action has features where it has no choices", spec.name);
  }
  return features;
}

}  // namespace

EncodedState encode_state(const EnvSpec& spec, const Observation& observation) {
  check_sizes(spec, observation);
  check_numbers(spec, observation);
  const GraphFeatures& graph = observation.graph;
  const auto halves = [&](const std::vector<float>& values, size_t columns, const char* what) {
    return encode_halves(values, columns, spec, what);
  };
  EncodedState state;
  state.key = observation.state_key;
  state.node_types = graph.node_types;
  state.node_entities = graph.node_entities;
  state.senders = graph.senders;
  state.receivers = graph.receivers;
  state.nodes = halves(graph.nodes, spec.node_features.size(), "a node feature");
  state.edges = halves(graph.edges, spec.edge_features.size(), "an edge feature");
  state.node_targets =
      halves(graph.node_targets, static_cast<size_t>(spec.target_count(TargetLevel::kNode)),
             "a node target");
  state.graph_targets = graph.graph_targets;
  state.mask = observation.mask;
  state.action_features = halves(features_of_cells(spec, observation), spec.action_features.size(),
                                 "an action feature");
  return state;
}

StateTable::StateTable(const EnvSpec& spec) : node_begin_{0}, edge_begin_{0}, cell_begin_{0} {
  widths_.node_row = 1 + spec.node_features.size();
  widths_.edge_row = spec.edge_features.size();
  widths_.node_targets = static_cast<size_t>(spec.target_count(TargetLevel::kNode));
  widths_.graph_targets = static_cast<size_t>(spec.target_count(TargetLevel::kGraph));
  widths_.primary = spec.actions.size();
  widths_.action_features = spec.action_features.size();
}

size_t StateTable::memory() const {
  size_t bytes = 0;
  for (const CompactInts* ints :
       {&node_counts_, &edge_counts_, &entity_counts_, &cell_counts_, &node_row_, &node_entity_,
        &edge_row_, &receiver_step_, &sender_back_, &cell_step_, &cell_choices_})
    bytes += ints->memory();
  bytes += 2 * (node_targets_.capacity() + action_features_.capacity());
  bytes += 2 * (node_rows_.capacity() + edge_rows_.capacity());
  return bytes + 4 * graph_targets_.capacity() + 8 * 4 * keys_.capacity();
}

void StateTable::index_offsets() {
  for (size_t i = node_begin_.size() - 1; i < keys_.size(); ++i) {
    node_begin_.push_back(node_begin_.back() + node_counts_[i]);
    edge_begin_.push_back(edge_begin_.back() + edge_counts_[i]);
    cell_begin_.push_back(cell_begin_.back() + cell_counts_[i]);
  }
}

void StateTable::decode_nodes(size_t index, GraphFeatures& graph) const {
  const size_t features = widths_.node_row - 1, targets = widths_.node_targets;
  graph.nodes.reserve(node_counts_[index] * features);
  for (size_t n = node_begin_[index]; n < node_begin_[index + 1]; ++n) {
    const uint16_t* row = &node_rows_[node_row_[n] * widths_.node_row];
    graph.node_types.push_back(row[0]);
    for (size_t f = 1; f <= features; ++f) graph.nodes.push_back(from_bits(row[f]));
    graph.node_entities.push_back(static_cast<int32_t>(node_entity_[n]));
    for (size_t t = 0; t < targets; ++t)
      graph.node_targets.push_back(static_cast<float>(node_targets_[n * targets + t]));
  }
}

void StateTable::decode_edges(size_t index, GraphFeatures& graph) const {
  graph.edges.reserve(edge_counts_[index] * widths_.edge_row);
  int32_t receiver = 0;
  for (size_t e = edge_begin_[index]; e < edge_begin_[index + 1]; ++e) {
    receiver += unzigzag(receiver_step_[e]);
    graph.receivers.push_back(receiver);
    graph.senders.push_back(receiver - unzigzag(sender_back_[e]));
    const uint16_t* row = edge_rows_.data() + edge_row_[e] * widths_.edge_row;
    for (size_t f = 0; f < widths_.edge_row; ++f) graph.edges.push_back(from_bits(row[f]));
  }
}

void StateTable::decode_actions(size_t index, Observation& observation) const {
  const size_t width = widths_.action_features, entities = entity_counts_[index];
  ActionMask& mask = observation.mask;
  mask.entities = static_cast<int>(entities);
  mask.counts.assign(widths_.primary * entities, 0);
  observation.action_features.assign(mask.counts.size() * width, 0.0f);
  size_t cell = 0;
  for (size_t i = cell_begin_[index]; i < cell_begin_[index + 1]; ++i, ++cell) {
    cell += cell_step_[i];
    mask.counts[cell] = static_cast<uint16_t>(cell_choices_[i]);
    for (size_t f = 0; f < width; ++f)
      observation.action_features[cell * width + f] =
          static_cast<float>(action_features_[i * width + f]);
  }
}

Observation StateTable::decode(size_t index) const {
  Observation observation;
  observation.state_key = keys_[index];
  decode_nodes(index, observation.graph);
  decode_edges(index, observation.graph);
  const auto targets =
      graph_targets_.begin() + static_cast<ptrdiff_t>(index * widths_.graph_targets);
  observation.graph.graph_targets.assign(targets,
                                         targets + static_cast<ptrdiff_t>(widths_.graph_targets));
  decode_actions(index, observation);
  return observation;
}

uint32_t StateTableBuilder::add_row(const std::vector<uint16_t>& row, std::vector<uint16_t>& rows,
                                    RowNumbers& known) {
  const uint64_t hash = hash_bytes(row.data(), row.size() * sizeof(uint16_t));
  const auto [begin, end] = known.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (std::equal(row.begin(), row.end(), rows.data() + it->second * row.size()))
      return it->second;
  const auto number = static_cast<uint32_t>(known.size());
  rows.insert(rows.end(), row.begin(), row.end());
  known.emplace(hash, number);
  return number;
}

int32_t StateTableBuilder::add(const EncodedState& state) {
  const auto [begin, end] = known_states_.equal_range(state.key);
  for (auto it = begin; it != end; ++it)
    if (encode_state(spec_, table_.decode(static_cast<size_t>(it->second))) == state)
      return it->second;
  const auto number = static_cast<int32_t>(table_.size());
  append(state);
  known_states_.emplace(state.key, number);
  return number;
}

void StateTableBuilder::append_nodes(const EncodedState& state) {
  std::vector<uint16_t> row(table_.widths_.node_row);
  const size_t features = row.size() - 1;
  for (size_t n = 0; n < state.node_types.size(); ++n) {
    row[0] = static_cast<uint16_t>(state.node_types[n]);
    for (size_t f = 0; f < features; ++f) row[1 + f] = state.nodes[n * features + f].bits;
    table_.node_row_.push_back(add_row(row, table_.node_rows_, known_nodes_));
  }
  table_.node_counts_.push_back(static_cast<uint32_t>(state.node_types.size()));
  for (const int32_t entity : state.node_entities)
    table_.node_entity_.push_back(static_cast<uint32_t>(entity));
  table_.node_targets_.insert(table_.node_targets_.end(), state.node_targets.begin(),
                              state.node_targets.end());
}

void StateTableBuilder::append_edges(const EncodedState& state) {
  std::vector<uint16_t> row(table_.widths_.edge_row);
  int32_t receiver = 0;
  for (size_t e = 0; e < state.senders.size(); ++e) {
    for (size_t f = 0; f < row.size(); ++f) row[f] = state.edges[e * row.size() + f].bits;
    table_.edge_row_.push_back(add_row(row, table_.edge_rows_, known_edges_));
    table_.receiver_step_.push_back(zigzag(state.receivers[e] - receiver));
    receiver = state.receivers[e];
    table_.sender_back_.push_back(zigzag(receiver - state.senders[e]));
  }
  table_.edge_counts_.push_back(static_cast<uint32_t>(state.senders.size()));
}

void StateTableBuilder::append_cells(const EncodedState& state) {
  const auto& counts = state.mask.counts;
  size_t next = 0, cells = 0;
  for (size_t cell = 0; cell < counts.size(); ++cell) {
    if (counts[cell] == 0) continue;
    table_.cell_step_.push_back(static_cast<uint32_t>(cell - next));
    table_.cell_choices_.push_back(counts[cell]);
    next = cell + 1;
    ++cells;
  }
  table_.entity_counts_.push_back(static_cast<uint32_t>(state.mask.entities));
  table_.cell_counts_.push_back(static_cast<uint32_t>(cells));
  table_.action_features_.insert(table_.action_features_.end(), state.action_features.begin(),
                                 state.action_features.end());
}

void StateTableBuilder::append(const EncodedState& state) {
  append_nodes(state);
  append_edges(state);
  append_cells(state);
  table_.keys_.push_back(state.key);
  table_.graph_targets_.insert(table_.graph_targets_.end(), state.graph_targets.begin(),
                               state.graph_targets.end());
  table_.index_offsets();
}

StateTable StateTableBuilder::take() {
  StateTable taken = std::move(table_);
  *this = StateTableBuilder(spec_);
  return taken;
}

}  // namespace reverie
