#include "env/rewrite/optimize/path_steps.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/rules/no_cost.h"
#include "env/rewrite/optimize/accepted_path.h"

namespace reverie {
namespace {

/// Those that are operators, in the order of the state's graph, in which they are.
std::vector<NodeId> work_in_order(const RewriteState& state, std::vector<NodeId> nodes) {
  const Graph& graph = state.graph();
  std::erase_if(nodes, [&](NodeId node) { return !graph.alive(node) || !graph.is_work(node); });
  state.put_in_order(nodes);
  return nodes;
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
    const RewriteState before = state;
    NodesChanged changed = state.commit(state.propose(state.location(step.rule, step.location)));
    visit({own->name(step.rule), before.graph(), state.graph(),
           work_in_order(before, std::move(changed.removed)),
           work_in_order(state, std::move(changed.added))});
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
