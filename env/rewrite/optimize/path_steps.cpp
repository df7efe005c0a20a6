#include "env/rewrite/optimize/path_steps.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "core/rules/no_cost.h"
#include "env/rewrite/optimize/accepted_path.h"

namespace reverie {
namespace {

std::vector<NodeId> work_of(const Graph& graph) {
  std::vector<NodeId> nodes = graph.nodes();
  std::erase_if(nodes, [&](NodeId node) { return !graph.is_work(node); });
  return nodes;
}

/// Those of `nodes` that `others` lacks, in the order of the graph that has them.
std::vector<NodeId> only_in(const Graph& graph, const std::vector<NodeId>& nodes,
                            const std::vector<NodeId>& others) {
  std::vector<NodeId> rest;
  std::ranges::set_difference(nodes, others, std::back_inserter(rest));
  std::vector<NodeId> ordered = graph.topological_order();
  std::erase_if(ordered, [&](NodeId node) { return !std::ranges::binary_search(rest, node); });
  return ordered;
}

/// Those alone that the path needs.
std::shared_ptr<const RuleSet> used_rules(const RuleSet& rules, std::span<const RewriteStep> path) {
  std::set<std::string> used;
  for (const RewriteStep& step : path) used.insert(rules.name(step.rule));
  return std::make_shared<const RuleSet>(
      rules.subset(std::vector<std::string>(used.begin(), used.end())));
}

}  // namespace

Graph for_each_step(const Graph& start, const RuleSet& rules, std::span<const RewriteStep> path,
                    const std::function<void(const PathStep&)>& visit) {
  if (path.empty()) return start;
  const auto own = used_rules(rules, path);
  std::vector<RewriteStep> steps(path.begin(), path.end());
  rename_rules(steps, rules, *own);
  RewriteState state(start, own, std::make_shared<NoCost>());
  for (const RewriteStep& step : steps) {
    const Graph before = state.graph();
    state.commit(state.propose(state.location(step.rule, step.location)));
    const std::vector<NodeId> old = work_of(before), now = work_of(state.graph());
    visit({own->name(step.rule), before, state.graph(), only_in(before, old, now),
           only_in(state.graph(), now, old)});
  }
  return state.graph();
}

NodeId predecessor(const PathStep& step, NodeId came) {
  const auto alike = std::ranges::find_if(
      step.left, [&](NodeId old) { return &step.before.op(old) == &step.after.op(came); });
  if (alike != step.left.end()) return *alike;
  return step.left.empty() ? NodeId{} : step.left.back();
}

}  // namespace reverie
