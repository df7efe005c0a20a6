#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace reverie::proto {

/// Where a symbolic dimension stands.
struct DimensionPlace {
  std::string symbol;  ///< as the model calls it; empty where it has no name
  int axis = 0;
  int rank = 0;
};

/// A plausible extent for a dimension that nobody bound: what an arithmetic name says of `known`
/// symbols ("past + 1"), else what its name suggests (1 for a batch, 128 for a sequence, 224 for a
/// height or width), else what its place does (1 in front, 3 for the channels and 224 for the
/// extents of an image, 128 elsewhere; 4 where there are more than five axes).
int64_t default_extent(const DimensionPlace& place, const std::map<std::string, int64_t>& known);

/// Whether its name is a sum or a product, so that it follows from others.
bool is_arithmetic(const std::string& symbol);

}  // namespace reverie::proto
