#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/onnx/other_extents.h"

namespace reverie::proto {

/// A node that is wrong with the extents that were assumed.
struct Misfit {
  int64_t node = -1;  ///< its place among the nodes of the file's graph
  /// What an extent that it depends on may have to be: constants among its inputs, and extents of
  /// its inputs.
  std::vector<int64_t> hints;
};

/// Extents with which every node fits, searched from `assumed` on by changing one symbol, or all
/// that have one extent, at a time, as the misfits suggest. `misfit_with` tells the first misfit;
/// nullopt when there is none. nullopt when `most_trials` find none.
std::optional<Extents> find_fitting_extents(
    Extents assumed, Misfit misfit,
    const std::function<std::optional<Misfit>(const Extents&)>& misfit_with, int most_trials);

}  // namespace reverie::proto
