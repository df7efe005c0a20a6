#include "env/rewrite/optimize/applied_rewrites.h"

#include <map>

#include "env/rewrite/optimize/file_cost.h"
#include "env/rewrite/optimize/path_steps.h"

namespace reverie {
namespace {

/// Follows names along a path.
class Names {
 public:
  /// Empty: it has none.
  std::string of(const Graph& graph, NodeId node) const {
    if (const auto known = inherited_.find(node); known != inherited_.end()) return known->second;
    const auto& names = graph.names(node);
    return names == nullptr ? "" : names->node;
  }
  /// What came is called as what left.
  void inherit(const PathStep& step) {
    for (const NodeId node : step.came)
      if (const NodeId old = predecessor(step, node); old.valid())
        inherited_[node] = of(step.before, old);
  }

 private:
  std::map<NodeId, std::string> inherited_;
};

AppliedRewrite difference(const PathStep& step, CostModel& cost, Names& names) {
  AppliedRewrite result;
  for (const NodeId node : step.left) {
    result.before.push_back(operator_name(step.before, node));
    if (std::string name = names.of(step.before, node); !name.empty())
      result.nodes.push_back(std::move(name));
    result.saved += node_cost(cost, step.before, node).runtime;
  }
  for (const NodeId node : step.came) {
    result.after.push_back(operator_name(step.after, node));
    result.saved -= node_cost(cost, step.after, node).runtime;
  }
  names.inherit(step);
  return result;
}

}  // namespace

std::vector<AppliedRewrite> applied_rewrites(const Graph& start, const RuleSet& rules,
                                             CostModel& cost, std::span<const RewriteStep> path) {
  Names names;
  std::vector<AppliedRewrite> result;
  for_each_step(start, rules, path, [&](const PathStep& step) {
    result.push_back(difference(step, cost, names));
    result.back().rule = path[result.size() - 1].rule;
  });
  return result;
}

}  // namespace reverie
