#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/ir/schema.h"

namespace reverie {

/// A column beside the operator table: what some part of the program has for some of its rows, such
/// as the kernels of an executor. It is the one statement of what that part can do.
template <class T>
class OperatorColumn {
 public:
  /// InternalError where a name is no row of the table, or comes twice.
  explicit OperatorColumn(const std::vector<std::pair<std::string_view, T>>& entries)
      : by_row_(all_ops().size()) {
    for (const auto& [name, value] : entries) {
      std::optional<T>& place = by_row_[static_cast<size_t>(op_named(name).id)];
      REVERIE_CHECK(!place, "two entries for operator '{}'", name);
      place = value;
    }
  }
  /// nullptr where it has none.
  const T* find(const OpSchema& op) const {
    const std::optional<T>& place = by_row_[static_cast<size_t>(op.id)];
    return place ? &*place : nullptr;
  }

 private:
  std::vector<std::optional<T>> by_row_;
};

}  // namespace reverie
