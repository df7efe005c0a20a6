#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

namespace reverie {

/// "1 node", "2 nodes"; `plural` where an s is not enough.
inline std::string counted(std::integral auto count, std::string_view noun,
                           std::string_view plural = "") {
  if (count == 1) return fmt::format("1 {}", noun);
  return plural.empty() ? fmt::format("{} {}s", count, noun) : fmt::format("{} {}", count, plural);
}

}  // namespace reverie
