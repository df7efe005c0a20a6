#include "core/base/tally.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

namespace reverie {

std::string tally(const std::vector<std::string>& words) {
  std::map<std::string, int> counts;
  for (const std::string& word : words) ++counts[word];
  std::vector<std::pair<std::string, int>> order(counts.begin(), counts.end());
  std::ranges::stable_sort(order, std::ranges::greater(), &std::pair<std::string, int>::second);
  std::vector<std::string> parts;
  for (const auto& [word, count] : order) parts.push_back(fmt::format("{} {}", count, word));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string runs_text(const std::vector<int>& numbers) {
  std::vector<std::string> parts;
  for (size_t first = 0, next = 0; first < numbers.size(); first = next) {
    next = first + 1;
    while (next < numbers.size() && numbers[next] == numbers[next - 1] + 1) ++next;
    parts.push_back(next == first + 1 ? fmt::format("{}", numbers[first])
                                      : fmt::format("{}-{}", numbers[first], numbers[next - 1]));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace reverie
