#include "core/rules/rewrite_state.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "core/base/sort_unique.h"
#include "core/rules/rewrite_impl.h"

namespace reverie {

RewriteState::Impl::Impl(Graph g, std::shared_ptr<const RuleSet> r, std::shared_ptr<CostModel> c)
    : graph(std::move(g)),
      rules(std::move(r)),
      cost_model(std::move(c)),
      program(std::make_shared<const MatchProgram>(*rules)),
      cache(std::make_shared<InstanceCache>()),
      operators(program->sought_anywhere()),
      order((graph.erase_dead(), graph)),  // what no output depends on has no place in the order
      matches(rules->size()) {
  lists.extend(static_cast<size_t>(rules->size()));
  listings.extend(static_cast<size_t>(rules->size()));
  for (const NodeId node : graph.nodes()) {
    describe(node);
    node_costs.edit(static_cast<size_t>(node.index)) = node_cost(*cost_model, graph, node);
    cost += node_costs[static_cast<size_t>(node.index)];
  }
  match_all();
}

RewriteState::Impl::Impl(const Impl& other)
    : graph(other.graph),
      rules(other.rules),
      cost_model(other.cost_model),
      program(other.program),
      cache(other.cache),
      cost(other.cost),
      node_costs(other.node_costs),
      node_signatures(other.node_signatures),
      value_signatures(other.value_signatures),
      operators(other.operators),
      order(other.order),
      sequence(other.sequence),
      sequence_moved(other.sequence_moved),
      matches(other.matches),
      lists(other.lists),
      ranked(other.ranked),
      listings(other.listings),
      hash(other.hash),
      hash_changed(other.hash_changed),
      hash_removed(other.hash_removed),
      neighbourhoods(other.neighbourhoods),
      neighbourhoods_changed(other.neighbourhoods_changed) {}

const StructuralHash& RewriteState::Impl::up_to_date_hash() {
  if (!hash) {
    hash.emplace(graph);
  } else if (!hash_changed.empty() || !hash_removed.empty()) {
    hash->update(graph, hash_changed, hash_removed);
  }
  hash_changed.clear();
  hash_removed.clear();
  return *hash;
}

const StoredMatch& RewriteState::Impl::stored(const Match& match) const {
  REVERIE_CHECK(match.slot >= 0 && match.slot < matches.capacity() &&
                    matches[match.slot].binding == match.binding,
                "the match belongs to another state");
  return matches[match.slot];
}

std::shared_ptr<const Instance> RewriteState::Impl::instance_of(const Match& match) {
  const auto lock = lock_matched();
  return stored(match).instance;
}

Cost RewriteState::Impl::cost_of(const Change& change, const Instance& instance) const {
  Cost delta;
  for (size_t i = 0; i < instance.nodes.size(); ++i)
    if (change.comes(i)) delta += instance.nodes[i].cost;
  for (const NodeId node : change.removed()) delta -= node_costs[static_cast<size_t>(node.index)];
  return delta;
}

Cost RewriteState::Impl::cost_delta(int32_t slot) {
  const StoredMatch& match = matches[slot];
  if (match.cost_known) return match.cost_delta;
  const Change change(graph, *match.binding, *match.instance);
  const Cost delta = cost_of(change, *match.instance);
  if (match.instance->drops_inputs || !change.all_come()) watch_beyond(slot, change);
  StoredMatch& kept = matches.edit(slot);
  kept.cost_delta = delta;
  kept.cost_known = true;
  return delta;
}

/// What lies beyond the matched nodes decides what dies. Constants cost nothing.
void RewriteState::Impl::watch_beyond(int32_t slot, const Change& change) {
  const std::vector<NodeId>& matched = matches[slot].binding->nodes;
  std::vector<NodeId> beyond = change.looked_at();
  std::erase_if(beyond, [&](NodeId node) {
    return graph.is_constant(node) || std::ranges::find(matched, node) != matched.end();
  });
  matches.watch(slot, beyond);
}

Change::Applied RewriteState::Impl::apply(const Rewrite& rewrite) {
  const StoredMatch& found = stored(rewrite.match);
  const auto binding = found.binding;
  const auto instance = found.instance;
  const Change change(graph, *binding, *instance);
  cost += cost_of(change, *instance);
  Change::Applied applied = change.apply(graph);
  for (const NodeId node : applied.removed) operators.remove(node);
  size_t next = 0;
  for (size_t i = 0; i < instance->nodes.size(); ++i) {
    if (!change.comes(i)) continue;
    const NodeId node = applied.added[next++];
    describe(node);
    node_costs.edit(static_cast<size_t>(node.index)) = instance->nodes[i].cost;
  }
  for (const NodeId node : applied.touched) describe_values(node);
  return applied;
}

NodesChanged RewriteState::Impl::commit(const Rewrite& rewrite) {
  catch_up();
  const Change::Applied& applied = unmatched.emplace(apply(rewrite));
  if (neighbourhoods)
    for (const auto* nodes : {&applied.added, &applied.touched, &applied.used_otherwise})
      neighbourhoods_changed.insert(neighbourhoods_changed.end(), nodes->begin(), nodes->end());
  if (hash) {
    hash_changed.insert(hash_changed.end(), applied.added.begin(), applied.added.end());
    hash_changed.insert(hash_changed.end(), applied.touched.begin(), applied.touched.end());
    hash_removed.insert(hash_removed.end(), applied.removed.begin(), applied.removed.end());
  }
  NodesChanged changed{applied.added, applied.removed, applied.touched};
  changed.around.insert(changed.around.end(), applied.used_otherwise.begin(),
                        applied.used_otherwise.end());
  return changed;
}

void RewriteState::Impl::catch_up() {
  if (!unmatched) return;
  const NodeMarks marks = marks_of(*unmatched);
  std::vector<StoredMatch> fresh = matches_at(marks);  // all that may throw
  relist(*std::exchange(unmatched, std::nullopt), marks, std::move(fresh));
}

void RewriteState::Impl::relist(const Change::Applied& applied, const NodeMarks& marks,
                                std::vector<StoredMatch> fresh) {
  const NodeOrder order_before = order;
  const auto moved = order.update(graph, {applied.touched, applied.removed, applied.outputs});
  note_in_sequence(moved, applied.removed);
  const std::vector<int32_t> stale = stale_matches(marks);
  std::vector<int32_t> to_list =
      moved.all ? std::vector<int32_t>{} : moved_matches(moved, order_before);
  looked_at = moved.work + std::ssize(marks.nodes()) + std::ssize(stale) + std::ssize(fresh) +
              std::ssize(cost_forgotten) +
              (moved.all ? int64_t{matches.capacity()} : std::ssize(to_list));
  std::vector<int> dirty;
  const auto note = [&](int32_t slot) { dirty.push_back(matches[slot].rule); };

  const MatchOrder was_before(graph, order_before, matches);
  const auto take_off = [&](int32_t slot) {
    note(slot);
    unlist(slot, was_before);
  };
  std::for_each(stale.begin(), stale.end(), take_off);
  std::for_each(to_list.begin(), to_list.end(), take_off);
  for (const int32_t slot : stale) matches.remove(slot);
  std::erase_if(to_list, [&](int32_t slot) { return matches[slot].rule < 0; });
  for (StoredMatch& match : fresh) {
    to_list.push_back(matches.add(std::move(match)));
    watch_values_of_twins(to_list.back());
  }
  if (moved.all) list_anew();
  const MatchOrder before(graph, order, matches);
  for (const int32_t slot : to_list) {
    note(slot);
    if (!moved.all) list(slot, before);
  }
  for (const int32_t slot : std::exchange(cost_forgotten, {}))
    if (ranked && matches[slot].listed && !matches[slot].cost_known)
      lists.edit(static_cast<size_t>(matches[slot].rule)).set_change(entry_of(slot), before);
  sort_unique(dirty);
  if (moved.all) {
    dirty.resize(static_cast<size_t>(rules->size()));
    std::iota(dirty.begin(), dirty.end(), 0);
  }
  forget_listings(dirty);
}

void RewriteState::Impl::note_in_sequence(const NodeOrder::Moved& moved,
                                          const std::vector<NodeId>& removed) {
  if (sequence == nullptr) return;
  for (const auto* nodes : {&moved.nodes, &removed})
    sequence_moved.insert(sequence_moved.end(), nodes->begin(), nodes->end());
  if (!moved.all && sequence_moved.size() < sequence->size()) return;
  sequence = nullptr;
  sequence_moved.clear();
}

/// Takes out what may have moved, and puts it in again where it now belongs.
std::shared_ptr<const std::vector<NodeId>> RewriteState::Impl::topological_order() {
  if (sequence == nullptr)
    sequence = std::make_shared<const std::vector<NodeId>>(graph.topological_order());
  if (sequence_moved.empty()) return sequence;
  std::vector<uint8_t> moves(static_cast<size_t>(graph.node_capacity()), 0);
  for (const NodeId node : sequence_moved) moves[static_cast<size_t>(node.index)] = 1;
  std::vector<NodeId> kept;
  kept.reserve(sequence->size());
  std::ranges::copy_if(*sequence, std::back_inserter(kept),
                       [&](NodeId node) { return !moves[static_cast<size_t>(node.index)]; });

  std::vector<NodeId> arriving = std::exchange(sequence_moved, {});
  sort_unique(arriving);
  std::erase_if(arriving, [&](NodeId node) { return !graph.alive(node); });
  const auto position = [&](NodeId node) { return order.position(node); };
  std::ranges::sort(arriving, {}, position);
  std::vector<NodeId> now;
  now.reserve(kept.size() + arriving.size());
  auto next = kept.cbegin();
  for (const NodeId node : arriving) {
    const auto behind = std::ranges::upper_bound(next, kept.cend(), position(node), {}, position);
    now.insert(now.end(), next, behind);
    now.push_back(node);
    next = behind;
  }
  now.insert(now.end(), next, kept.cend());
  sequence = std::make_shared<const std::vector<NodeId>>(std::move(now));
  return sequence;
}

std::unique_lock<std::mutex> RewriteState::Impl::lock_matched() {
  std::unique_lock lock(mutex);
  catch_up();
  return lock;
}

RewriteState::RewriteState(Graph graph, std::shared_ptr<const RuleSet> rules,
                           std::shared_ptr<CostModel> cost)
    : impl_(std::make_shared<Impl>(std::move(graph), std::move(rules), std::move(cost))) {}

const Graph& RewriteState::graph() const { return impl_->graph; }
const RuleSet& RewriteState::rules() const { return *impl_->rules; }
CostModel& RewriteState::cost_model() const { return *impl_->cost_model; }
std::shared_ptr<const RuleSet> RewriteState::shared_rules() const { return impl_->rules; }
std::shared_ptr<CostModel> RewriteState::shared_cost_model() const { return impl_->cost_model; }
const Cost& RewriteState::cost() const { return impl_->cost; }

uint64_t RewriteState::hash() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->up_to_date_hash().value();
}

