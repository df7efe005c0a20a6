#include "core/rules/match_store.h"

#include <utility>

#include "core/base/hash.h"

namespace reverie {

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
    by_node_.extend(static_cast<size_t>(node.index) + 1);
    by_node_.edit(static_cast<size_t>(node.index)).push_back(slot);
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
  if (match.risky) --risky_.edit(static_cast<size_t>(match.rule));
}

}  // namespace reverie
