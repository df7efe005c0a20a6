#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/sort_unique.h"
#include "core/rules/instance_key.h"
#include "core/rules/rewrite_impl.h"

namespace reverie {

void RewriteState::Impl::describe(NodeId node) {
  node_costs.extend(static_cast<size_t>(graph.node_capacity()));
  node_signatures.extend(static_cast<size_t>(graph.node_capacity()));
  value_signatures.extend(static_cast<size_t>(graph.value_capacity()));
  node_signatures.edit(static_cast<size_t>(node.index)) = node_signature(graph, node);
  operators.add(graph, node);
  describe_values(node);
}

void RewriteState::Impl::describe_values(NodeId node) {
  for (const ValueId output : graph.outputs(node)) {
    const auto at = static_cast<size_t>(output.index);
    const uint64_t signature = value_signature(graph, output);
    if (value_signatures[at] != signature) value_signatures.edit(at) = signature;
  }
}

void RewriteState::Impl::match_all() {
  Matcher matcher(graph, operators);
  const auto any = [](int, NodeId) { return true; };
  std::vector<StoredMatch> found;
  for (const NodeId node : graph.nodes()) {
    const Neighbours around = Neighbours::of(graph, node);
    for (const MatchProgram::Anchor& anchor : program->anchors(graph.op(node)))
      if (anchor.op == 0 && around.include(anchor.needed))
        matcher.find(program->rules()[static_cast<size_t>(anchor.rule)], 0, node, any,
                     [&](const Embedding& embedding) { consider(anchor.rule, embedding, found); });
  }
  for (StoredMatch& match : found) watch_values_of_twins(matches.add(std::move(match)));
  list_anew();
}

std::vector<StoredMatch> RewriteState::Impl::matches_at(const NodeMarks& marks) const {
  Matcher matcher(graph, operators);
  std::vector<StoredMatch> found;
  for (const NodeId node : marks.nodes())
    if (graph.alive(node)) match_at(node, marks, matcher, found);
  return found;
}

/// Finds the matches that `node` is part of and no earlier operator of the pattern stands for a
/// node marked alike, so that each match is found once.
void RewriteState::Impl::match_at(NodeId node, const NodeMarks& marks, Matcher& matcher,
                                  std::vector<StoredMatch>& found) const {
  const Neighbours around = Neighbours::of(graph, node);
  for (const MatchProgram::Anchor& anchor : program->anchors(graph.op(node))) {
    if (!around.include(anchor.needed)) continue;
    const MatchRule& rule = program->rules()[static_cast<size_t>(anchor.rule)];
    const Mark least = rule.reads_uses ? Mark::kUses : Mark::kStructure;
    if (marks.of(node) < least) continue;
    const auto is_first = [&](int op, NodeId other) {
      return op >= anchor.op || marks.of(other) < least;
    };
    const auto take = [&](const Embedding& embedding) { consider(anchor.rule, embedding, found); };
    matcher.find(rule, anchor.op, node, std::ref(is_first), std::ref(take));  // copies allocate
  }
}

uint64_t RewriteState::Impl::key_of(int rule, const Embedding& embedding) const {
  return instance_key(
      rule, *program->rules()[static_cast<size_t>(rule)].pattern, embedding,
      [&](NodeId node) { return node_signatures[static_cast<size_t>(node.index)]; },
      [&](ValueId value) { return value_signatures[static_cast<size_t>(value.index)]; });
}

void RewriteState::Impl::consider(int rule, const Embedding& embedding,
                                  std::vector<StoredMatch>& found) const {
  const MatchRule& match_rule = program->rules()[static_cast<size_t>(rule)];
  const RulePattern& pattern = *match_rule.pattern;
  const uint64_t key = key_of(rule, embedding);
  const InstanceCache::Entry* entry = cache->find(key);
  if (entry != nullptr && entry->instance == nullptr) return;
  auto binding = std::make_shared<const Binding>(embedding.binding());
  if (match_rule.reads_uses && !uses_hold(pattern, graph, *binding)) return;
  if (entry == nullptr)
    entry = cache->insert(key, instantiate(pattern, graph, *binding, *cost_model));
  if (entry->instance == nullptr || !cache->fits(key, *entry->instance, graph, *binding)) return;
  StoredMatch match;
  match.rule = rule;
  match.root =
      embedding.node(pattern.values[static_cast<size_t>(pattern.outputs[0].source)].producer);
  match.binding = std::move(binding);
  match.instance = entry->instance;
  for (const int value : match_rule.risky_values)
    for (const ValueId tensor : embedding.values(value))
      if (tensor.valid() && !graph.is_constant(tensor) &&
          &graph.op(graph.producer(tensor)) != &input_op())
        match.risky = true;
  found.push_back(std::move(match));
}

NodeMarks RewriteState::Impl::marks_of(const Change::Applied& applied) const {
  NodeMarks marks;
  for (const auto* nodes : {&applied.removed, &applied.added, &applied.touched})
    for (const NodeId node : *nodes) marks.mark(node, Mark::kStructure);
  for (const NodeId node : applied.used_otherwise) marks.mark(node, Mark::kUses);
  if (!program->reads_uses_of_variables()) return marks;
  for (const NodeId node : applied.used_otherwise)
    if (graph.alive(node))
      for (const ValueId output : graph.outputs(node))
        for (const NodeId user : graph.users(output)) marks.mark(user, Mark::kUses);
  return marks;
}

/// The least mark on one of its nodes that asks for a new look.
Mark RewriteState::Impl::watched(const StoredMatch& match) const {
  const bool reads_uses = program->rules()[static_cast<size_t>(match.rule)].reads_uses;
  return reads_uses ? Mark::kUses : Mark::kStructure;
}

std::vector<int32_t> RewriteState::Impl::stale_matches(const NodeMarks& marks) {
  std::vector<int32_t> stale;
  for (const NodeId node : marks.nodes())
    for (const int32_t slot : matches.of_node(node)) {
      const StoredMatch& match = matches[slot];
      if (marks.of(node) >= watched(match))
        stale.push_back(slot);
      else
        forget_cost(slot);
    }
  for (const NodeId node : marks.nodes())
    if (!graph.is_constant(node))  // of which no cost depends
      for (const int32_t slot : matches.watching(node)) forget_cost(slot);
  sort_unique(stale);
  return stale;
}

void RewriteState::Impl::forget_cost(int32_t slot) {
  if (!matches[slot].cost_known) return;
  matches.edit(slot).cost_known = false;
  cost_forgotten.push_back(slot);
  Listing& of_rule = listing(matches[slot].rule);
  of_rule.first = nullptr;
  of_rule.classes = nullptr;
}

/// Those whose place among the others may be another: what stands on a node that moved, and of
/// twins what takes a value from one.
std::vector<int32_t> RewriteState::Impl::moved_matches(const NodeOrder::Moved& moved,
                                                       const NodeOrder& order_before) const {
  constexpr size_t kMany = 16;
  std::vector<int32_t> found;
  const auto note = [&](std::span<const int32_t> slots) {
    found.insert(found.end(), slots.begin(), slots.end());
  };
  for (const NodeId node : moved.nodes) {
    note(matches.of_node(node));
    if (matches.watching(node).size() <= kMany) {
      note(matches.watching(node));
      continue;
    }
    for (const NodeId passed : order.passed_by(node, order_before, moved))
      for (const int32_t slot : matches.watching(passed))
        if (std::ranges::find(matches[slot].watched, node) != matches[slot].watched.end())
          found.push_back(slot);
  }
  sort_unique(found);
  return found;
}

}  // namespace reverie
