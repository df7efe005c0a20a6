#pragma once

#include <algorithm>
#include <span>
#include <unordered_set>
#include <vector>

#include "env/rewrite/search/search.h"

namespace reverie {

/// The cheapest distinct states of those offered, and how to reach them. States with equal hashes
/// count as one.
class CheapestStates {
 public:
  struct Entry {
    Picoseconds cost;
    uint64_t hash = 0;
    std::vector<RewriteStep> path;
  };

  /// Keeps at most `most`, none whose hash is in `left_out`, which must outlive this.
  CheapestStates(size_t most, const std::unordered_set<uint64_t>& left_out)
      : most_(most), left_out_(left_out) {}

  void offer(const RewriteState& state, std::span<const RewriteStep> path) {
    const Picoseconds cost = state.cost().runtime;
    if (most_ == 0 || (entries_.size() == most_ && cost >= entries_.back().cost)) return;
    const uint64_t hash = state.hash();
    if (left_out_.contains(hash) || !hashes_.insert(hash).second) return;
    const auto place =
        std::upper_bound(entries_.begin(), entries_.end(), cost,
                         [](Picoseconds value, const Entry& entry) { return value < entry.cost; });
    entries_.insert(place, {cost, hash, {path.begin(), path.end()}});
    if (entries_.size() <= most_) return;
    hashes_.erase(entries_.back().hash);
    entries_.pop_back();
  }

  /// Ascending by cost, among equals in the order of offering.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  size_t most_;
  const std::unordered_set<uint64_t>& left_out_;
  std::vector<Entry> entries_;
  std::unordered_set<uint64_t> hashes_;  // of the entries
};

}  // namespace reverie
