#include "core/cost/graph_summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/exec/device/fuse.h"

namespace reverie {
namespace {

/// Constant values that a non-constant node or an output uses.
int64_t stored_weights(const Graph& graph) {
  int64_t count = 0;
  for (const NodeId node : graph.nodes()) {
    if (!graph.is_constant(node)) continue;
    for (const ValueId value : graph.outputs(node)) {
      const auto users = graph.users(value);
      count += graph.is_output(value) || std::any_of(users.begin(), users.end(), [&](NodeId user) {
                 return !graph.is_constant(user);
               });
    }
  }
  return count;
}

std::map<std::string, OperatorTotal> totals_by_name(const Graph& graph, CostModel& model) {
  std::map<std::string, OperatorTotal> totals;
  for (const NodeId node : graph.nodes()) {
    if (!graph.is_work(node)) continue;
    const bool opaque = &graph.op(node) == &opaque_op();
    const std::string name =
        opaque ? fmt::format("({})", graph.attributes(node).text("op", "")) : graph.op(node).name;
    OperatorTotal& total = totals[name];
    total.name = name;
    ++total.nodes;
    total.cost += node_cost(model, graph, node);
  }
  return totals;
}

}  // namespace

GraphSummary summarize(const Graph& graph, CostModel& model) {
  GraphSummary summary;
  for (const NodeId input : graph.inputs())
    summary.inputs.emplace_back(graph.input_name(input), graph.type(graph.output(input)));
  for (const GraphOutput& output : graph.outputs())
    summary.outputs.emplace_back(output.name, graph.type(output.value));
  for (const NodeId node : graph.nodes()) {
    if (!graph.is_work(node)) continue;
    ++summary.nodes;
    summary.opaque_nodes += &graph.op(node) == &opaque_op();
  }
  const auto totals = totals_by_name(model.fuses() ? fused(graph) : graph, model);
  for (const auto& [name, total] : totals) {
    summary.operators.push_back(total);
    summary.cost += total.cost;
  }
  std::stable_sort(summary.operators.begin(), summary.operators.end(),
                   [](const OperatorTotal& a, const OperatorTotal& b) {
                     return a.cost.runtime > b.cost.runtime;
                   });
  summary.weights = stored_weights(graph);
  summary.weight_bytes = graph.weight_bytes();
  return summary;
}

}  // namespace reverie
