#include <algorithm>

#include "datasets/state_table.h"

namespace reverie {
namespace {

size_t total(const CompactInts& counts) {
  size_t sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) sum += counts[i];
  return sum;
}

void require_below(const hdf5::Reader& reader, const char* name, const CompactInts& values,
                   size_t limit) {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] >= limit)
      reader.refuse(name, fmt::format("entry {} is {}, it must be below {}", i, values[i], limit));
}

}  // namespace

void StateTable::write(hdf5::Writer& writer) const {
  const size_t features = widths_.node_row - 1;
  CompactInts types;
  std::vector<Float16> nodes, edges;
  for (size_t i = 0; i < node_rows_.size(); ++i) {
    if (i % widths_.node_row == 0)
      types.push_back(node_rows_[i]);
    else
      nodes.emplace_back().bits = node_rows_[i];
  }
  for (const uint16_t bits : edge_rows_) edges.emplace_back().bits = bits;
  writer.group("node_rows");
  writer.array("node_rows/type", types);
  writer.array("node_rows/features", nodes, features);
  writer.group("edge_rows");
  writer.array("edge_rows/features", edges, widths_.edge_row);
  writer.group("states");
  writer.array("states/key", keys_);
  writer.array("states/nodes", node_counts_);
  writer.array("states/edges", edge_counts_);
  writer.array("states/node_row", node_row_);
  writer.array("states/node_entity", node_entity_);
  writer.array("states/node_target", node_targets_, widths_.node_targets);
  writer.array("states/edge_row", edge_row_);
  writer.array("states/edge_receiver_step", receiver_step_);
  writer.array("states/edge_sender_back", sender_back_);
  writer.array("states/graph_target", graph_targets_, widths_.graph_targets);
  writer.array("states/entities", entity_counts_);
  writer.array("states/cells", cell_counts_);
  writer.array("states/cell_step", cell_step_);
  writer.array("states/cell_choices", cell_choices_);
  writer.array("states/cell_features", action_features_, widths_.action_features);
}

void StateTable::read_rows(const hdf5::Reader& reader) {
  const size_t rows = reader.count("node_rows/type"), features = widths_.node_row - 1;
  const CompactInts types = reader.integers("node_rows/type", rows);
  const auto nodes = reader.array<Float16>("node_rows/features", rows * features);
  for (size_t row = 0; row < rows; ++row) {
    node_rows_.push_back(static_cast<uint16_t>(types[row]));
    for (size_t f = 0; f < features; ++f) node_rows_.push_back(nodes[row * features + f].bits);
  }
  for (const Float16 half :
       reader.array<Float16>("edge_rows/features", reader.count("edge_rows/features")))
    edge_rows_.push_back(half.bits);
}

void StateTable::read_states(const hdf5::Reader& reader, size_t states) {
  keys_ = reader.array<uint64_t>("states/key", states);
  node_counts_ = reader.integers("states/nodes", states);
  edge_counts_ = reader.integers("states/edges", states);
  entity_counts_ = reader.integers("states/entities", states);
  cell_counts_ = reader.integers("states/cells", states);
  const size_t nodes = total(node_counts_), edges = total(edge_counts_),
               cells = total(cell_counts_);
  node_row_ = reader.integers("states/node_row", nodes);
  node_entity_ = reader.integers("states/node_entity", nodes);
  node_targets_ = reader.array<Float16>("states/node_target", nodes * widths_.node_targets);
  edge_row_ = reader.integers("states/edge_row", edges);
  receiver_step_ = reader.integers("states/edge_receiver_step", edges);
  sender_back_ = reader.integers("states/edge_sender_back", edges);
  graph_targets_ = reader.array<float>("states/graph_target", states * widths_.graph_targets);
  cell_step_ = reader.integers("states/cell_step", cells);
  cell_choices_ = reader.integers("states/cell_choices", cells);
  action_features_ = reader.array<Float16>("states/cell_features", cells * widths_.action_features);
}

void StateTable::check_edges(const hdf5::Reader& reader, size_t index) const {
  int64_t receiver = 0;
  for (size_t e = edge_begin_[index]; e < edge_begin_[index + 1]; ++e) {
    receiver += unzigzag(receiver_step_[e]);
    const int64_t sender = receiver - unzigzag(sender_back_[e]);
    if (std::min(receiver, sender) < 0 || std::max(receiver, sender) >= node_counts_[index])
      reader.refuse("states/edge_receiver_step",
                    fmt::format("an edge of state {} ends at no node", index));
  }
}

void StateTable::check_cells(const hdf5::Reader& reader, size_t index) const {
  const uint64_t cells = widths_.primary * entity_counts_[index];
  uint64_t cell = 0;
  for (size_t i = cell_begin_[index]; i < cell_begin_[index + 1]; ++i, ++cell) {
    cell += cell_step_[i];
    if (cell >= cells)
      reader.refuse("states/cell_step", fmt::format("a cell of state {} is no action's", index));
  }
  for (size_t n = node_begin_[index]; n < node_begin_[index + 1]; ++n)
    if (node_entity_[n] >= entity_counts_[index])
      reader.refuse("states/node_entity", fmt::format("entry {} is {}, it must be below {}", n,
                                                      node_entity_[n], entity_counts_[index]));
}

void StateTable::check(const hdf5::Reader& reader, const EnvSpec& spec) const {
  for (size_t i = 0; i < node_rows_.size(); i += widths_.node_row)
    if (node_rows_[i] >= spec.node_types.size())
      reader.refuse("node_rows/type", fmt::format("a type is {}, it must be below {}",
                                                  node_rows_[i], spec.node_types.size()));
  require_below(reader, "states/node_row", node_row_, node_rows_.size() / widths_.node_row);
  if (widths_.edge_row > 0)
    require_below(reader, "states/edge_row", edge_row_, edge_rows_.size() / widths_.edge_row);
  require_below(reader, "states/cell_choices", cell_choices_,
                static_cast<size_t>(spec.max_choices) + 1);
  for (size_t s = 0; s < size(); ++s) {
    if (entity_counts_[s] == 0)
      reader.refuse("states/entities", fmt::format("state {} has no entity", s));
    check_edges(reader, s);
    check_cells(reader, s);
  }
}

StateTable StateTable::read(const hdf5::Reader& reader, const EnvSpec& spec) {
  StateTable table(spec);
  table.read_rows(reader);
  table.read_states(reader, reader.count("states/key"));
  table.index_offsets();
  table.check(reader, spec);
  return table;
}

}  // namespace reverie
