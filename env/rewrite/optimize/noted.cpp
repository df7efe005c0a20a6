#include "env/rewrite/optimize/noted.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <set>

#include "core/ir/structural_hash.h"
#include "core/onnx/lower.h"
#include "core/onnx/note_keys.h"
#include "env/rewrite/optimize/file_cost.h"
#include "env/rewrite/optimize/path_steps.h"

namespace reverie {
namespace {

NodeNotes notes_of(const Graph& graph, NodeId node) {
  return graph.names(node) == nullptr ? NodeNotes() : graph.names(node)->notes;
}

void set_notes(Graph& graph, NodeId node, NodeNotes notes) {
  NodeNames names = graph.names(node) == nullptr ? NodeNames() : *graph.names(node);
  names.notes = std::move(notes);
  graph.set_names(node, std::make_shared<const NodeNames>(std::move(names)));
}

std::set<std::string> fusions_of(const RuleSet& rules, std::span<const RewriteStep> path) {
  std::set<std::string> used, fusions;
  for (const RewriteStep& step : path) used.insert(rules.name(step.rule));
  const RuleSet unseen =
      fusions_among(rules.subset(std::vector<std::string>(used.begin(), used.end())));
  for (int i = 0; i < unseen.size(); ++i) fusions.insert(unseen.name(i));
  return fusions;
}

/// What a node tells, and each of the nodes that it carries (carried_nodes).
struct Origin {
  NodeNotes notes;
  std::vector<NodeNotes> carried;
};

/// Of nodes that rewrites brought.
class Origins {
 public:
  const Origin* find(NodeId node) const {
    const auto known = origins_.find(node);
    return known == origins_.end() ? nullptr : &known->second;
  }
  Origin of(const Graph& graph, NodeId node) const {
    const Origin* known = find(node);
    return known != nullptr
               ? *known
               : Origin{notes_of(graph, node), std::vector<NodeNotes>(carried_nodes(graph, node))};
  }
  void add_rewritten(const PathStep& step, NodeId node) {
    const NodeNotes notes = {{kRuleNote, step.rule}};
    origins_[node] = {notes, std::vector(carried_nodes(step.after, node), notes)};
  }
  /// What its predecessor was, which now carries the last that left, too.
  void add_fused(const PathStep& step, NodeId node) {
    Origin origin = of(step.before, predecessor(step, node));
    origin.carried.resize(carried_nodes(step.after, node), of(step.before, step.left.back()).notes);
    origins_[node] = std::move(origin);
  }

 private:
  std::map<NodeId, Origin> origins_;
};

/// The end of the path.
Graph follow(const Graph& start, const RuleSet& rules, std::span<const RewriteStep> path,
             Origins& origins) {
  const std::set<std::string> fusions = fusions_of(rules, path);
  return for_each_step(start, rules, path, [&](const PathStep& step) {
    const bool is_fusion = fusions.contains(step.rule) && !step.left.empty();
    for (const NodeId node : step.came)
      is_fusion ? origins.add_fused(step, node) : origins.add_rewritten(step, node);
  });
}

/// Operators as a file has them, with their notes.
Graph spelled(Graph graph, const Origins& origins) {
  for (const NodeId node : graph.nodes()) {
    if (!graph.is_work(node)) continue;
    const Origin origin = origins.of(graph, node);
    if (origin.carried.empty()) {
      if (origins.find(node) != nullptr) set_notes(graph, node, origin.notes);
      continue;
    }
    const std::vector<ValueId> inputs(graph.inputs(node).begin(), graph.inputs(node).end());
    const auto [product, value] =
        spell_product(graph, graph.op(node), inputs, graph.attributes(node));
    set_notes(graph, product, origin.notes);
    for (size_t i = 0; i < origin.carried.size(); ++i)
      set_notes(graph, {product.index + 1 + static_cast<int32_t>(i)}, origin.carried[i]);
    graph.replace_all_uses(graph.output(node), value);
    graph.erase_if_dead(node);
  }
  return graph.compacted();
}

void add_costs(Graph& graph, CostModel& cost) {
  constexpr double kMicrosecond = 1e3;  // in milliseconds
  for (const NodeId node : graph.nodes()) {
    if (!graph.is_work(node) || &graph.op(node) == &opaque_op()) continue;
    const Cost of_node = node_cost(cost, graph, node);
    const bool is_estimate = of_node.estimated != Picoseconds{};
    NodeNotes notes = notes_of(graph, node);
    notes.emplace_back(kCostNote,
                       fmt::format("{:.3f}", kMicrosecond * of_node.runtime.milliseconds()));
    notes.emplace_back(kCostSourceNote, cost.name() + (is_estimate ? " (estimated)" : ""));
    set_notes(graph, node, std::move(notes));
  }
}

}  // namespace

Graph noted(const Graph& best, const Graph& start, std::span<const RewriteStep> path,
            const NoteSources& sources) {
  Origins origins;
  const Graph end = follow(start, sources.rules, path, origins);
  Graph result = isomorphic(end, best) ? spelled(end, origins) : spelled(best, Origins());
  add_costs(result, sources.cost);
  return result;
}

}  // namespace reverie
