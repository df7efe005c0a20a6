#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "core/base/files.h"
#include "env/adapt/train/images.h"

namespace reverie::testing {

inline std::string big_endian(std::initializer_list<uint32_t> words) {
  std::string bytes;
  for (const uint32_t word : words)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(word >> shift & 0xff);
  return bytes;
}

/// Images of one channel as two IDX files, "<stem>-images-idx3-ubyte" and its labels.
inline void write_idx(const std::string& folder, const std::string& stem,
                      const LabelledImages& images, const BlockShape& shape) {
  const auto count = static_cast<uint32_t>(images.count());
  write_file(folder + "/" + stem + "-images-idx3-ubyte",
             big_endian({0x803, count, static_cast<uint32_t>(shape.height),
                         static_cast<uint32_t>(shape.width)}) +
                 std::string(images.pixels.begin(), images.pixels.end()));
  write_file(folder + "/" + stem + "-labels-idx1-ubyte",
             big_endian({0x801, count}) + std::string(images.labels.begin(), images.labels.end()));
}

}  // namespace reverie::testing
