#include "core/rules/change.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/sort_unique.h"

namespace reverie {

Change::Change(const Graph& graph, const Binding& binding, const Instance& instance)
    : graph_(graph), binding_(binding), instance_(instance), comes_(instance.nodes.size(), 1) {
  for (size_t i = 0; i < instance.nodes.size(); ++i) {
    first_output_.push_back(static_cast<int32_t>(owner_.size()));
    owner_.insert(owner_.end(), instance.nodes[i].types.size(), static_cast<int32_t>(i));
  }
  fresh_uses_.assign(owner_.size(), 0);
  count_uses();
  remove_dead();
}

Change::Ref Change::ref(const Operand& operand) const {
  if (operand.node >= 0)
    return {true, first_output_[static_cast<size_t>(operand.node)] + operand.index};
  return {false, binding_.values[static_cast<size_t>(operand.index)].index};
}

Change::Ref Change::resolve(ValueId value) const {
  Ref result{false, value.index};
  // A value can take the uses of one replaced value and be replaced itself.
  for (size_t hops = 0; hops <= moved_.size(); ++hops) {
    const auto at = std::find_if(moved_.begin(), moved_.end(), [&](const auto& move) {
      return !result.fresh && move.first.index == result.index;
    });
    if (at == moved_.end()) return result;
    result = at->second;
  }
  REVERIE_CHECK(false, "outputs replace each other in a circle");
  return result;
}

int& Change::uses(Ref ref) {
  if (ref.fresh) return fresh_uses_[static_cast<size_t>(ref.index)];
  const ValueId value{ref.index};
  for (auto& entry : old_uses_)
    if (entry.first == value) return entry.second;
  return old_uses_.emplace_back(value, graph_.use_count(value)).second;
}

void Change::count_uses() {
  for (const NewNode& node : instance_.nodes)
    for (const Operand& input : node.inputs)
      if (!input.absent()) ++uses(ref(input));
  for (const auto& [from, to] : instance_.outputs) {
    const ValueId value = binding_.values[static_cast<size_t>(from)];
    const Ref target = follow(ref(to));
    if (target == Ref{false, value.index}) continue;
    const int count = uses({false, value.index});
    uses({false, value.index}) = 0;
    uses(target) += count;
    moved_.emplace_back(value, target);
  }
}

bool Change::has_uses(NodeId node) {
  for (const ValueId output : graph_.outputs(node))
    if (uses({false, output.index}) > 0) return true;
  return false;
}

bool Change::is_removed(NodeId node) const {
  return std::find(removed_.begin(), removed_.end(), node) != removed_.end();
}

void Change::remove_dead() {
  // Old nodes and new ones (by number) that may have lost their last use.
  std::vector<NodeId> old;
  std::vector<int32_t> fresh;
  const auto suspect = [&](Ref ref) {
    if (ref.fresh)
      fresh.push_back(owner_[static_cast<size_t>(ref.index)]);
    else
      old.push_back(graph_.producer({ref.index}));
  };
  for (const auto& move : moved_) old.push_back(graph_.producer(move.first));
  for (size_t i = 0; i < comes_.size(); ++i) fresh.push_back(static_cast<int32_t>(i));
  const auto release = [&](Ref ref) {
    --uses(ref);
    suspect(ref);
  };
  while (!old.empty() || !fresh.empty()) {
    if (!old.empty()) {
      const NodeId node = old.back();
      old.pop_back();
      looked_at_.push_back(node);
      if (&graph_.op(node) == &input_op() || is_removed(node) || has_uses(node)) continue;
      removed_.push_back(node);
      for (const ValueId input : graph_.inputs(node))
        if (input.valid()) release(resolve(input));
      continue;
    }
    const auto i = static_cast<size_t>(fresh.back());
    fresh.pop_back();
    const auto begin = fresh_uses_.begin() + first_output_[i];
    const auto end = begin + static_cast<int64_t>(instance_.nodes[i].types.size());
    if (!comes_[i] || std::any_of(begin, end, [](int count) { return count > 0; })) continue;
    comes_[i] = 0;
    for (const Operand& input : instance_.nodes[i].inputs)
      if (!input.absent()) release(follow(ref(input)));
  }
}

bool Change::all_come() const {
  return std::all_of(comes_.begin(), comes_.end(), [](uint8_t c) { return c != 0; });
}

int64_t Change::weight_bytes_delta() const {
  std::vector<ValueId> affected;  // constants of the graph
  const auto note = [&](ValueId value) {
    if (value.valid() && graph_.is_constant(value)) affected.push_back(value);
  };
  std::vector<uint8_t> stored(fresh_uses_.size(), 0);
  std::vector<ValueId> kept;  // used by new work
  for (size_t i = 0; i < comes_.size(); ++i) {
    if (!comes_[i]) continue;
    for (const Operand& input : instance_.nodes[i].inputs) {
      if (input.absent()) continue;
      const Ref r = follow(ref(input));
      if (!r.fresh) note({r.index});
      if (instance_.nodes[i].constant) continue;
      if (r.fresh)
        stored[static_cast<size_t>(r.index)] = 1;
      else
        kept.push_back({r.index});
    }
  }
  for (const NodeId node : removed_) {
    for (const ValueId input : graph_.inputs(node)) note(input);
    for (const ValueId output : graph_.outputs(node)) note(output);
  }
  sort_unique(affected);
  int64_t delta = 0;
  for (const ValueId value : affected) {
    const auto users = graph_.users(value);
    const bool output = graph_.is_output(value);
    const auto works = [&](NodeId user) { return !graph_.is_constant(user); };
    const bool before = output || std::any_of(users.begin(), users.end(), works);
    const bool after = output || std::find(kept.begin(), kept.end(), value) != kept.end() ||
                       std::any_of(users.begin(), users.end(),
                                   [&](NodeId user) { return works(user) && !is_removed(user); });
    delta += (int{after} - int{before}) * graph_.stored_bytes(value);
  }
  for (size_t i = 0; i < stored.size(); ++i) {
    const NewNode& node = instance_.nodes[static_cast<size_t>(owner_[i])];
    const auto output = i - static_cast<size_t>(first_output_[static_cast<size_t>(owner_[i])]);
    if (stored[i] && node.constant) delta += node.types[output].bytes();
  }
  return delta;
}

Change::Applied Change::apply(Graph& graph) const {
  Applied applied;
  std::vector<NodeId> made(instance_.nodes.size());
  const auto value_of = [&](Ref ref) {
    if (!ref.fresh) return ValueId{ref.index};
    const auto owner = static_cast<size_t>(owner_[static_cast<size_t>(ref.index)]);
    return graph.output(made[owner], ref.index - first_output_[owner]);
  };
  for (size_t i = 0; i < made.size(); ++i) {
    if (!comes_[i]) continue;
    const NewNode& node = instance_.nodes[i];
    if (node.weight != nullptr) {
      made[i] = graph.producer(graph.add_constant(node.weight));
    } else {
      std::vector<ValueId> inputs;
      for (const Operand& input : node.inputs) {
        inputs.push_back(input.absent() ? ValueId{} : value_of(ref(input)));
        if (inputs.back().valid()) applied.used_otherwise.push_back(graph.producer(inputs.back()));
      }
      made[i] = graph.add_node(*node.op, inputs, node.attributes, node.types);
    }
    applied.added.push_back(made[i]);
  }
  for (const auto& [from, to] : moved_) {
    applied.used_otherwise.push_back(graph.producer(from));
    const Ref target = follow(to);
    if (target.fresh && !comes_[static_cast<size_t>(owner_[static_cast<size_t>(target.index)])])
      continue;
    applied.outputs = applied.outputs || graph.is_output(from);
    graph.replace_all_uses(from, value_of(target), &applied.touched);
    applied.used_otherwise.push_back(graph.producer(value_of(target)));
  }
  for (const NodeId node : removed_)
    for (const ValueId input : graph.inputs(node))
      if (input.valid()) applied.used_otherwise.push_back(graph.producer(input));
  for (const auto& move : moved_)
    if (const NodeId node = graph.producer(move.first); graph.alive(node))
      graph.erase_if_dead(node, &applied.removed);
  return applied;
}

}  // namespace reverie
