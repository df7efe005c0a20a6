#include "core/rules/match_store.h"

#include <algorithm>
#include <utility>

#include "core/base/hash.h"

namespace reverie {

void MatchStore::add_to(ByNode& slots, NodeId node, int32_t slot) {
  slots.extend(static_cast<size_t>(node.index) + 1);
  slots.edit(static_cast<size_t>(node.index)).push_back(slot);
}

int32_t MatchStore::add(StoredMatch match) {
  int32_t slot = first_free_;
  if (slot < 0) {
    slot = capacity();
    matches_.push_back({});
  } else {
    first_free_ = (*this)[slot].next_free;
  }
  match.node_set = 0;
  for (const NodeId node : match.binding->nodes) {
    match.node_set += mix64(static_cast<uint64_t>(node.index));
    add_to(by_node_, node, slot);
  }
  if (match.risky) ++risky_.edit(static_cast<size_t>(match.rule));
  edit(slot) = std::move(match);
  return slot;
}

void MatchStore::remove(int32_t slot) {
  const StoredMatch match = std::exchange(edit(slot), {});
  edit(slot).next_free = std::exchange(first_free_, slot);
  for (const NodeId node : match.binding->nodes)
    by_node_.edit(static_cast<size_t>(node.index)).remove_unordered(slot);
  for (const NodeId node : match.watched)
    by_watched_.edit(static_cast<size_t>(node.index)).remove_unordered(slot);
  if (match.risky) --risky_.edit(static_cast<size_t>(match.rule));
}

void MatchStore::watch(int32_t slot, std::span<const NodeId> nodes) {
  for (const NodeId node : nodes) {
    const auto& watched = (*this)[slot].watched;
    if (std::find(watched.begin(), watched.end(), node) != watched.end()) continue;
    edit(slot).watched.push_back(node);
    add_to(by_watched_, node, slot);
  }
}

}  // namespace reverie
