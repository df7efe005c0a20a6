#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/search/problem.h"

namespace reverie {

/// States that were reached before, however. A hit of the hash is confirmed by a snapshot; of more
/// than `snapshots` states the earlier ones are known by their hashes alone.
class KnownStates {
 public:
  explicit KnownStates(int64_t snapshots = std::numeric_limits<int64_t>::max())
      : most_(snapshots) {}

  bool contains(const Problem& state) const {
    if (earlier_.contains(state.hash())) return true;
    const auto known = snapshots_.find(state.hash());
    return known != snapshots_.end() &&
           std::any_of(known->second.begin(), known->second.end(),
                       [&](const auto& snapshot) { return state.is(*snapshot); });
  }
  /// Whether the state is new; remembers it.
  bool add(const Problem& state) {
    if (contains(state)) return false;
    if (held_ == most_) {
      for (const auto& [hash, snapshots] : snapshots_) earlier_.insert(hash);
      snapshots_.clear();
      held_ = 0;
    }
    snapshots_[state.hash()].push_back(state.snapshot());
    ++held_;
    return true;
  }
  /// Snapshots in memory.
  int64_t held() const { return held_; }

 private:
  int64_t most_;
  int64_t held_ = 0;
  std::unordered_map<uint64_t, std::vector<std::shared_ptr<const Snapshot>>> snapshots_;  // by hash
  std::unordered_set<uint64_t> earlier_;
};

}  // namespace reverie
