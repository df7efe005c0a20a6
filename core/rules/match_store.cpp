#include "core/rules/match_store.h"

#include <algorithm>
#include <utility>

#include "core/base/hash.h"

namespace reverie {

/// Whether no other match of its rule stands on the same nodes.
bool MatchStore::stands_alone(const StoredMatch& match) const {
  const auto others = of_node(match.root);
  return std::none_of(others.begin(), others.end(), [&](int32_t slot) {
    const StoredMatch& other = (*this)[slot];
    return other.rule == match.rule && other.node_set == match.node_set;
  });
}

void MatchStore::add(StoredMatch match) {
  int32_t slot = first_free_;
  if (slot < 0) {
    slot = capacity();
    matches_.push_back({});
  } else {
    first_free_ = (*this)[slot].place;
  }
  match.node_set = 0;
  for (const NodeId node : match.binding->nodes)
    match.node_set += mix64(static_cast<uint64_t>(node.index));
  List& list = rules_.edit(static_cast<size_t>(match.rule));
  list.node_sets += stands_alone(match) ? 1 : 0;
  list.risky += match.risky ? 1 : 0;
  match.place = static_cast<int32_t>(list.slots.size());
  list.slots.push_back(slot);
  for (const NodeId node : match.binding->nodes) {
    by_node_.extend(static_cast<size_t>(node.index) + 1);
    by_node_.edit(static_cast<size_t>(node.index)).push_back(slot);
  }
  edit(slot) = std::move(match);
}

void MatchStore::remove(int32_t slot) {
  StoredMatch match = std::exchange(edit(slot), {});
  edit(slot).place = std::exchange(first_free_, slot);
  for (const NodeId node : match.binding->nodes)
    by_node_.edit(static_cast<size_t>(node.index)).remove_unordered(slot);
  List& list = rules_.edit(static_cast<size_t>(match.rule));
  list.node_sets -= stands_alone(match) ? 1 : 0;
  list.risky -= match.risky ? 1 : 0;
  if (const int32_t last = list.slots[list.slots.size() - 1]; last != slot) {
    list.slots.edit(static_cast<size_t>(match.place)) = last;
    edit(last).place = match.place;
  }
  list.slots.pop_back();
}

}  // namespace reverie
