#include "core/rulekit/taso/derive.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/rules/no_cost.h"
#include "core/rules/rewrite_state.h"

namespace reverie::taso {
namespace {

class Expressions {
 public:
  explicit Expressions(const Graph& graph)
      : graph_(graph), known_(static_cast<size_t>(graph.value_capacity())) {}

  const std::string& of(ValueId value) {
    static const std::string kAbsent = "-";
    if (!value.valid()) return kAbsent;
    std::string& text = known_[static_cast<size_t>(value.index)];
    if (text.empty()) text = write(value);
    return text;
  }

 private:
  std::string write(ValueId value) {
    const NodeId node = graph_.producer(value);
    const OpSchema& op = graph_.op(node);
    if (&op == &input_op()) return graph_.input_name(node);
    if (const WeightPtr& weight = graph_.weight(node); weight != nullptr)
      return fmt::format("{:x}", weight->identity());
    std::vector<std::string> inputs;
    for (const ValueId input : graph_.inputs(node)) inputs.push_back(of(input));
    if (op.is("Add") || op.is("Mul")) std::sort(inputs.begin(), inputs.end());
    const auto outputs = graph_.outputs(node);
    const auto output = std::find(outputs.begin(), outputs.end(), value) - outputs.begin();
    return fmt::format("{}.{}[{:x}]({})", op.name, output, graph_.attributes(node).hash(),
                       fmt::join(inputs, ","));
  }

  const Graph& graph_;
  std::vector<std::string> known_;
};

/// Rewrites one after another; where costs play no part.
class Walker {
 public:
  explicit Walker(std::shared_ptr<const RuleSet> library)
      : library_(std::move(library)), cost_(std::make_shared<NoCost>()) {}

  RewriteState state(const Graph& graph) const { return {graph, library_, cost_}; }
  static RewriteState after(const RewriteState& state, const Match& match) {
    RewriteState next = state;
    next.commit(next.propose(match));
    return next;
  }

 private:
  std::shared_ptr<const RuleSet> library_;
  std::shared_ptr<CostModel> cost_;
};

/// The same graph with every operator's result used once.
Graph unshared(const Graph& graph) {
  Graph result;
  std::map<ValueId, ValueId> leaves;
  for (const NodeId input : graph.inputs())
    leaves[graph.outputs(input)[0]] =
        result.add_input(graph.input_name(input), graph.type(graph.outputs(input)[0]));
  const auto copy = [&](const auto& self, ValueId value) -> ValueId {
    if (!value.valid()) return value;
    if (const auto leaf = leaves.find(value); leaf != leaves.end()) return leaf->second;
    const NodeId node = graph.producer(value);
    if (const WeightPtr& weight = graph.weight(node); weight != nullptr)
      return leaves[value] = result.add_constant(weight);
    std::vector<ValueId> inputs;
    for (const ValueId input : graph.inputs(node)) inputs.push_back(self(self, input));
    const NodeId made = result.add_node(graph.op(node), inputs, graph.attributes(node));
    const auto outputs = graph.outputs(node);
    return result.outputs(made)[static_cast<size_t>(
        std::find(outputs.begin(), outputs.end(), value) - outputs.begin())];
  };
  for (const GraphOutput& output : graph.outputs())
    result.add_output(output.name, copy(copy, output.value));
  return result;
}

std::vector<std::string> operators_of(const Graph& graph, const Match& match) {
  std::vector<std::string> names;
  for (const NodeId node : match.nodes()) names.push_back(graph.op(node).name);
  return names;
}

/// All graphs within some steps of one end.
class Side {
 public:
  Side(const Walker& walker, const Graph& start, bool backward) : backward_(backward) {
    add(walker.state(start), -1, {});
    add(walker.state(unshared(start)), 0, {DerivationStep::kUnshare, 0, {}, backward});
  }

  const std::map<std::string, int>& known() const { return known_; }
  size_t frontier() const { return visits_.size() - level_; }
  size_t states() const { return visits_.size(); }
  /// Of any graph so far.
  int most_nodes() const {
    int most = 0;
    for (const auto& seen : seen_) most = std::max(most, seen.second);
    return most;
  }

  /// One step more from everything that is new. The expressions met on the other side, first found
  /// first; false once `most_states` are visited.
  std::optional<std::string> expand(const Side& other, int most_nodes, size_t most_states) {
    const size_t end = visits_.size();
    for (; level_ < end; ++level_) {
      const RewriteState state = *visits_[level_].state;
      visits_[level_].state.reset();
      for (int rule = 0; rule < state.rules().size(); ++rule) {
        const auto& locations = state.locations(rule);
        for (size_t i = 0; i < locations.size(); ++i) {
          if (states() + other.states() >= most_states) return {};
          const RewriteState next = Walker::after(state, locations[i]);
          if (next.graph().node_count() > most_nodes) continue;
          const std::string* expression =
              add(next, static_cast<int>(level_),
                  {state.rules().name(rule), static_cast<int>(i),
                   operators_of(state.graph(), locations[i]), backward_});
          if (expression != nullptr && other.known_.contains(*expression)) return *expression;
        }
      }
    }
    return {};
  }

