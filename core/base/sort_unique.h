#pragma once

#include <algorithm>
#include <vector>

namespace reverie {

/// Sorts, and keeps one of what is equal.
template <class T>
void sort_unique(std::vector<T>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

}  // namespace reverie
