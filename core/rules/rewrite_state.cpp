#include "core/rules/rewrite_state.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/ir/structural_hash.h"
#include "core/rules/change.h"
#include "core/rules/instance.h"
#include "core/rules/match_store.h"
#include "core/rules/matcher.h"
#include "core/rules/neighbourhood.h"
#include "core/rules/node_order.h"

namespace reverie {
namespace {

/// How much of a node a commit changed.
enum Mark : uint8_t { kUnchanged = 0, kUses = 1, kStructure = 2 };

uint64_t node_signature(const OpSchema& op, const Attributes& attributes) {
  return hash_combine(static_cast<uint64_t>(op.id), attributes.hash());
}

/// What conditions and types may read of a value, its uses aside.
uint64_t value_signature(const Graph& graph, ValueId value) {
  const NodeId producer = graph.producer(value);
  uint64_t hash = hash_combine(hash_of(graph.type(value)), graph.is_constant(producer));
  const WeightPtr& weight = graph.weight(producer);
  return weight != nullptr && weight->is_small() ? hash_combine(hash, weight->identity()) : hash;
}

}  // namespace

struct RewriteState::Impl {
  Impl(Graph g, std::shared_ptr<const RuleSet> r, std::shared_ptr<CostModel> c);
  Impl(const Impl& other);
  Impl(const Impl& other, const std::lock_guard<std::mutex>& held);

  // --- Matching ---------------------------------------------------------------------------------
  void describe(NodeId node);
  void match_all();
  void match_at(NodeId node);
  void consider(int rule, const Embedding& embedding);
  uint64_t instance_key(int rule, const Embedding& embedding) const;
  void update_matches(const Change::Applied& applied);
  uint8_t mark_of(NodeId node) const {
    const auto i = static_cast<size_t>(node.index);
    return i < marks.size() ? marks[i] : uint8_t{kUnchanged};
  }

  // --- Order and locations (computed when asked for, under `mutex`) -------------------------------
  bool makes_cycle(const StoredMatch& match);
  bool reaches(ValueId from, NodeId to);
  bool before(int32_t a, int32_t b) const;
  void list_locations(int rule);
  int count_locations(int rule);
  void list_classes(int rule);
  void update_neighbourhoods();
  uint64_t class_of(const Match& match);
  const StructuralHash& up_to_date_hash();

  const StoredMatch& stored(const Match& match) const;
  Change change_of(const Match& match) const;
  Cost cost_of(const Change& change, const Instance& instance) const;
  Cost cost_delta(int32_t slot);
  Change::Applied commit(const Rewrite& rewrite);

  Graph graph;
  std::shared_ptr<const RuleSet> rules;
  std::shared_ptr<CostModel> cost_model;
  std::shared_ptr<const MatchProgram> program;
  std::shared_ptr<InstanceCache> cache;
  Cost cost;
  SharedVector<Cost> node_costs;                // by node
  SharedVector<uint64_t, 5> node_signatures;   // by node
  SharedVector<uint64_t, 5> value_signatures;  // by value
  MatchStore matches;
  std::vector<uint8_t> marks;  // by node; only during a commit

