#pragma once

#include <cstdint>
#include <string>

#include "core/base/units.h"

namespace reverie {

/// A unit to show numbers in.
struct DisplayUnit {
  const char* name;
  double size;  ///< in picoseconds, or in bytes
};

/// ns, µs, ms or s, and B to TiB: the largest in which `largest` is at least 1.
DisplayUnit time_unit(Picoseconds largest);
DisplayUnit byte_unit(int64_t largest);

/// "1.234 ms", with so many digits.
std::string time_text(Picoseconds time, int digits = 4);
std::string bytes_text(int64_t bytes);

/// A name out of a file on one line: control characters become spaces, and what is longer than
/// `bytes` (at least 8) is cut and ends in "...". Not escaped.
std::string short_name(const std::string& name, size_t bytes);

}  // namespace reverie
