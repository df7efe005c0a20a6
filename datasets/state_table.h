#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/base/compact.h"
#include "core/hdf5/hdf5.h"
#include "core/ir/half.h"
#include "env/environment.h"

namespace reverie {

/// An observation with its features in float16, as it is stored.
struct EncodedState {
  uint64_t key = 0;
  std::vector<int32_t> node_types, node_entities, senders, receivers;
  std::vector<Float16> nodes, edges, node_targets;
  std::vector<float> graph_targets;
  ActionMask mask;
  /// Only those of the cells (an action at an entity) that have choices, in this order.
  std::vector<Float16> action_features;

  bool operator==(const EncodedState&) const = default;
};

/// InputError when the observation is not of the shape that `spec` gives, or when a feature is not
/// finite or beyond what float16 holds (65504): such a feature has to be scaled.
EncodedState encode_state(const EnvSpec& spec, const Observation& observation);

/// States in compact form, one after the other. Of their nodes and edges only the numbers of their
/// distinct rows are kept, of their masks only the cells (an action at an entity) that have
/// choices; see FORMAT.md.
class StateTable {
 public:
  StateTable() = default;
  explicit StateTable(const EnvSpec& spec);

  size_t size() const { return keys_.size(); }
  uint64_t key(size_t index) const { return keys_[index]; }
  /// How many entities the state has.
  uint32_t entities(size_t index) const { return entity_counts_[index]; }
  Observation decode(size_t index) const;
  /// Bytes held.
  size_t memory() const;

  /// Writes the groups "states", "node_rows" and "edge_rows".
  void write(hdf5::Writer& writer) const;
  /// InputError names the data set that does not fit the others.
  static StateTable read(const hdf5::Reader& reader, const EnvSpec& spec);

 private:
  friend class StateTableBuilder;
  /// Elements of each data set per state, node, row or cell.
  struct Widths {
    size_t node_row = 1, edge_row = 0, node_targets = 0, graph_targets = 0, primary = 0,
           action_features = 0;
  };
  void index_offsets();
  void decode_nodes(size_t index, GraphFeatures& graph) const;
  void decode_edges(size_t index, GraphFeatures& graph) const;
  void decode_actions(size_t index, Observation& observation) const;
  void read_rows(const hdf5::Reader& reader);
  void read_states(const hdf5::Reader& reader, size_t states);
  void check(const hdf5::Reader& reader, const EnvSpec& spec) const;
  void check_edges(const hdf5::Reader& reader, size_t index) const;
  void check_cells(const hdf5::Reader& reader, size_t index) const;

  Widths widths_;
  std::vector<uint64_t> keys_;
  CompactInts node_counts_, edge_counts_, entity_counts_, cell_counts_;  ///< of each state
  CompactInts node_row_, node_entity_;                                   ///< of each node
  CompactInts edge_row_, receiver_step_, sender_back_;                   ///< of each edge
  CompactInts cell_step_, cell_choices_;                                 ///< of each cell
  std::vector<Float16> action_features_;  ///< [cells, action features]
  std::vector<Float16> node_targets_;     ///< [nodes, targets of nodes]
  std::vector<float> graph_targets_;      ///< [states, targets of graphs]
  std::vector<uint16_t> node_rows_;       ///< [rows, 1 + node features]: type, then float16 bits
  std::vector<uint16_t> edge_rows_;       ///< [rows, edge features]
  std::vector<size_t> node_begin_, edge_begin_, cell_begin_;  ///< [states + 1]
};

/// Collects distinct states: one that is there already, by key and then by content, is not added
/// again.
class StateTableBuilder {
 public:
  explicit StateTableBuilder(const EnvSpec& spec) : spec_(spec), table_(spec) {}
  /// The number of the state in the table.
  int32_t add(const EncodedState& state);
  /// The states so far; the builder is empty after.
  StateTable take();

 private:
  using RowNumbers = std::unordered_multimap<uint64_t, uint32_t>;
  static uint32_t add_row(const std::vector<uint16_t>& row, std::vector<uint16_t>& rows,
                          RowNumbers& known);
  void append(const EncodedState& state);
  void append_nodes(const EncodedState& state);
  void append_edges(const EncodedState& state);
  void append_cells(const EncodedState& state);

  EnvSpec spec_;
  StateTable table_;
  RowNumbers known_nodes_, known_edges_;
  std::unordered_multimap<uint64_t, int32_t> known_states_;
};

}  // namespace reverie
