#include "datasets/state_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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
  const auto wide = [](int width) { return static_cast<size_t>(width); };
  check_size(graph.nodes.size(), nodes * wide(spec.node_features), spec, "node features");
  check_size(graph.node_targets.size(), nodes, spec, "node targets");
  check_size(graph.receivers.size(), edges, spec, "receivers");
  check_size(graph.edges.size(), edges * wide(spec.edge_features), spec, "edge features");
  check_size(graph.globals.size(), wide(spec.global_features), spec, "globals");
  check_size(observation.mask.counts.size(), spec.actions.size(), spec, "mask counts");
  check_size(observation.mask.choices.size(), spec.prefix_masks ? 0 : spec.actions.size(), spec,
             "mask lists");
  check_size(observation.action_features.size(), spec.actions.size() * wide(spec.action_features),
             spec, "action features");
  const size_t cells = spec.regions > 1 ? spec.actions.size() * wide(spec.regions) : 0;
  check_size(graph.node_regions.size(), spec.regions > 1 ? nodes : 0, spec, "node regions");
  check_size(observation.mask.region_counts.size(), cells, spec, "region counts");
  check_size(observation.region_features.size(), cells * wide(spec.action_features), spec,
             "region features");
}

void check_numbers(const EnvSpec& spec, const Observation& observation) {
  const GraphFeatures& graph = observation.graph;
  const auto all_below = [](const std::vector<int32_t>& values, int limit) {
    return std::all_of(values.begin(), values.end(), [&](int v) { return v >= 0 && v < limit; });
  };
  if (spec.node_types > 65536 || !all_below(graph.node_types, spec.node_types))
    throw InputError("environment {}: a node type is not below {}", spec.name, spec.node_types);
  if (!all_below(graph.senders, graph.node_count()) || !all_below(graph.receivers, graph.node_count()))
    throw InputError("environment {}: an edge ends at no node", spec.name);
  for (const float value : graph.globals)
    if (!std::isfinite(value)) throw InputError("environment {}: a global is not finite", spec.name);
  if (!all_below(graph.node_regions, spec.regions))
    throw InputError("environment {}: a region of a node is not below {}", spec.name, spec.regions);
}

/// Features of the cells in which choices lie; all others are 0.
std::vector<float> features_of_cells(const EnvSpec& spec, const Observation& observation) {
  const auto width = static_cast<size_t>(spec.action_features);
  const auto& counts = observation.mask.region_counts;
  std::vector<float> features;
  for (size_t i = 0; i < observation.region_features.size(); ++i) {
    if (counts[i / width] > 0) features.push_back(observation.region_features[i]);
    else if (observation.region_features[i] != 0)
      throw InputError("environment {}: a region without choices has features", spec.name);
  }
  return features;
}

void check_region_counts(const EnvSpec& spec, const ActionMask& mask) {
  const auto regions = static_cast<size_t>(spec.regions);
  for (size_t p = 0; spec.regions > 1 && p < mask.counts.size(); ++p) {
    const auto row = mask.region_counts.begin() + static_cast<ptrdiff_t>(p * regions);
    if (std::accumulate(row, row + spec.regions, 0) != mask.counts[p])
      throw InputError("environment {}: choices by region do not sum to the mask's", spec.name);
  }
}

}  // namespace

EncodedState encode_state(const EnvSpec& spec, const Observation& observation) {
  check_sizes(spec, observation);
  check_numbers(spec, observation);
  check_region_counts(spec, observation.mask);
  const GraphFeatures& graph = observation.graph;
  const auto halves = [&](const std::vector<float>& values, int columns, const char* what) {
    return encode_halves(values, static_cast<size_t>(columns), spec, what);
  };
  EncodedState state;
  state.key = observation.state_key;
  state.node_types = graph.node_types;
  state.senders = graph.senders;
  state.receivers = graph.receivers;
  state.nodes = halves(graph.nodes, spec.node_features, "a node feature");
  state.edges = halves(graph.edges, spec.edge_features, "an edge feature");
  state.targets = halves(graph.node_targets, 1, "a node target");
  state.action_features = halves(observation.action_features, spec.action_features,
                                 "an action feature");
  state.globals = graph.globals;
  state.mask = observation.mask;
  state.node_regions = graph.node_regions;
  state.region_features = halves(features_of_cells(spec, observation), spec.action_features,
                                 "a region feature");
  return state;
}

StateTable::StateTable(const EnvSpec& spec)
    : node_begin_{0}, edge_begin_{0}, choice_begin_{0}, cell_begin_{0} {
  widths_.node_row = 1 + static_cast<size_t>(spec.node_features);
  widths_.edge_row = static_cast<size_t>(spec.edge_features);
  widths_.globals = static_cast<size_t>(spec.global_features);
  widths_.primary = spec.actions.size();
  widths_.action_features = spec.actions.size() * static_cast<size_t>(spec.action_features);
  widths_.regions = static_cast<size_t>(spec.regions);
  widths_.cell_features = static_cast<size_t>(spec.action_features);
  widths_.lists = !spec.prefix_masks;
}

