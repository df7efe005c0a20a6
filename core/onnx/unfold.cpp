#include "core/onnx/unfold.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/ir/formula.h"
#include "core/onnx/exporter.h"
#include "core/onnx/lower.h"

namespace reverie {
namespace {

bool is_one_number(const Weight& weight) { return is_formula(weight) && weight.is_fill(); }

int64_t least_bytes(const Weight& weight) {
  return is_one_number(weight) ? size_of(weight.type().dtype) : weight.least_bytes();
}

struct Candidate {
  NodeId node;
  int64_t saved = 0;  ///< bytes
};

struct Plan {
  std::vector<NodeId> replaced;
  int64_t bytes = 0;  ///< of the weights that are left
};

bool is_stored(const Graph& graph, ValueId value) {
  return graph.is_output(value) || std::ranges::any_of(graph.users(value), [&](NodeId user) {
           return !graph.is_constant(user);
         });
}

/// The largest first, so that few are replaced.
Plan plan_for(const Graph& graph, int64_t max_bytes) {
  Plan plan;
  std::vector<Candidate> candidates;
  plan.bytes = graph.weight_bytes();
  for (const NodeId node : graph.topological_order()) {
    const WeightPtr& weight = graph.weight(node);
    if (weight == nullptr || !is_stored(graph, graph.output(node))) continue;
    const int64_t bytes = weight->type().bytes();
    const bool is_written_short = is_one_number(*weight) && bytes > proto::kLargestStoredFill;
    plan.bytes += (is_written_short ? least_bytes(*weight) : bytes) - weight->least_bytes();
    const int64_t saved = bytes - least_bytes(*weight);
    if (saved > 0 && !is_written_short) candidates.push_back({node, saved});
  }
  std::ranges::stable_sort(candidates, std::ranges::greater(), &Candidate::saved);
  for (const Candidate& candidate : candidates) {
    if (plan.bytes <= max_bytes) break;
    plan.replaced.push_back(candidate.node);
    plan.bytes -= candidate.saved;
  }
  return plan;
}

ValueId add_expression(const Weight& weight, Graph& graph);

ValueId add_copy(const Graph& expression, Graph& graph) {
  std::unordered_map<ValueId, ValueId> image;
  for (const NodeId node : expression.topological_order()) {
    if (const WeightPtr& weight = expression.weight(node)) {
      image[expression.output(node)] = weight->expression() != nullptr
                                           ? add_expression(*weight, graph)
                                           : graph.add_constant(weight);
      continue;
    }
    std::vector<ValueId> inputs;
    for (const ValueId input : expression.inputs(node))
      inputs.push_back(input.valid() ? image.at(input) : ValueId());
    const NodeId copy =
        graph.add_node(expression.op(node), inputs, expression.shared_attributes(node),
                       output_types(expression, node));
    for (size_t i = 0; i < expression.outputs(node).size(); ++i)
      image[expression.outputs(node)[i]] = graph.output(copy, static_cast<int>(i));
  }
  return image.at(expression.outputs()[0].value);
}

ValueId add_expression(const Weight& weight, Graph& graph) {
  if (!is_one_number(weight)) return add_copy(*weight.expression(), graph);
  const ValueId number =
      graph.add_constant(Weight::constant({weight.type().dtype, {1}}, weight.fill_value()));
  return graph.add("Expand", {number}, {{"shape", weight.type().shape}});
}

}  // namespace

Graph unfolded(Graph graph, int64_t max_bytes) {
  const Plan plan = plan_for(graph, max_bytes);
  for (const NodeId node : plan.replaced) {
    const WeightPtr weight = graph.weight(node);
    const ValueId computed = add_expression(*weight, graph);
    const std::vector<std::string> names = {weight->name()};
    graph.set_names(graph.producer(computed),
                    std::make_shared<const NodeNames>(NodeNames{"", names}));
    graph.replace_all_uses(graph.output(node), computed);
    graph.erase_if_dead(node);
  }
  return plan.replaced.empty() ? graph : graph.compacted();
}

int64_t bytes_in_a_file(const Graph& graph, int64_t max_bytes) {
  return plan_for(lower(graph, false), max_bytes).bytes;
}

}  // namespace reverie
