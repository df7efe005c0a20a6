#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/types.h"

namespace reverie {

/// An Einstein sum, spelled out: one letter for each axis of each operand and of the result.
/// Letters that the result lacks are summed over.
struct Einsum {
  std::vector<std::string> operands;
  std::string result;
};

/// Reads the equation of ONNX's Einsum for operands of these ranks. Spaces do not count; "..."
/// becomes letters that the equation does not use; without "->" the result has, after those, the
/// letters that occur once, in alphabetical order. InputError where it does not fit.
Einsum parse_einsum(std::string_view equation, std::span<const int> ranks);
/// "ij,jk->ik".
std::string to_string(const Einsum& sum);
/// The extent of every letter; an operand's extent of 1 is broadcast. InputError where extents
/// differ.
std::map<char, int64_t> einsum_extents(const Einsum& sum, std::span<const Shape> shapes);

}  // namespace reverie
