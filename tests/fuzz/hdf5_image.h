#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/hdf5/hdf5.h"

/// HDF5 files whose data sets are fuzzed, and not the bytes of the format: those the seal protects,
/// and nearly all other bytes would be refused by the library. A fuzzed file is, for each
/// attribute, 8 bytes, and then for each data set a byte for the width of unsigned integers, a byte
/// for its columns, 2 bytes for its elements, and these; what is missing is 0.
namespace reverie::fuzz {

struct DataSet {
  const char* name;
  hdf5::Element element;
  bool any_width = false;  ///< unsigned integers of 1, 2 or 4 bytes
};

struct Layout {
  std::span<const char* const> attributes;
  std::span<const DataSet> data_sets;
};

std::string image_of(const Layout& layout, std::string_view bytes);
/// The way back: the fuzzed form of a file.
std::string bytes_of(const Layout& layout, const hdf5::Reader& reader);

}  // namespace reverie::fuzz
