#include "core/rules/matcher.h"

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/base/small_list.h"
#include "core/base/sort_unique.h"

namespace reverie {
namespace {

/// Whether every match has a tensor there.
bool is_there(const PatternValue& value) { return !value.sequence && !value.optional; }

MatchPlan make_plan(const RulePattern& pattern, int anchor) {
  MatchPlan plan;
  std::vector<bool> reached(pattern.source.size(), false);
  std::vector<bool> known(pattern.values.size(), false);
  const auto reach = [&](MatchPlan::Step step) {
    plan.steps.push_back(step);
    reached[static_cast<size_t>(step.op)] = true;
    const SourceOp& op = pattern.source[static_cast<size_t>(step.op)];
    for (const int value : op.inputs) known[static_cast<size_t>(value)] = true;
    for (const int value : op.outputs) known[static_cast<size_t>(value)] = true;
  };
  const auto known_of = [&](const std::vector<int>& values, bool produced_only, bool sure) {
    for (const int value : values) {
      const PatternValue& tensor = pattern.values[static_cast<size_t>(value)];
      if (known[static_cast<size_t>(value)] && (!produced_only || tensor.producer >= 0) &&
          (!sure || is_there(tensor)))
        return value;
    }
    return -1;
  };
  // A producer is one node; a user is one of several, and of a variable one of many. Nothing leads
  // along a sequence that is empty or an input that is absent: they come last.
  const auto next = [&]() -> std::optional<MatchPlan::Step> {
    for (int turn = 0; turn < 6; ++turn)
      for (size_t i = 0; i < reached.size(); ++i) {
        if (reached[i]) continue;
        const SourceOp& op = pattern.source[i];
        const int way = turn % 3;
        const int value = way == 0 ? known_of(op.outputs, false, turn < 3)
                                   : known_of(op.inputs, way == 1, turn < 3);
        if (value >= 0)
          return MatchPlan::Step{static_cast<int>(i),
                                 way == 0 ? MatchPlan::Via::kProducer : MatchPlan::Via::kUser,
                                 value};
      }
    for (size_t i = 0; i < reached.size(); ++i)
      if (!reached[i]) return MatchPlan::Step{static_cast<int>(i), MatchPlan::Via::kAnywhere, -1};
    return {};
  };
  reach({anchor, MatchPlan::Via::kAnchor, -1});
  while (const auto step = next()) reach(*step);
  REVERIE_CHECK_EQ(plan.steps.size(), pattern.source.size());
  return plan;
}

bool reads_uses_of_variable(const RulePattern& pattern, const Expr& expr) {
  if (expr.function != nullptr && expr.function->reads_uses &&
      pattern.values[static_cast<size_t>(expr.args[0].index)].producer < 0)
    return true;
  return std::any_of(expr.args.begin(), expr.args.end(),
                     [&](const Expr& arg) { return reads_uses_of_variable(pattern, arg); });
}

/// Pattern values from which `value` is computed, itself included.
void collect_ancestors(const RulePattern& pattern, int value, std::vector<bool>& seen) {
  if (seen[static_cast<size_t>(value)]) return;
  seen[static_cast<size_t>(value)] = true;
  const int producer = pattern.values[static_cast<size_t>(value)].producer;
  if (producer < 0) return;
  for (const int input : pattern.source[static_cast<size_t>(producer)].inputs)
    collect_ancestors(pattern, input, seen);
}

/// Pattern values from which the target computes `value`.
std::vector<bool> leaves_of(const RulePattern& pattern, const TargetValue& value) {
  std::vector<bool> leaves(pattern.values.size(), false);
  std::vector<bool> made(static_cast<size_t>(pattern.target_values), false);
  const auto need = [&](const TargetValue& needed) {
    (needed.source ? leaves : made)[static_cast<size_t>(needed.index)] = true;
  };
  need(value);
  for (auto step = pattern.target.rbegin(); step != pattern.target.rend(); ++step)
    if (std::any_of(step->outputs.begin(), step->outputs.end(),
                    [&](int output) { return made[static_cast<size_t>(output)]; }))
      std::for_each(step->inputs.begin(), step->inputs.end(), need);
  return leaves;
}

/// What stands next to a source operator in the pattern itself.
Neighbours needed_at(const RulePattern& pattern, const SourceOp& op) {
  Neighbours needed;
  const auto sure = [&](int value) { return is_there(pattern.values[static_cast<size_t>(value)]); };
  for (const int value : op.inputs) {
    const int producer = pattern.values[static_cast<size_t>(value)].producer;
    if (producer >= 0 && sure(value))
      needed.producers |= Neighbours::bit(*pattern.source[static_cast<size_t>(producer)].op);
  }
  for (const SourceOp& user : pattern.source)
    for (const int value : user.inputs)
      if (sure(value) && std::find(op.outputs.begin(), op.outputs.end(), value) != op.outputs.end())
        needed.users |= Neighbours::bit(*user.op);
  return needed;
}

std::vector<int> find_risky_values(const RulePattern& pattern) {
  std::vector<int> risky;
  for (const MappedOutput& output : pattern.outputs) {
    std::vector<bool> before(pattern.values.size(), false);
    collect_ancestors(pattern, output.source, before);
    const std::vector<bool> leaves = leaves_of(pattern, output.target);
    for (size_t i = 0; i < leaves.size(); ++i)
      if (leaves[i] && !before[i]) risky.push_back(static_cast<int>(i));
  }
  sort_unique(risky);
  return risky;
}

}  // namespace

Neighbours Neighbours::of(const Graph& graph, NodeId node) {
  constexpr size_t kMostUsers = 64;
  Neighbours result;
  for (const ValueId input : graph.inputs(node))
    if (input.valid()) result.producers |= bit(graph.op(graph.producer(input)));
  for (const ValueId output : graph.outputs(node)) {
    const auto users = graph.users(output);
    if (users.size() > kMostUsers) {
      result.users = ~uint64_t{0};
      break;
    }
    for (const NodeId user : users) result.users |= bit(graph.op(user));
  }
  return result;
}

MatchProgram::MatchProgram(const RuleSet& rules)
    : by_op_(all_ops().size()), sought_anywhere_(all_ops().size(), false) {
  for (int r = 0; r < rules.size(); ++r) {
    MatchRule rule;
    rule.pattern = rules[r].shared_pattern();
    for (const Condition& condition : rule.pattern->conditions) {
      rule.reads_uses = rule.reads_uses || reverie::reads_uses(condition.expr);
      reads_uses_of_variables_ =
          reads_uses_of_variables_ || reads_uses_of_variable(*rule.pattern, condition.expr);
    }
    rule.risky_values = find_risky_values(*rule.pattern);
    for (int op = 0; op < static_cast<int>(rule.pattern->source.size()); ++op) {
      rule.plans.push_back(make_plan(*rule.pattern, op));
      for (const MatchPlan::Step& step : rule.plans.back().steps)
        if (step.via == MatchPlan::Via::kAnywhere) {
          const OpSchema& sought = *rule.pattern->source[static_cast<size_t>(step.op)].op;
          sought_anywhere_[static_cast<size_t>(sought.id)] = true;
        }
      const SourceOp& source = rule.pattern->source[static_cast<size_t>(op)];
      by_op_[static_cast<size_t>(source.op->id)].push_back(
          {r, op, needed_at(*rule.pattern, source)});
    }
    rules_.push_back(std::move(rule));
  }
}

Binding Embedding::binding() const {
  Binding result;
  result.nodes = nodes_;
  result.offsets.reserve(values_.size() + 1);
  for (const auto& values : values_) {
    result.offsets.push_back(static_cast<int32_t>(result.values.size()));
    result.values.insert(result.values.end(), values.begin(), values.end());
  }
  result.offsets.push_back(static_cast<int32_t>(result.values.size()));
  return result;
}

void Matcher::find(const MatchRule& rule, int op, NodeId node, const Filter& filter,
                   const Sink& sink) {
  pattern_ = rule.pattern.get();
  plan_ = &rule.plans[static_cast<size_t>(op)];
  anchor_ = node;
  filter_ = &filter;
  sink_ = &sink;
  embedding_.nodes_.assign(pattern_->source.size(), NodeId{});
  embedding_.values_.resize(pattern_->values.size());
  embedding_.bound_.assign(pattern_->values.size(), 0);
  trail_.clear();
  extend(0);
}

void Matcher::extend(size_t step) {
  if (step == plan_->steps.size()) return (*sink_)(embedding_);
  const MatchPlan::Step& how = plan_->steps[step];
  if (how.via == MatchPlan::Via::kAnchor) return try_node(step, anchor_);
  if (how.via == MatchPlan::Via::kAnywhere) {
    const OpSchema& wanted = *pattern_->source[static_cast<size_t>(how.op)].op;
    if (index_ != nullptr)
      return index_->for_each(wanted, [&](NodeId node) { try_node(step, node); });
    for (const NodeId node : graph_.nodes()) try_node(step, node);
    return;
  }
  const auto values = embedding_.values(how.value);
  if (values.empty() || !values[0].valid()) return;
  const ValueId value = values[0];
  if (how.via == MatchPlan::Via::kProducer) {
    if (classes_ == nullptr) return try_node(step, graph_.producer(value));
    for (const NodeId producer : classes_->producers(value)) try_node(step, producer);
    return;
  }
  const OpSchema* op = pattern_->source[static_cast<size_t>(how.op)].op;
  SmallList<NodeId, 16> candidates;
  for (const NodeId user : graph_.users(value))
    if (&graph_.op(user) == op) candidates.push_back(user);
  std::sort(candidates.begin(), candidates.end());
  const NodeId* last = std::unique(candidates.begin(), candidates.end());
  for (const NodeId* at = candidates.begin(); at != last; ++at) try_node(step, *at);
}

void Matcher::try_node(size_t step, NodeId node) {
  const int index = plan_->steps[step].op;
  const SourceOp& op = pattern_->source[static_cast<size_t>(index)];
  if (&graph_.op(node) != op.op || !(*filter_)(index, node)) return;
  if (std::find(embedding_.nodes_.begin(), embedding_.nodes_.end(), node) !=
      embedding_.nodes_.end())
    return;
  if (!attributes_fit(op, node)) return;
  const Lists lists = alternatives(op, node);
  embedding_.nodes_[static_cast<size_t>(index)] = node;
  for (int in = 0; in < lists.inputs * (lists.swappable ? 2 : 1); ++in)
    for (int out = 0; out < lists.outputs; ++out) {
      const size_t mark = trail_.size();
      if (lay(op.inputs, graph_.inputs(node), lists.swappable ? 0 : in,
              in == 1 && lists.swappable) &&
          lay(op.outputs, outputs(node), out, false))
        extend(step + 1);
      undo(mark);
    }
  embedding_.nodes_[static_cast<size_t>(index)] = {};
}

bool Matcher::attributes_fit(const SourceOp& op, NodeId node) const {
  const Attributes& attributes = graph_.attributes(node);
  const auto fits = [&](const auto& wanted, size_t sample) {
    const AttrValue* value = attributes.find(wanted.first, sample);
    return value != nullptr && same_value(*value, wanted.second);
  };
  return std::all_of(op.attributes.begin(), op.attributes.end(), [&](const auto& wanted) {
    for (size_t sample = 0; sample < attributes.samples(); ++sample)
      if (!fits(wanted, sample)) return false;
    return true;
  });
}

Matcher::Lists Matcher::alternatives(const SourceOp& op, NodeId node) const {
  const auto ways = [&](const std::vector<int>& patterns, size_t actual) {
    const auto sequences = std::count_if(patterns.begin(), patterns.end(), [&](int value) {
      return pattern_->values[static_cast<size_t>(value)].sequence;
    });
    const auto fixed = static_cast<int64_t>(patterns.size()) - sequences;
    const int64_t rest = static_cast<int64_t>(actual) - fixed;
    if (sequences == 0) return rest <= 0 ? 1 : 0;
    if (rest < 0) return 0;
    return sequences == 1 ? 1 : static_cast<int>(rest) + 1;
  };
  Lists lists;
  const auto inputs = graph_.inputs(node);
  lists.inputs = ways(op.inputs, inputs.size());
  lists.outputs = ways(op.outputs, graph_.outputs(node).size());
  lists.swappable = op.op->commutative && inputs.size() == 2 && op.inputs.size() == 2 &&
                    op.inputs[0] != op.inputs[1] && inputs[0] != inputs[1];
  return lists;
}

bool Matcher::lay(const std::vector<int>& patterns, std::span<const ValueId> actual, int way,
                  bool swap) {
  if (swap) {
    return bind(patterns[0], actual.subspan(1, 1)) && bind(patterns[1], actual.subspan(0, 1));
  }
  static constexpr ValueId kAbsent{};
  size_t at = 0;
  bool first = true;  // of up to two sequences: the first takes `way` values, the last the rest
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (!pattern_->values[static_cast<size_t>(patterns[i])].sequence) {
      const bool there = at < actual.size();
      if (!bind(patterns[i], there ? actual.subspan(at, 1) : std::span(&kAbsent, 1))) return false;
      at += there ? 1 : 0;
      continue;
    }
    const auto later = std::find_if(
        patterns.begin() + static_cast<int64_t>(i) + 1, patterns.end(),
        [&](int value) { return pattern_->values[static_cast<size_t>(value)].sequence; });
    const size_t fixed_after = patterns.size() - i - 1;
    const size_t take = first && later != patterns.end() ? static_cast<size_t>(way)
                                                         : actual.size() - at - fixed_after;
    if (!bind(patterns[i], actual.subspan(at, take))) return false;
    at += take;
    first = false;
  }
  return at == actual.size();
}

bool Matcher::bind(int value, std::span<const ValueId> actual) {
  const PatternValue& pattern = pattern_->values[static_cast<size_t>(value)];
  if (!pattern.sequence && !actual[0].valid() && !pattern.optional) return false;
  std::span<const ValueId>& values = embedding_.values_[static_cast<size_t>(value)];
  if (embedding_.bound_[static_cast<size_t>(value)])
    return std::equal(values.begin(), values.end(), actual.begin(), actual.end());
  values = actual;
  embedding_.bound_[static_cast<size_t>(value)] = 1;
  trail_.push_back(value);
  return true;
}

void Matcher::undo(size_t mark) {
  while (trail_.size() > mark) {
    embedding_.bound_[static_cast<size_t>(trail_.back())] = 0;
    trail_.pop_back();
  }
}

}  // namespace reverie
