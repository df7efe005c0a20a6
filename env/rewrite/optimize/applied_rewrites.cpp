#include "env/rewrite/optimize/applied_rewrites.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "core/rules/no_cost.h"
#include "env/rewrite/optimize/accepted_path.h"
#include "env/rewrite/optimize/file_cost.h"

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

/// Follows names along a path.
class Names {
 public:
  /// Empty: it has none.
  std::string of(const Graph& graph, NodeId node) const {
    if (const auto known = inherited_.find(node); known != inherited_.end()) return known->second;
    const auto& names = graph.names(node);
    return names == nullptr ? "" : names->node;
  }
  /// What came is called as what left, by preference one of its operator.
  void inherit(const Graph& before, const std::vector<NodeId>& left, const Graph& after,
               const std::vector<NodeId>& came) {
    std::map<NodeId, std::string> own;
    for (const NodeId node : came) {
      const auto alike = std::ranges::find_if(
          left, [&](NodeId old) { return &before.op(old) == &after.op(node); });
      if (alike != left.end())
        own[node] = of(before, *alike);
      else if (!left.empty())
        own[node] = of(before, left.back());
    }
    inherited_.merge(own);
  }

 private:
  std::map<NodeId, std::string> inherited_;
};

AppliedRewrite difference(const Graph& before, const Graph& after, CostModel& cost, Names& names) {
  const std::vector<NodeId> old = work_of(before), now = work_of(after);
  const std::vector<NodeId> left = only_in(before, old, now), came = only_in(after, now, old);
  AppliedRewrite result;
  for (const NodeId node : left) {
    result.before.push_back(operator_name(before, node));
    if (std::string name = names.of(before, node); !name.empty())
      result.nodes.push_back(std::move(name));
    result.saved += node_cost(cost, before, node).runtime;
  }
  for (const NodeId node : came) {
    result.after.push_back(operator_name(after, node));
    result.saved -= node_cost(cost, after, node).runtime;
  }
  names.inherit(before, left, after, came);
  return result;
}

}  // namespace

std::vector<AppliedRewrite> applied_rewrites(const Graph& start, const RuleSet& rules,
                                             CostModel& cost, std::span<const RewriteStep> path) {
  if (path.empty()) return {};
  std::set<std::string> used;
  for (const RewriteStep& step : path) used.insert(rules.name(step.rule));
  const auto own = std::make_shared<const RuleSet>(
      rules.subset(std::vector<std::string>(used.begin(), used.end())));
  std::vector<RewriteStep> steps(path.begin(), path.end());
  rename_rules(steps, rules, *own);
  RewriteState state(start, own, std::make_shared<NoCost>());
  Names names;
  std::vector<AppliedRewrite> result;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Graph before = state.graph();
    state.commit(state.propose(state.location(steps[i].rule, steps[i].location)));
    result.push_back(difference(before, state.graph(), cost, names));
    result.back().rule = path[i].rule;
  }
  return result;
}

}  // namespace reverie
