#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/ir/half.h"
#include "core/base/compact.h"
#include "core/hdf5/hdf5.h"
#include "env/environment.h"

namespace reverie {

/// An observation with its features in float16, as it is stored.
struct EncodedState {
  uint64_t key = 0;
  std::vector<int32_t> node_types, senders, receivers;
  std::vector<Float16> nodes, edges, targets, action_features;
  std::vector<float> globals;
  ActionMask mask;
  std::vector<int32_t> node_regions;
  /// Only those of the (action, region) in which choices lie, in this order.
  std::vector<Float16> region_features;

  bool operator==(const EncodedState&) const = default;
};

/// InputError when the observation is not of the shape that `spec` gives, or when a feature is not
/// finite or beyond what float16 holds (65504): such a feature has to be scaled.
EncodedState encode_state(const EnvSpec& spec, const Observation& observation);

/// States in compact form, one after the other. Of their nodes and edges only the numbers of their
/// distinct rows are kept, of the choices by region only the cells (an action and a region) in which
/// some lie; see FORMAT.md.
class StateTable {
 public:
  StateTable() = default;
  explicit StateTable(const EnvSpec& spec);

  size_t size() const { return keys_.size(); }
  uint64_t key(size_t index) const { return keys_[index]; }
  Observation decode(size_t index) const;
  /// Bytes held.
  size_t memory() const;

  /// Writes the groups "states", "node_rows" and "edge_rows".
  void write(hdf5::Writer& writer) const;
  /// InputError names the data set that does not fit the others.
  static StateTable read(const hdf5::Reader& reader, const EnvSpec& spec);

 private:
  friend class StateTableBuilder;
  /// Elements of each data set per state, or per row.
  struct Widths {
    size_t node_row = 1, edge_row = 0, globals = 0, primary = 0, action_features = 0;
    size_t regions = 1, cell_features = 0;
    bool lists = false;
    bool cut() const { return regions > 1; }
  };
  size_t choices_of(size_t index) const;
  void index_offsets();
  void read_rows(const hdf5::Reader& reader);
  void read_states(const hdf5::Reader& reader, size_t states);
  void check(const hdf5::Reader& reader, const EnvSpec& spec) const;
  // With regions: state_table_regions.cpp.
  void append_regions(const EncodedState& state);
  void decode_regions(size_t index, Observation* observation) const;
  void write_regions(hdf5::Writer& writer) const;
  void read_regions(const hdf5::Reader& reader);
  void check_regions(const hdf5::Reader& reader) const;
  void check_cells(const hdf5::Reader& reader, size_t index) const;

  Widths widths_;
  std::vector<uint64_t> keys_;
  CompactInts node_counts_, edge_counts_;
  CompactInts node_row_, edge_row_;       ///< row of each node, of each edge
  CompactInts receiver_step_, sender_back_;
  CompactInts mask_counts_, mask_choices_;
  CompactInts node_region_;               ///< of each node
  CompactInts cell_counts_;               ///< of each state
  CompactInts cell_step_, cell_choices_;  ///< of each cell
  std::vector<Float16> cell_features_;    ///< [cells, action features]
  std::vector<Float16> targets_, action_features_;
  std::vector<float> globals_;
  std::vector<uint16_t> node_rows_;       ///< [rows, 1 + node features]: type, then float16 bits
  std::vector<uint16_t> edge_rows_;       ///< [rows, edge features]
  std::vector<size_t> node_begin_, edge_begin_, choice_begin_, cell_begin_;  ///< [states + 1]
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

  EnvSpec spec_;
  StateTable table_;
  RowNumbers known_nodes_, known_edges_;
  std::unordered_multimap<uint64_t, int32_t> known_states_;
};

}  // namespace reverie
