#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/hash.h"
#include "core/rules/cycle_check.h"
#include "core/rules/rewrite_impl.h"

namespace reverie {

/// Of matches that are one (`symmetric`) only the first is in the list.
void RewriteState::Impl::list(int32_t slot, const MatchOrder& before) {
  const int rule = matches[slot].rule;
  if ((*rules)[rule].pattern().symmetric) {
    const auto slots = matches.of_node(matches[slot].root);
    const auto twin = std::find_if(slots.begin(), slots.end(), [&](int32_t other) {
      const StoredMatch& match = matches[other];
      return match.listed && match.rule == rule && match.node_set == matches[slot].node_set;
    });
    if (twin != slots.end()) {
      if (before(*twin, slot)) return;
      unlist(*twin, before);
    }
  }
  lists.edit(static_cast<size_t>(rule)).insert(entry_of(slot), before);
  matches.edit(slot).listed = true;
}

void RewriteState::Impl::unlist(int32_t slot, const MatchOrder& before) {
  if (!matches[slot].listed) return;
  lists.edit(static_cast<size_t>(matches[slot].rule)).remove(slot, before);
  matches.edit(slot).listed = false;
}

void RewriteState::Impl::list_anew() {
  const MatchOrder before(graph, order, matches);
  std::vector<std::vector<int32_t>> slots(static_cast<size_t>(rules->size()));
  for (int32_t slot = 0; slot < matches.capacity(); ++slot)
    if (matches[slot].rule >= 0) slots[static_cast<size_t>(matches[slot].rule)].push_back(slot);
  for (int rule = 0; rule < rules->size(); ++rule) {
    auto& of_rule = slots[static_cast<size_t>(rule)];
    std::sort(of_rule.begin(), of_rule.end(), before);
    std::unordered_set<uint64_t> seen;
    if ((*rules)[rule].pattern().symmetric)
      std::erase_if(of_rule, [&](int32_t slot) {
        matches.edit(slot).listed = false;
        return !seen.insert(matches[slot].node_set).second;
      });
    std::vector<LocationList::Entry> entries;
    for (const int32_t slot : of_rule) {
      matches.edit(slot).listed = true;
      entries.push_back(entry_of(slot));
    }
    lists.edit(static_cast<size_t>(rule)) = LocationList(entries);
  }
}

LocationList::Entry RewriteState::Impl::entry_of(int32_t slot) {
  return {slot, ranked ? cost_delta(slot).runtime.count : 0};
}

/// Matches on the same nodes in the same order are told apart by where their values come from.
void RewriteState::Impl::watch_values_of_twins(int32_t slot) {
  const auto watch_values = [&](int32_t twin) {
    if (std::exchange(matches.edit(twin).has_twin, true)) return;
    std::vector<NodeId> nodes;
    for (const ValueId value : matches[twin].binding->values)
      if (value.valid()) nodes.push_back(graph.producer(value));
    matches.watch(twin, nodes);
  };
  for (const int32_t other : matches.of_node(matches[slot].root))
    if (other != slot && matches[other].rule == matches[slot].rule &&
        matches[other].binding->nodes == matches[slot].binding->nodes) {
      watch_values(other);
      watch_values(slot);
    }
}

void RewriteState::Impl::forget_listings(const std::vector<int>& dirty) {
  for (const int rule : dirty) listing(rule) = {};
  for (int rule = 0; rule < rules->size(); ++rule) {
    if (some_risky(rule)) listing(rule) = {};
  }
}

Match RewriteState::Impl::as_match(int32_t slot) const {
  const StoredMatch& match = matches[slot];
  return {match.rule, slot, match.root, match.binding};
}

const std::vector<Match>& RewriteState::Impl::locations_of(int rule) {
  if (known(rule).locations == nullptr) {
    auto found = std::make_shared<std::vector<Match>>();
    const LocationList& list = lists[static_cast<size_t>(rule)];
    found->reserve(static_cast<size_t>(list.size()));
    const MatchRule& match_rule = program->rules()[static_cast<size_t>(rule)];
    list.for_each([&](int32_t slot) {
      if (!matches[slot].risky || !makes_cycle(graph, order, match_rule, matches[slot]))
        found->push_back(as_match(slot));
    });
    listing(rule).locations = std::move(found);
  }
  return *known(rule).locations;
}

int RewriteState::Impl::location_count(int rule) {
  return some_risky(rule) ? static_cast<int>(locations_of(rule).size())
                          : lists[static_cast<size_t>(rule)].size();
}

std::shared_ptr<const std::vector<Match>> RewriteState::Impl::first_locations(int rule, int most) {
  const int count = std::min(most, location_count(rule));
  if (known(rule).first != nullptr && std::ssize(*known(rule).first) == count)
    return known(rule).first;
  auto found = std::make_shared<std::vector<Match>>();
  if (some_risky(rule)) {
    const std::vector<Match>& all = locations_of(rule);
    found->assign(all.begin(), all.begin() + count);
  } else {
    found->reserve(static_cast<size_t>(count));
    lists[static_cast<size_t>(rule)].for_first(
        count, [&](int32_t slot) { found->push_back(as_match(slot)); });
  }
  return listing(rule).first = std::move(found);
}

void RewriteState::Impl::update_neighbourhoods() {
  if (!neighbourhoods) {
    neighbourhoods.emplace();
    neighbourhoods_changed = graph.nodes();
  }
  if (neighbourhoods_changed.empty()) return;
  for (const NodeId node : neighbourhoods->update(graph, neighbourhoods_changed))
    for (const int32_t slot : matches.of_node(node))
      if (matches[slot].neighbourhood != 0) {
        matches.edit(slot).neighbourhood = 0;
        listing(matches[slot].rule).classes = nullptr;
      }
  neighbourhoods_changed.clear();
}

/// Names the class of a match among those of its rule.
uint64_t RewriteState::Impl::class_of(const Match& match) {
  uint64_t hash = matches[match.slot].neighbourhood;
  if (hash == 0) {
    const bool symmetric = (*rules)[match.rule].pattern().symmetric;
    for (const NodeId node : match.nodes()) {
      const uint64_t name = mix64(neighbourhoods->of(node));
      hash = symmetric ? hash + name : hash_combine(hash, name);
    }
    matches.edit(match.slot).neighbourhood = hash;
  }
  const Cost delta = cost_delta(match.slot);
  for (const int64_t part : {delta.runtime.count, delta.flops, delta.bytes, delta.launches})
    hash = hash_combine(hash, static_cast<uint64_t>(part));
  return hash;
}

std::optional<int> RewriteState::Impl::find(const Match& match) {
  const auto same = [&](const Match& other) {
    return other.rule == match.rule && other.root == match.root &&
           other.binding->nodes == match.binding->nodes &&
           other.binding->values == match.binding->values &&
           other.binding->offsets == match.binding->offsets;
  };
  if (some_risky(match.rule)) {
    const std::vector<Match>& locations = locations_of(match.rule);
    const auto at = std::find_if(locations.begin(), locations.end(), same);
    if (at == locations.end()) return {};
    return static_cast<int>(at - locations.begin());
  }
  for (const int32_t slot : matches.of_node(match.root))
    if (matches[slot].listed && same(as_match(slot)))
      return lists[static_cast<size_t>(match.rule)].index_of(slot, {graph, order, matches});
  return {};
}

const std::vector<LocationClass>& RewriteState::Impl::classes_of(int rule) {
  update_neighbourhoods();
  if (known(rule).classes != nullptr) return *known(rule).classes;
  auto classes = std::make_shared<std::vector<LocationClass>>();
  const std::vector<Match>& locations = locations_of(rule);
  std::unordered_map<uint64_t, size_t> seen;
  for (size_t i = 0; i < locations.size(); ++i) {
    const auto [at, fresh] = seen.try_emplace(class_of(locations[i]), classes->size());
    if (fresh) classes->emplace_back();
    (*classes)[at->second].members.push_back(static_cast<int32_t>(i));
  }
  listing(rule).classes = std::move(classes);
  return *known(rule).classes;
}

}  // namespace reverie