  struct Locations {
    bool listed = false;
    bool classed = false;
    std::vector<Match> list;
    std::vector<LocationClass> classes;
  };
  mutable std::mutex mutex;
  std::vector<Locations> locations;
  NodeOrder order;
  std::optional<StructuralHash> hash;
  std::vector<NodeId> hash_changed;
  std::vector<NodeId> hash_removed;
  std::optional<Neighbourhoods> neighbourhoods;
  std::vector<NodeId> neighbourhoods_changed;
};

RewriteState::Impl::Impl(Graph g, std::shared_ptr<const RuleSet> r, std::shared_ptr<CostModel> c)
    : graph(std::move(g)),
      rules(std::move(r)),
      cost_model(std::move(c)),
      program(std::make_shared<const MatchProgram>(*rules)),
      cache(std::make_shared<InstanceCache>()),
      matches(rules->size()),
      locations(static_cast<size_t>(rules->size())),
      order((graph.erase_dead(), graph)) {  // what no output depends on has no place in the order
  for (const NodeId node : graph.nodes()) {
    describe(node);
    node_costs.edit(static_cast<size_t>(node.index)) = node_cost(*cost_model, graph, node);
    cost += node_costs[static_cast<size_t>(node.index)];
  }
  match_all();
}

RewriteState::Impl::Impl(const Impl& other) : Impl(other, std::lock_guard(other.mutex)) {}

RewriteState::Impl::Impl(const Impl& other, const std::lock_guard<std::mutex>&)
    : graph(other.graph),
      rules(other.rules),
      cost_model(other.cost_model),
      program(other.program),
      cache(other.cache),
      cost(other.cost),
      node_costs(other.node_costs),
      node_signatures(other.node_signatures),
      value_signatures(other.value_signatures),
      matches(other.matches),
      locations(static_cast<size_t>(rules->size())),
      order(other.order),
      hash(other.hash),
      hash_changed(other.hash_changed),
      hash_removed(other.hash_removed),
      neighbourhoods(other.neighbourhoods),
      neighbourhoods_changed(other.neighbourhoods_changed) {}

// --- Matching -------------------------------------------------------------------------------------

void RewriteState::Impl::describe(NodeId node) {
  node_costs.extend(static_cast<size_t>(graph.node_capacity()));
  node_signatures.extend(static_cast<size_t>(graph.node_capacity()));
  value_signatures.extend(static_cast<size_t>(graph.value_capacity()));
  node_signatures.edit(static_cast<size_t>(node.index)) =
      node_signature(graph.op(node), graph.attributes(node));
  for (const ValueId output : graph.outputs(node))
    value_signatures.edit(static_cast<size_t>(output.index)) = value_signature(graph, output);
}

void RewriteState::Impl::match_all() {
  Matcher matcher(graph);
  const Matcher::Filter any = [](int, NodeId) { return true; };
  for (const NodeId node : graph.nodes())
    for (const MatchProgram::Anchor& anchor : program->anchors(graph.op(node)))
      if (anchor.op == 0)
        matcher.find(program->rules()[static_cast<size_t>(anchor.rule)], 0, node, any,
                     [&](const Embedding& found) { consider(anchor.rule, found); });
}

/// Finds the matches that `node` is part of and no earlier operator of the pattern stands for a
/// node marked alike, so that each match is found once.
void RewriteState::Impl::match_at(NodeId node) {
  Matcher matcher(graph);
  for (const MatchProgram::Anchor& anchor : program->anchors(graph.op(node))) {
    const MatchRule& rule = program->rules()[static_cast<size_t>(anchor.rule)];
    const uint8_t least = rule.reads_uses ? kUses : kStructure;
    if (mark_of(node) < least) continue;
    matcher.find(
        rule, anchor.op, node,
        [&](int op, NodeId other) { return op >= anchor.op || mark_of(other) < least; },
        [&](const Embedding& found) { consider(anchor.rule, found); });
  }
}

uint64_t RewriteState::Impl::instance_key(int rule, const Embedding& embedding) const {
  uint64_t key = mix64(static_cast<uint64_t>(rule));
  for (const NodeId node : embedding.nodes())
    key = hash_combine(key, node_signatures[static_cast<size_t>(node.index)]);
  const auto& values = program->rules()[static_cast<size_t>(rule)].pattern->values;
  for (int i = 0; i < static_cast<int>(values.size()); ++i) {
    const auto tensors = embedding.values(i);
    if (values[static_cast<size_t>(i)].sequence) key = hash_combine(key, tensors.size());
    for (const ValueId value : tensors)
      key = hash_combine(
          key, value.valid() ? value_signatures[static_cast<size_t>(value.index)] : 0);
  }
  return key;
}

void RewriteState::Impl::consider(int rule, const Embedding& embedding) {
  const MatchRule& match_rule = program->rules()[static_cast<size_t>(rule)];
  const RulePattern& pattern = *match_rule.pattern;
  const uint64_t key = instance_key(rule, embedding);
  const InstanceCache::Entry* entry = cache->find(key);
  if (entry != nullptr && entry->instance == nullptr) return;
  auto binding = std::make_shared<const Binding>(embedding.binding());
  if (match_rule.reads_uses && !uses_hold(pattern, graph, *binding)) return;
  if (entry == nullptr)
    entry = cache->insert(key, instantiate(pattern, graph, *binding, *cost_model));
  if (entry->instance == nullptr) return;
  StoredMatch match;
  match.rule = rule;
  match.root = embedding.node(
      pattern.values[static_cast<size_t>(pattern.outputs[0].source)].producer);
  match.binding = std::move(binding);
  match.instance = entry->instance;
  for (const int value : match_rule.risky_values)
    for (const ValueId tensor : embedding.values(value))
      if (tensor.valid() && !graph.is_constant(tensor) &&
          &graph.op(graph.producer(tensor)) != &input_op())
        match.risky = true;
  matches.add(std::move(match));
}

void RewriteState::Impl::update_matches(const Change::Applied& applied) {
  marks.resize(static_cast<size_t>(graph.node_capacity()), kUnchanged);
  std::vector<NodeId> marked;
  const auto mark = [&](NodeId node, Mark how) {
    uint8_t& current = marks[static_cast<size_t>(node.index)];
    if (current == kUnchanged) marked.push_back(node);
    current = std::max(current, static_cast<uint8_t>(how));
  };
  for (const NodeId node : applied.removed) mark(node, kStructure);
  for (const NodeId node : applied.added) mark(node, kStructure);
  for (const NodeId node : applied.touched) mark(node, kStructure);
  for (const NodeId node : applied.used_otherwise) mark(node, kUses);
  if (program->reads_uses_of_variables())
    for (const NodeId node : applied.used_otherwise)
      if (graph.alive(node))
        for (const ValueId output : graph.outputs(node))
          for (const NodeId user : graph.users(output)) mark(user, kUses);

  std::vector<int32_t> stale;
  for (const NodeId node : marked)
    for (const int32_t slot : matches.of_node(node)) {
      const StoredMatch& match = matches[slot];
      const bool reads_uses = program->rules()[static_cast<size_t>(match.rule)].reads_uses;
      if (mark_of(node) == kStructure || reads_uses) stale.push_back(slot);
      else if (match.cost_known) matches.edit(slot).cost_known = false;
    }
  std::sort(stale.begin(), stale.end());
  stale.erase(std::unique(stale.begin(), stale.end()), stale.end());
  for (const int32_t slot : stale) matches.remove(slot);
  for (const NodeId node : marked)
    if (graph.alive(node)) match_at(node);
  for (const NodeId node : marked) marks[static_cast<size_t>(node.index)] = kUnchanged;
}

// --- Order and locations ----------------------------------------------------------------------------

bool RewriteState::Impl::reaches(ValueId from, NodeId to) {
  const NodeId source = graph.producer(from);
  const uint64_t floor = order.position(source);
  std::vector<NodeId> pending = {to};
  std::set<NodeId> seen;
  while (!pending.empty()) {
    const NodeId node = pending.back();
    pending.pop_back();
    if (order.position(node) <= floor) continue;
    if (!seen.insert(node).second) continue;
    for (const ValueId input : graph.inputs(node)) {
      if (input == from) return true;
      if (input.valid()) pending.push_back(graph.producer(input));
    }
  }
  return false;
}

/// Whether something that the replacement reads is computed from what it replaces.
bool RewriteState::Impl::makes_cycle(const StoredMatch& match) {
  const MatchRule& rule = program->rules()[static_cast<size_t>(match.rule)];
  const Binding& binding = *match.binding;
  for (const int value : rule.risky_values)
    for (int32_t at = binding.offsets[static_cast<size_t>(value)];
         at < binding.offsets[static_cast<size_t>(value) + 1]; ++at) {
      const ValueId leaf = binding.values[static_cast<size_t>(at)];
      if (!leaf.valid()) continue;
      for (const auto& output : match.instance->outputs) {
        const ValueId replaced = binding.values[static_cast<size_t>(output.first)];
        if (leaf == replaced || reaches(replaced, graph.producer(leaf))) return true;
      }
    }
  return false;
}

bool RewriteState::Impl::before(int32_t a, int32_t b) const {
  const StoredMatch& x = matches[a];
  const StoredMatch& y = matches[b];
  const auto position = [&](NodeId node) { return order.position(node); };
  if (x.root != y.root) return position(x.root) < position(y.root);
  const auto& nodes_x = x.binding->nodes;
  const auto& nodes_y = y.binding->nodes;
  for (size_t i = 0; i < nodes_x.size(); ++i)
    if (nodes_x[i] != nodes_y[i]) return position(nodes_x[i]) < position(nodes_y[i]);
  const auto& values_x = x.binding->values;
  const auto& values_y = y.binding->values;
  for (size_t i = 0; i < std::min(values_x.size(), values_y.size()); ++i) {
    if (values_x[i] == values_y[i]) continue;
    if (!values_x[i].valid() || !values_y[i].valid()) return !values_x[i].valid();
    const NodeId from_x = graph.producer(values_x[i]);
    const NodeId from_y = graph.producer(values_y[i]);
    if (from_x != from_y) return position(from_x) < position(from_y);
    return graph.output_index(values_x[i]) < graph.output_index(values_y[i]);
  }
  return values_x.size() < values_y.size();
}

void RewriteState::Impl::list_locations(int rule) {
  Locations& result = locations[static_cast<size_t>(rule)];
  if (result.listed) return;
  result.listed = true;
  const auto& slots = matches.of_rule(rule);
  if (slots.empty()) return;
  std::vector<std::pair<uint64_t, int32_t>> places;  // position of the root, slot
  for (size_t i = 0; i < slots.size(); ++i) {
    const int32_t slot = slots[i];
    const StoredMatch& match = matches[slot];
    if (match.risky && makes_cycle(match)) continue;
    places.emplace_back(order.position(match.root), slot);
  }
  std::sort(places.begin(), places.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : before(a.second, b.second);
  });
  std::unordered_set<uint64_t> seen;
  const bool symmetric = (*rules)[rule].pattern().symmetric;
  for (const auto& [position, slot] : places) {
    const StoredMatch& match = matches[slot];
    if (symmetric && !seen.insert(match.node_set).second) continue;
    result.list.push_back({rule, slot, match.root, match.binding});
  }
}