  /// The steps from this end to that expression.
  std::vector<DerivationStep> path(const std::string& expression) const {
    std::vector<DerivationStep> steps;
    for (int at = known_.at(expression); visits_[static_cast<size_t>(at)].parent >= 0;
         at = visits_[static_cast<size_t>(at)].parent)
      steps.push_back(visits_[static_cast<size_t>(at)].step);
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

 private:
  struct Visit {
    std::optional<RewriteState> state;  // until it is expanded
    int parent = -1;
    DerivationStep step;
  };

  /// The expression where it is new on this side. What shares more is another graph to go on from.
  const std::string* add(const RewriteState& state, int parent, DerivationStep step) {
    std::string expression = expression_of(state.graph());
    if (!seen_.emplace(expression, state.graph().node_count()).second) return nullptr;
    const auto at = known_.emplace(std::move(expression), static_cast<int>(visits_.size())).first;
    visits_.push_back({state, parent, std::move(step)});
    return &at->first;
  }

  bool backward_;
  std::vector<Visit> visits_;
  size_t level_ = 0;  // the first visit that is not expanded
  std::set<std::pair<std::string, int>> seen_;
  std::map<std::string, int> known_;  // the first visit of an expression
};

/// Graphs, by their expressions, that those steps lead to one after another.
std::set<std::string> reached(const Walker& walker, const Graph& start,
                              const std::vector<std::string>& rules) {
  constexpr size_t kMostGraphs = 2000;
  const bool copies = !rules.empty() && rules[0] == DerivationStep::kUnshare;
  std::map<std::string, RewriteState> graphs;
  graphs.emplace(expression_of(start), walker.state(copies ? unshared(start) : start));
  for (const std::string& name : rules) {
    if (name == DerivationStep::kUnshare) continue;
    std::map<std::string, RewriteState> next;
    for (const auto& [expression, state] : graphs)
      for (const Match& match : state.locations(state.rules().find(name))) {
        if (next.size() >= kMostGraphs) break;
        RewriteState after = Walker::after(state, match);
        next.emplace(expression_of(after.graph()), std::move(after));
      }
    graphs = std::move(next);
  }
  std::set<std::string> result;
  for (const auto& entry : graphs) result.insert(entry.first);
  return result;
}

}  // namespace

std::string expression_of(const Graph& graph) {
  Expressions expressions(graph);
  std::string text;
  for (const GraphOutput& output : graph.outputs())
    text += fmt::format("{} = {}\n", output.name, expressions.of(output.value));
  return text;
}

Derivation derive(const Graph& source, const Graph& target,
                  const std::shared_ptr<const RuleSet>& library, const DerivationLimits& limits) {
  const Walker walker(library);
  Side forward(walker, source, false), backward(walker, target, true);
  const int most_nodes = std::max(forward.most_nodes(), backward.most_nodes()) + limits.more_nodes;
  const std::string start = expression_of(source);
  std::optional<std::string> meeting;
  if (backward.known().contains(start)) meeting = start;
  for (int step = 0; step < limits.steps && !meeting; ++step) {
    const bool ahead = backward.frontier() == 0 ||
                       (forward.frontier() > 0 && forward.frontier() <= backward.frontier());
    Side& side = ahead ? forward : backward;
    if (side.frontier() == 0 ||
        forward.states() + backward.states() >= static_cast<size_t>(limits.states))
      break;
    meeting =
        side.expand(ahead ? backward : forward, most_nodes, static_cast<size_t>(limits.states));
  }
  Derivation result{{}, static_cast<int>(forward.states() + backward.states())};
  if (!meeting) return result;
  result.chain = forward.path(*meeting);
  const std::vector<DerivationStep> rest = backward.path(*meeting);
  result.chain->insert(result.chain->end(), rest.rbegin(), rest.rend());
  return result;
}

bool confirms(const std::vector<DerivationStep>& chain, const Graph& source, const Graph& target,
              const RuleSet& library) {
  std::vector<std::string> forward, backward;
  for (const DerivationStep& step : chain)
    (step.backward ? backward : forward).push_back(step.rule);
  std::reverse(backward.begin(), backward.end());
  std::set<std::string> used(forward.begin(), forward.end());
  used.insert(backward.begin(), backward.end());
  used.erase(DerivationStep::kUnshare);
  const std::vector<std::string> names(used.begin(), used.end());
  const Walker walker(std::make_shared<const RuleSet>(library.subset(names)));
  const std::set<std::string> ends = reached(walker, target, backward);
  for (const std::string& expression : reached(walker, source, forward))
    if (ends.contains(expression)) return true;
  return false;
}

}  // namespace reverie::taso