const std::vector<Match>& RewriteState::locations(int rule) const {
  const auto lock = impl_->lock_matched();
  return impl_->locations_of(rule);
}

int RewriteState::location_count(int rule) const {
  const auto lock = impl_->lock_matched();
  return impl_->location_count(rule);
}

std::shared_ptr<const std::vector<Match>> RewriteState::first_locations(int rule, int most) const {
  const auto lock = impl_->lock_matched();
  return impl_->first_locations(rule, most);
}

Match RewriteState::location(int rule, int index) const {
  const auto lock = impl_->lock_matched();
  if (impl_->some_risky(rule)) {
    const std::vector<Match>& locations = impl_->locations_of(rule);
    REVERIE_CHECK(index >= 0 && index < static_cast<int>(locations.size()));
    return locations[static_cast<size_t>(index)];
  }
  return impl_->as_match(impl_->lists[static_cast<size_t>(rule)][index]);
}

const std::vector<LocationClass>& RewriteState::classes(int rule) const {
  const auto lock = impl_->lock_matched();
  return impl_->classes_of(rule);
}

std::optional<int> RewriteState::find(const Match& match) const {
  const auto lock = impl_->lock_matched();
  return impl_->find(match);
}

int64_t RewriteState::looked_at() const {
  const auto lock = impl_->lock_matched();
  return impl_->looked_at;
}

