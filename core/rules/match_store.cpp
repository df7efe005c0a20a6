#include "core/rules/match_store.h"

#include <algorithm>
#include <utility>

#include "core/base/hash.h"

namespace reverie {

void MatchStore::add(StoredMatch match) {
  int32_t slot = static_cast<int32_t>(matches_.size());
  if (free_.empty()) {
    matches_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  std::vector<int32_t>& list = by_rule_[static_cast<size_t>(match.rule)];
  match.place = static_cast<int32_t>(list.size());
  list.push_back(slot);
  match.node_set = 0;
  for (const NodeId node : match.binding->nodes) {
    const auto i = static_cast<size_t>(node.index);
    if (i >= by_node_.size()) by_node_.resize(i + 1);
    by_node_[i].push_back(slot);
    match.node_set += mix64(static_cast<uint64_t>(i));
  }
  ++node_sets_[static_cast<size_t>(match.rule)][match.node_set];
  risky_[static_cast<size_t>(match.rule)] += match.risky ? 1 : 0;
  (*this)[slot] = std::move(match);
}

void MatchStore::remove(int32_t slot) {
  StoredMatch& match = (*this)[slot];
  std::vector<int32_t>& list = by_rule_[static_cast<size_t>(match.rule)];
  list[static_cast<size_t>(match.place)] = list.back();
  (*this)[list.back()].place = match.place;
  list.pop_back();
  auto& sets = node_sets_[static_cast<size_t>(match.rule)];
  if (const auto at = sets.find(match.node_set); --at->second == 0) sets.erase(at);
  risky_[static_cast<size_t>(match.rule)] -= match.risky ? 1 : 0;
  for (const NodeId node : match.binding->nodes) {
    std::vector<int32_t>& of = by_node_[static_cast<size_t>(node.index)];
    const auto at = std::find(of.begin(), of.end(), slot);
    *at = of.back();
    of.pop_back();
  }
  match = StoredMatch{};
  free_.push_back(slot);
}

}  // namespace reverie
