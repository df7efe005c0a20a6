#include <algorithm>

#include "core/base/error.h"
#include "datasets/state_table.h"

namespace reverie {

void StateTable::append_regions(const EncodedState& state) {
  for (const int32_t region : state.node_regions)
    node_region_.push_back(static_cast<uint32_t>(region));
  const auto& counts = state.mask.region_counts;
  size_t next = 0, cells = 0;
  for (size_t cell = 0; cell < counts.size(); ++cell) {
    if (counts[cell] == 0) continue;
    cell_step_.push_back(static_cast<uint32_t>(cell - next));
    cell_choices_.push_back(counts[cell]);
    next = cell + 1;
    ++cells;
  }
  cell_counts_.push_back(static_cast<uint32_t>(cells));
  cell_features_.insert(cell_features_.end(), state.region_features.begin(),
                        state.region_features.end());
}

void StateTable::decode_regions(size_t index, Observation* observation) const {
  for (size_t n = node_begin_[index]; n < node_begin_[index + 1]; ++n)
    observation->graph.node_regions.push_back(static_cast<int32_t>(node_region_[n]));
  auto& counts = observation->mask.region_counts;
  auto& features = observation->region_features;
  const size_t width = widths_.cell_features;
  counts.assign(widths_.primary * widths_.regions, 0);
  features.assign(counts.size() * width, 0.0f);
  size_t cell = 0;
  for (size_t i = cell_begin_[index]; i < cell_begin_[index + 1]; ++i, ++cell) {
    cell += cell_step_[i];
    counts[cell] = static_cast<uint16_t>(cell_choices_[i]);
    for (size_t f = 0; f < width; ++f)
      features[cell * width + f] = static_cast<float>(cell_features_[i * width + f]);
  }
}

void StateTable::write_regions(hdf5::Writer& writer) const {
  writer.array("states/node_region", node_region_);
  writer.array("states/region_cells", cell_counts_);
  writer.array("states/region_cell_step", cell_step_);
  writer.array("states/region_cell_choices", cell_choices_);
  writer.array("states/region_cell_features", cell_features_, widths_.cell_features);
}

void StateTable::read_regions(const hdf5::Reader& reader) {
  node_region_ = reader.integers("states/node_region", node_row_.size());
  cell_counts_ = reader.integers("states/region_cells", size());
  size_t cells = 0;
  for (size_t i = 0; i < cell_counts_.size(); ++i) cells += cell_counts_[i];
  cell_step_ = reader.integers("states/region_cell_step", cells);
  cell_choices_ = reader.integers("states/region_cell_choices", cells);
  cell_features_ =
      reader.array<Float16>("states/region_cell_features", cells * widths_.cell_features);
}

void StateTable::check_regions(const hdf5::Reader& reader) const {
  for (size_t n = 0; n < node_region_.size(); ++n)
    if (node_region_[n] >= widths_.regions)
      reader.refuse("states/node_region", fmt::format("entry {} is {}, it must be below {}", n,
                                                      node_region_[n], widths_.regions));
  for (size_t s = 0; s < size(); ++s) check_cells(reader, s);
}

void StateTable::check_cells(const hdf5::Reader& reader, size_t index) const {
  std::vector<uint64_t> choices(widths_.primary, 0);
  uint64_t cell = 0;
  for (size_t i = cell_begin_[index]; i < cell_begin_[index + 1]; ++i, ++cell) {
    cell += cell_step_[i];
    if (cell >= widths_.primary * widths_.regions)
      reader.refuse("states/region_cell_step", fmt::format("a cell of state {} is no action's", index));
    choices[cell / widths_.regions] += cell_choices_[i];
  }
  for (size_t p = 0; p < widths_.primary; ++p)
    if (choices[p] != mask_counts_[index * widths_.primary + p])
      reader.refuse("states/region_cell_choices",
                    fmt::format("those of action {} in state {} sum to {}, not to {}", p, index,
                                choices[p], mask_counts_[index * widths_.primary + p]));
}

}  // namespace reverie
