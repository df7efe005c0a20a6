#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <string>

#include "core/search/search.h"

namespace reverie {

/// Symbols that the file of a graph would lose, as core/onnx/symbols.h finds them.
using LostSymbols = std::function<std::set<std::string>(const Graph&)>;

/// How many of the first rewrites of `path` can be taken so that no symbol is lost. Where that is neither all nor
/// none, the rule of the next one loses a symbol: a search without it can go further. None is the original file, which
/// has them all. Bisects, in which it takes for granted that what is lost stays lost.
size_t rewrites_that_keep_symbols(const RewriteState& start, std::span<const RewriteStep> path,
                                  const LostSymbols& lost);

}  // namespace reverie