Cost RewriteState::cost_delta(const Match& match) const {
  const auto lock = impl_->lock_matched();
  impl_->stored(match);
  return impl_->cost_delta(match.slot);
}

Rewrite RewriteState::propose(const Match& match) const {
  Rewrite rewrite;
  rewrite.instance = impl_->instance_of(match);
  const Change change(impl_->graph, *match.binding, *rewrite.instance);
  rewrite.match = match;
  rewrite.cost_delta = impl_->cost_of(change, *rewrite.instance);
  rewrite.weight_bytes_delta = change.weight_bytes_delta();
  return rewrite;
}

uint64_t RewriteState::hash_after(const Rewrite& rewrite) const {
  const auto instance = impl_->instance_of(rewrite.match);
  const Change change(impl_->graph, *rewrite.match.binding, *instance);
  const std::lock_guard lock(impl_->mutex);
  return change.hash_after(impl_->up_to_date_hash());
}

NodesChanged RewriteState::commit(const Rewrite& rewrite) {
  if (impl_.use_count() > 1) {
    const auto shared = impl_;  // outlives the lock
    const auto lock = shared->lock_matched();
    impl_ = std::make_shared<Impl>(*shared);
  } else {
    // use_count() alone does not order what another thread did with a copy it gave up before what
    // follows; giving up one more copy does.
    std::shared_ptr<Impl>{impl_}.reset();
  }
  return impl_->commit(rewrite);
}

std::shared_ptr<const std::vector<NodeId>> RewriteState::topological_order() const {
  const auto lock = impl_->lock_matched();
  return impl_->topological_order();
}

void RewriteState::put_in_order(std::vector<NodeId>& nodes) const {
  const auto lock = impl_->lock_matched();
  std::ranges::sort(nodes, {}, [&](NodeId node) { return impl_->order.position(node); });
}

}  // namespace reverie
