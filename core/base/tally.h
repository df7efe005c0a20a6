#pragma once

#include <string>
#include <vector>

namespace reverie {

/// How often each word comes: "5 Conv, 3 Relu, 1 Add". The most frequent first, then by name; empty
/// without words.
std::string tally(const std::vector<std::string>& words);

/// Ascending numbers with runs joined: "1-4, 7, 9-12".
std::string runs_text(const std::vector<int>& numbers);

}  // namespace reverie
