#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
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

/// Binds dimensions ("batch=3"); the extents of all then, those that are left open being assumed so
/// that the model's shapes agree. nullopt where none do.
using BindDims = std::function<std::optional<Extents>(const std::vector<std::string>& dims)>;

/// For models that can be run at none of `others` (as those above make them for `moved`), as one
/// dimension has to be as long as another: one symbol of `moved` after the other is left open,
/// until two are found at which all of them have moved, or sixteen were tried.
std::vector<Extents> fitted_extents(const Extents& bound, const std::set<std::string>& moved,
                                    const std::vector<Extents>& others, const BindDims& bind);

}  // namespace reverie::proto
