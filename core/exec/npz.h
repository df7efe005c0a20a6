#pragma once

#include <map>
#include <string>

#include "core/ir/tensor.h"

namespace reverie {

/// The arrays of a file that numpy.savez or numpy.savez_compressed wrote, by name: booleans,
/// integers and floats of 2, 4 or 8 bytes, little-endian, in C order; entries below 4 GiB.
/// InputError names the file, the array and what is wrong (the formats: PKWARE's APPNOTE.TXT,
/// numpy.lib.format).
std::map<std::string, Tensor> read_npz(const std::string& path);

}  // namespace reverie