size_t StateTable::memory() const {
  size_t bytes = 0;
  for (const CompactInts* ints : {&node_counts_, &edge_counts_, &node_row_, &edge_row_,
                                  &receiver_step_, &sender_back_, &mask_counts_, &mask_choices_,
                                  &node_region_, &cell_counts_, &cell_step_, &cell_choices_})
    bytes += ints->memory();
  bytes += 2 * (targets_.capacity() + action_features_.capacity() + cell_features_.capacity());
  bytes += 2 * (node_rows_.capacity() + edge_rows_.capacity());
  return bytes + 4 * globals_.capacity() + 8 * 5 * keys_.capacity();
}

size_t StateTable::choices_of(size_t index) const {
  size_t choices = 0;
  if (widths_.lists)
    for (size_t p = 0; p < widths_.primary; ++p) choices += mask_counts_[index * widths_.primary + p];
  return choices;
}

void StateTable::index_offsets() {
  for (size_t i = node_begin_.size() - 1; i < keys_.size(); ++i) {
    node_begin_.push_back(node_begin_.back() + node_counts_[i]);
    edge_begin_.push_back(edge_begin_.back() + edge_counts_[i]);
    choice_begin_.push_back(choice_begin_.back() + choices_of(i));
    cell_begin_.push_back(cell_begin_.back() + (widths_.cut() ? cell_counts_[i] : 0));
  }
}

Observation StateTable::decode(size_t index) const {
  Observation observation;
  GraphFeatures& graph = observation.graph;
  observation.state_key = keys_[index];
  const size_t features = widths_.node_row - 1;
  graph.nodes.reserve(node_counts_[index] * features);
  for (size_t n = node_begin_[index]; n < node_begin_[index + 1]; ++n) {
    const uint16_t* row = &node_rows_[node_row_[n] * widths_.node_row];
    graph.node_types.push_back(row[0]);
    for (size_t f = 1; f <= features; ++f) graph.nodes.push_back(from_bits(row[f]));
    graph.node_targets.push_back(static_cast<float>(targets_[n]));
  }
  graph.edges.reserve(edge_counts_[index] * widths_.edge_row);
  int32_t receiver = 0;
  for (size_t e = edge_begin_[index]; e < edge_begin_[index + 1]; ++e) {
    receiver += unzigzag(receiver_step_[e]);
    graph.receivers.push_back(receiver);
    graph.senders.push_back(receiver - unzigzag(sender_back_[e]));
    const uint16_t* row = edge_rows_.data() + edge_row_[e] * widths_.edge_row;
    for (size_t f = 0; f < widths_.edge_row; ++f) graph.edges.push_back(from_bits(row[f]));
  }
  const auto globals = globals_.begin() + static_cast<ptrdiff_t>(index * widths_.globals);
  graph.globals.assign(globals, globals + static_cast<ptrdiff_t>(widths_.globals));
  for (size_t a = 0; a < widths_.action_features; ++a)
    observation.action_features.push_back(
        static_cast<float>(action_features_[index * widths_.action_features + a]));
  size_t choice = choice_begin_[index];
  for (size_t p = 0; p < widths_.primary; ++p) {
    const uint32_t count = mask_counts_[index * widths_.primary + p];
    observation.mask.counts.push_back(static_cast<uint16_t>(count));
    if (!widths_.lists) continue;
    auto& list = observation.mask.choices.emplace_back();
    for (uint32_t i = 0; i < count; ++i)
      list.push_back(static_cast<uint16_t>(mask_choices_[choice++]));
  }
  if (widths_.cut()) decode_regions(index, &observation);
  return observation;
}

uint32_t StateTableBuilder::add_row(const std::vector<uint16_t>& row, std::vector<uint16_t>& rows,
                                    RowNumbers& known) {
  const uint64_t hash = hash_bytes(row.data(), row.size() * sizeof(uint16_t));
  const auto [begin, end] = known.equal_range(hash);
  for (auto it = begin; it != end; ++it)
    if (std::equal(row.begin(), row.end(), rows.data() + it->second * row.size())) return it->second;
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
  table_.targets_.insert(table_.targets_.end(), state.targets.begin(), state.targets.end());
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

void StateTableBuilder::append(const EncodedState& state) {
  append_nodes(state);
  append_edges(state);
  table_.keys_.push_back(state.key);
  table_.globals_.insert(table_.globals_.end(), state.globals.begin(), state.globals.end());
  table_.action_features_.insert(table_.action_features_.end(), state.action_features.begin(),
                                 state.action_features.end());
  for (const uint16_t count : state.mask.counts) table_.mask_counts_.push_back(count);
  for (const auto& list : state.mask.choices)
    for (const uint16_t choice : list) table_.mask_choices_.push_back(choice);
  if (table_.widths_.cut()) table_.append_regions(state);
  table_.index_offsets();
}

StateTable StateTableBuilder::take() {
  StateTable taken = std::move(table_);
  *this = StateTableBuilder(spec_);
  return taken;
}

}  // namespace reverie