int RewriteState::Impl::count_locations(int rule) {
  if (matches.risky(rule) > 0) {
    list_locations(rule);
    return static_cast<int>(locations[static_cast<size_t>(rule)].list.size());
  }
  return (*rules)[rule].pattern().symmetric ? matches.node_sets(rule)
                                            : static_cast<int>(matches.of_rule(rule).size());
}

// --- Classes --------------------------------------------------------------------------------------

void RewriteState::Impl::update_neighbourhoods() {
  if (!neighbourhoods) {
    neighbourhoods.emplace();
    neighbourhoods_changed = graph.nodes();
  }
  if (neighbourhoods_changed.empty()) return;
  for (const NodeId node : neighbourhoods->update(graph, neighbourhoods_changed))
    for (const int32_t slot : matches.of_node(node))
      if (matches[slot].neighbourhood != 0) matches.edit(slot).neighbourhood = 0;
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

void RewriteState::Impl::list_classes(int rule) {
  list_locations(rule);
  Locations& result = locations[static_cast<size_t>(rule)];
  if (result.classed) return;
  result.classed = true;
  if (result.list.empty()) return;
  update_neighbourhoods();
  std::unordered_map<uint64_t, size_t> known;
  for (size_t i = 0; i < result.list.size(); ++i) {
    const auto [at, fresh] = known.try_emplace(class_of(result.list[i]), result.classes.size());
    if (fresh) result.classes.emplace_back();
    result.classes[at->second].members.push_back(static_cast<int32_t>(i));
  }
}

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

// --- Steps ------------------------------------------------------------------------------------------

const StoredMatch& RewriteState::Impl::stored(const Match& match) const {
  REVERIE_CHECK(match.slot >= 0 && match.slot < matches.capacity() &&
                    matches[match.slot].binding == match.binding,
                "the match belongs to another state");
  return matches[match.slot];
}

Change RewriteState::Impl::change_of(const Match& match) const {
  const StoredMatch& found = stored(match);
  return Change(graph, *found.binding, *found.instance);
}

Cost RewriteState::Impl::cost_of(const Change& change, const Instance& instance) const {
  Cost delta;
  for (size_t i = 0; i < instance.nodes.size(); ++i)
    if (change.comes(i)) delta += instance.nodes[i].cost;
  for (const NodeId node : change.removed())
    delta -= node_costs[static_cast<size_t>(node.index)];
  return delta;
}

Cost RewriteState::Impl::cost_delta(int32_t slot) {
  const StoredMatch& match = matches[slot];
  if (match.cost_known) return match.cost_delta;
  const Change change(graph, *match.binding, *match.instance);
  const Cost delta = cost_of(change, *match.instance);
  // What lies beyond the matched nodes is not watched.
  if (!match.instance->drops_inputs && change.all_come()) {
    StoredMatch& kept = matches.edit(slot);
    kept.cost_delta = delta;
    kept.cost_known = true;
  }
  return delta;
}

Change::Applied RewriteState::Impl::commit(const Rewrite& rewrite) {
  const StoredMatch& found = stored(rewrite.match);
  const auto binding = found.binding;
  const auto instance = found.instance;
  const Change change(graph, *binding, *instance);
  cost += cost_of(change, *instance);
  Change::Applied applied = change.apply(graph);
  size_t next = 0;
  for (size_t i = 0; i < instance->nodes.size(); ++i) {
    if (!change.comes(i)) continue;
    const NodeId node = applied.added[next++];
    describe(node);
    node_costs.edit(static_cast<size_t>(node.index)) = instance->nodes[i].cost;
  }
  return applied;
}

RewriteState::RewriteState(Graph graph, std::shared_ptr<const RuleSet> rules,
                           std::shared_ptr<CostModel> cost)
    : impl_(std::make_shared<Impl>(std::move(graph), std::move(rules), std::move(cost))) {}

const Graph& RewriteState::graph() const { return impl_->graph; }
const RuleSet& RewriteState::rules() const { return *impl_->rules; }
CostModel& RewriteState::cost_model() const { return *impl_->cost_model; }
const Cost& RewriteState::cost() const { return impl_->cost; }

uint64_t RewriteState::hash() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->up_to_date_hash().value();
}

