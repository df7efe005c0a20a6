#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "core/rulekit/taso/taso_rule.h"

namespace reverie {

/// Items in groups that are joined.
class TasoGroups {
 public:
  int add() {
    parent_.push_back(static_cast<int>(parent_.size()));
    return parent_.back();
  }
  int root(int item) const {
    while (parent_[static_cast<size_t>(item)] != item) item = parent_[static_cast<size_t>(item)];
    return item;
  }
  void join(int a, int b) { parent_[static_cast<size_t>(root(b))] = root(a); }

 private:
  std::vector<int> parent_;
};

/// Which tensors of a rule have equal ranks, and what fixes them.
class TasoRanks {
 public:
  /// InputError where operators contradict each other, or one is not understood.
  explicit TasoRanks(const TasoRule& rule);

  /// Of an external input or of a constant of either side.
  bool fixed(bool source, TasoTensor tensor);
  /// `choose` is asked once per group whose rank is left open.
  int rank(bool source, TasoTensor tensor, const std::function<int(int least)>& choose);

 private:
  int of(bool source, TasoTensor tensor);
  void add(const std::vector<TasoOp>& side, bool source);
  void relate(const TasoOp& op, int output, bool source);
  void check_axis(const TasoOp& op, int item);

  TasoGroups groups_;
  std::map<std::pair<bool, TasoTensor>, int> items_;
  std::vector<std::pair<int, int>> fixed_, at_least_;
  std::map<int, int> by_root_, least_, chosen_;
};

}  // namespace reverie
