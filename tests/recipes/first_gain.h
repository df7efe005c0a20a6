#pragma once

#include "core/search/search.h"

namespace reverie {

/// Takes the first rewrite that lowers the cost, in the order of rules and locations, until none does or
/// `budget` of them were taken. The example of search.md.
SearchResult first_gain_search(const RewriteState& start, const SearchOptions& options);

}  // namespace reverie