const std::vector<Match>& RewriteState::locations(int rule) const {
  const std::lock_guard lock(impl_->mutex);
  impl_->list_locations(rule);
  return impl_->locations[static_cast<size_t>(rule)].list;
}

int RewriteState::location_count(int rule) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->count_locations(rule);
}

const std::vector<LocationClass>& RewriteState::classes(int rule) const {
  const std::lock_guard lock(impl_->mutex);
  impl_->list_classes(rule);
  return impl_->locations[static_cast<size_t>(rule)].classes;
}

std::optional<Match> RewriteState::find(const Match& match) const {
  for (const Match& location : locations(match.rule))
    if (location.root == match.root && location.binding->nodes == match.binding->nodes &&
        location.binding->values == match.binding->values)
      return location;
  return {};
}

Cost RewriteState::cost_delta(const Match& match) const {
  const std::lock_guard lock(impl_->mutex);
  impl_->stored(match);
  return impl_->cost_delta(match.slot);
}

Rewrite RewriteState::propose(const Match& match) const {
  const StoredMatch& found = impl_->stored(match);
  const Change change = impl_->change_of(match);
  Rewrite rewrite;
  rewrite.match = match;
  rewrite.cost_delta = impl_->cost_of(change, *found.instance);
  rewrite.weight_bytes_delta = change.weight_bytes_delta();
  rewrite.instance = found.instance;
  return rewrite;
}

