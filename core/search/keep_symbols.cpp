#include "core/search/keep_symbols.h"

namespace reverie {

size_t rewrites_that_keep_symbols(const RewriteState& start, std::span<const RewriteStep> path,
                                  const LostSymbols& lost) {
  const auto keeps = [&](size_t steps) { return lost(replay(start, path.first(steps)).graph()).empty(); };
  if (path.empty() || keeps(path.size())) return path.size();
  size_t good = 0, bad = path.size();
  while (bad - good > 1) {
    const size_t middle = good + (bad - good) / 2;
    (keeps(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace reverie
