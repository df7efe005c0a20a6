#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace reverie::proto {

/// Extents by symbol (symbols_of).
using Extents = std::map<std::string, int64_t>;

/// Other extents for the symbols in `moved`: multiples and parts of the bound ones, which most
/// networks take, and numbers of other residues. `tied`: equal where the bound ones are, for
/// symbols that cannot differ.
std::vector<Extents> other_extents(const Extents& bound, const std::set<std::string>& moved,
                                   bool tied);

/// The same with other numbers, for a check of what was concluded from those.
std::vector<Extents> held_out_extents(const Extents& bound, const std::set<std::string>& moved,
                                      bool tied);

}  // namespace reverie::proto
