#pragma once

#include <string>
#include <utility>

namespace reverie {

/// One of the parts that work is cut into for several machines.
struct Part {
  int number = 1;  ///< from 1 on
  int of = 1;

  /// Of "3/16". InputError for anything else.
  static Part parse(const std::string& text);

  bool is_whole() const { return of == 1; }
  std::string text() const;         ///< "3/16"
  std::string folder_name() const;  ///< "part-3-of-16"
  /// The part's share of `count` things in a row: from the first to before the second. Shares
  /// differ by one at most; together they are all.
  std::pair<int, int> range(int count) const;
};

}  // namespace reverie
