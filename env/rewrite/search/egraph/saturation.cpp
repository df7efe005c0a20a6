#include "env/rewrite/search/egraph/saturation.h"

#include <algorithm>
#include <utility>

#include "core/base/hash.h"
#include "core/rules/instance_key.h"

namespace reverie {
namespace {

/// Source operators that no other one uses.
std::vector<int> roots_of(const RulePattern& pattern) {
  const auto uses = [](const SourceOp& user, int value) {
    return std::find(user.inputs.begin(), user.inputs.end(), value) != user.inputs.end();
  };
  std::vector<int> roots;
  for (size_t i = 0; i < pattern.source.size(); ++i) {
    const std::vector<int>& outputs = pattern.source[i].outputs;
    if (std::none_of(pattern.source.begin(), pattern.source.end(), [&](const SourceOp& user) {
          return std::any_of(outputs.begin(), outputs.end(),
                             [&](int output) { return uses(user, output); });
        }))
      roots.push_back(static_cast<int>(i));
  }
  return roots;
}

bool intersect(const std::vector<ValueId>& a, const std::vector<ValueId>& b) {
  auto x = a.begin();
  auto y = b.begin();
  while (x != a.end() && y != b.end()) {
    if (*x == *y) return true;
    if (*x < *y)
      ++x;
    else
      ++y;
  }
  return false;
}

// Of one rule in one iteration so many matches are applied, more in a large graph, and it looks for
// no more while several times as many wait: else rules that only rearrange fill the e-graph before
// others had their turn.
constexpr int64_t kLeastApplied = 50;
constexpr int64_t kPlacesPerMatch = 8;
constexpr int64_t kIterationsAhead = 10;

/// The number at an index, computed where it is not known (0).
template <class Compute>
uint64_t remembered(std::vector<uint64_t>& known, int32_t index, const Compute& compute) {
  const auto i = static_cast<size_t>(index);
  if (i >= known.size()) known.resize(2 * i + 1, 0);
  if (known[i] == 0) known[i] = compute();
  return known[i];
}

}  // namespace

Saturation::Saturation(EGraph& egraph, const RuleSet& rules, CostModel& cost_model,
                       const SaturationOptions& options, std::function<bool()> out_of_time)
    : egraph_(egraph),
      cost_model_(cost_model),
      options_(options),
      out_of_time_(std::move(out_of_time)),
      most_applied_(std::max<int64_t>(kLeastApplied, egraph.node_count() / kPlacesPerMatch)),
      program_(rules),
      matches_(egraph, program_) {
  for (const MatchRule& rule : program_.rules()) roots_.push_back(roots_of(*rule.pattern));
}

bool Saturation::iterate() {
  match();
  ++iterations_;
  const bool changed = apply_best();
  egraph_.rebuild();
  bool done = true;
  bool done_for_now = true;
  for (int rule = 0; rule < static_cast<int>(roots_.size()); ++rule) {
    done &= matches_.done(rule);
    done_for_now &= matches_.done(rule) || !takes_part(rule);
  }
  const bool nothing_new = found_.empty() && !changed;
  saturated_ = nothing_new && done && !matches_.gave_up();
  return !nothing_new || !done_for_now;
}

bool Saturation::takes_part(int rule) const {
  return roots_[static_cast<size_t>(rule)].size() < 2 || iterations_ < options_.multi_iterations;
}

// --- Matching
// -------------------------------------------------------------------------------------

void Saturation::match() {
  matches_.note(egraph_.take_changed());
  parts_.clear();
  std::vector<int64_t> missing(roots_.size(), kIterationsAhead * most_applied_);
  for (const Found& found : found_) --missing[static_cast<size_t>(found.rule)];
  for (int rule = 0; rule < static_cast<int>(roots_.size()) && !out_of_time_(); ++rule) {
    if (!takes_part(rule)) continue;
    const int64_t most_tries = matches_.tried() + options_.match_limit;
    const int64_t most_found =
        static_cast<int64_t>(found_.size()) + missing[static_cast<size_t>(rule)];
    while (!matches_.done(rule) && matches_.tried() < most_tries &&
           static_cast<int64_t>(found_.size()) < most_found)
      matches_.look_on(rule, options_.match_limit, out_of_time_,
                       [&](const Embedding& embedding) { consider(rule, embedding); });
  }
}

/// The outputs of a node, and what they hold side by side: what comes out of them by splitting and
/// by giving the same data another shape. Ascending.
const std::vector<ValueId>& Saturation::parts_of(NodeId node) {
  const auto [at, fresh] = parts_.try_emplace(node);
  if (!fresh) return at->second;
  const Graph& graph = egraph_.graph();
  std::vector<ValueId> found(egraph_.outputs(node).begin(), egraph_.outputs(node).end());
  std::unordered_set<ValueId> known(found.begin(), found.end());
  for (size_t i = 0; i < found.size(); ++i)
    for (const NodeId user : graph.users(found[i])) {
      if (!egraph_.alive(user) || graph.inputs(user).size() != 1) continue;
      if (!graph.op(user).view && egraph_.outputs(user).size() < 2) continue;
      for (const ValueId output : egraph_.outputs(user))
        if (known.insert(output).second) found.push_back(output);
    }
  std::sort(found.begin(), found.end());
  return at->second = std::move(found);
}

/// Whether two roots compute something in common, as what was merged and one of its parts do: no
/// graph gains by merging them.
bool Saturation::overlaps(int rule, const Embedding& embedding) {
  const std::vector<int>& roots = roots_[static_cast<size_t>(rule)];
  for (size_t i = 0; i + 1 < roots.size(); ++i)
    for (size_t j = i + 1; j < roots.size(); ++j)
      if (intersect(parts_of(embedding.node(roots[i])), parts_of(embedding.node(roots[j]))))
        return true;
  return false;
}

void Saturation::consider(int rule, const Embedding& embedding) {
  if (overlaps(rule, embedding)) return;
  const uint64_t key = key_of(rule, embedding);
  const InstanceCache::Entry* entry = cache_.find(key);
  if (entry != nullptr && entry->instance == nullptr) return;
  Found found{rule, 0, embedding.binding(), nullptr};
  if (seen(rule, found.binding)) return;
  const RulePattern& pattern = *program_.rules()[static_cast<size_t>(rule)].pattern;
  if (entry == nullptr)
    entry = cache_.insert(key, instantiate(pattern, egraph_.graph(), found.binding, cost_model_));
  if (entry->instance == nullptr ||
      !cache_.fits(key, *entry->instance, egraph_.graph(), found.binding))
    return;
  found.instance = entry->instance;
  found.gain = gain(found);
  found_.push_back(std::move(found));
}

/// Whether a match on the same nodes and classes was found before; remembers it.
bool Saturation::seen(int rule, const Binding& binding) {
  const bool symmetric = program_.rules()[static_cast<size_t>(rule)].pattern->symmetric;
  uint64_t key = mix64(static_cast<uint64_t>(rule));
  const auto add = [&](uint64_t part) {
    key = symmetric ? key + mix64(part) : hash_combine(key, part);
  };
  for (const NodeId node : binding.nodes) add(2 * static_cast<uint64_t>(node.index));
  for (const ValueId value : binding.values) add(2 * static_cast<uint64_t>(value.index) + 1);
  for (const int32_t offset : binding.offsets)
    key = hash_combine(key, static_cast<uint64_t>(offset));
  return !seen_.insert(key).second;
}

uint64_t Saturation::key_of(int rule, const Embedding& embedding) {
  const Graph& graph = egraph_.graph();
  return instance_key(
      rule, *program_.rules()[static_cast<size_t>(rule)].pattern, embedding,
      [&](NodeId node) {
        return remembered(node_signatures_, node.index,
                          [&] { return node_signature(graph, node); });
      },
      [&](ValueId value) {
        return remembered(value_signatures_, value.index,
                          [&] { return value_signature(graph, value); });
      });
}

// --- Applying
// -------------------------------------------------------------------------------------

int64_t Saturation::gain(const Found& found) const {
  int64_t gain = 0;
  for (const NodeId node : found.binding.nodes) gain += egraph_.cost(node).runtime.count;
  for (const NewNode& node : found.instance->nodes) gain -= node.cost.runtime.count;
  return gain;
}

/// Whether a node would come that reads what it computes.
bool Saturation::is_loop(const Found& found) const {
  const auto name = [&](int32_t value) {
    return egraph_.find(found.binding.values[static_cast<size_t>(value)]);
  };
  for (const auto& [from, to] : found.instance->outputs) {
    if (to.node < 0) continue;
    for (const Operand& input : found.instance->nodes[static_cast<size_t>(to.node)].inputs)
      if (input.node < 0 && !input.absent() && name(input.index) == name(from)) return true;
  }
  return false;
}

/// Applies what was found, the cheapest results first, of each rule so many; the rest waits.
bool Saturation::apply_best() {
  std::stable_sort(found_.begin(), found_.end(),
                   [](const Found& a, const Found& b) { return a.gain > b.gain; });
  std::vector<int64_t> applied(roots_.size(), 0);
  std::vector<Found> rest;
  for (Found& found : found_) {
    int64_t& of_rule = applied[static_cast<size_t>(found.rule)];
    if (of_rule >= most_applied_ || full() || out_of_time_())
      rest.push_back(std::move(found));
    else if (apply(found))
      ++of_rule;
  }
  found_ = std::move(rest);
  return std::any_of(applied.begin(), applied.end(), [](int64_t count) { return count > 0; });
}

bool Saturation::apply(const Found& found) {
  const auto& nodes = found.binding.nodes;
  const auto alive = [&](NodeId node) { return egraph_.alive(node); };
  if (!std::all_of(nodes.begin(), nodes.end(), alive) || is_loop(found)) return false;
  const int64_t before = egraph_.node_count();
  std::vector<NodeId> made;
  const auto value = [&](const Operand& operand) {
    if (operand.absent()) return ValueId{};
    if (operand.node < 0) return found.binding.values[static_cast<size_t>(operand.index)];
    return egraph_.graph().output(made[static_cast<size_t>(operand.node)], operand.index);
  };
  for (const NewNode& node : found.instance->nodes) {
    std::vector<ValueId> inputs;
    for (const Operand& input : node.inputs) inputs.push_back(value(input));
    made.push_back(node.weight != nullptr
                       ? egraph_.add_constant(node.weight)
                       : egraph_.add(*node.op, inputs, node.attributes, node.types, node.cost));
  }
  bool changed = egraph_.node_count() != before;
  for (const auto& [from, to] : found.instance->outputs)
    changed |= egraph_.merge(value({-1, from}), value(to));
  applied_ += changed ? 1 : 0;
  return changed;
}

}  // namespace reverie