uint64_t RewriteState::hash_after(const Rewrite& rewrite) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->change_of(rewrite.match).hash_after(impl_->up_to_date_hash());
}

void RewriteState::commit(const Rewrite& rewrite) {
  if (impl_.use_count() > 1) {
    impl_ = std::make_shared<Impl>(*impl_);
  } else {
    std::atomic_thread_fence(std::memory_order_acquire);
  }
  Impl& impl = *impl_;
  const Change::Applied applied = impl.commit(rewrite);
  impl.update_matches(applied);
  for (auto& locations : impl.locations) {
    locations.listed = locations.classed = false;
    locations.list.clear();
    locations.classes.clear();
  }
  impl.order.update(impl.graph, {applied.touched, applied.removed, applied.outputs});
  if (impl.neighbourhoods)
    for (const auto* nodes : {&applied.added, &applied.touched, &applied.used_otherwise})
      impl.neighbourhoods_changed.insert(impl.neighbourhoods_changed.end(), nodes->begin(),
                                         nodes->end());
  if (impl.hash) {
    impl.hash_changed.insert(impl.hash_changed.end(), applied.added.begin(), applied.added.end());
    impl.hash_changed.insert(impl.hash_changed.end(), applied.touched.begin(),
                             applied.touched.end());
    impl.hash_removed.insert(impl.hash_removed.end(), applied.removed.begin(),
                             applied.removed.end());
  }
}

TakenAll take_all(RewriteState& state, int rule, const LocationClass& alike) {
  std::vector<Match> members;
  for (const int32_t member : alike.members)
    members.push_back(state.locations(rule)[static_cast<size_t>(member)]);
  TakenAll taken;
  for (const Match& member : members) {
    const std::optional<Match> match = state.find(member);
    if (!match) continue;
    const auto& locations = state.locations(rule);
    const auto at = std::find_if(locations.begin(), locations.end(), [&](const Match& location) {
      return location.slot == match->slot;
    });
    taken.locations.push_back(static_cast<int32_t>(at - locations.begin()));
    const Rewrite rewrite = state.propose(*match);
    taken.weight_bytes_delta += rewrite.weight_bytes_delta;
    state.commit(rewrite);
  }
  return taken;
}

}  // namespace reverie
