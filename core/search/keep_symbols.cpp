#include "core/search/keep_symbols.h"

#include <algorithm>

namespace reverie {

size_t rewrites_that_keep_symbols(const RewriteState& start, std::span<const RewriteStep> path,
                                  const LostSymbols& lost) {
  const std::set<std::string> allowed = lost(start.graph());
  const auto keeps = [&](size_t steps) {
    const std::set<std::string> found = lost(replay(start, path.first(steps)).graph());
    return std::ranges::includes(allowed, found);
  };
  if (path.empty() || keeps(path.size())) return path.size();
  size_t good = 0, bad = path.size();
  while (bad - good > 1) {
    const size_t middle = good + (bad - good) / 2;
    (keeps(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace reverie
