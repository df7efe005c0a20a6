#include "env/placement/machine/model_on_devices.h"

#include "core/exec/draw.h"

namespace reverie {

std::vector<Tensor> drawn_inputs(const Graph& model, uint64_t seed) {
  const Graph* const graphs[] = {&model};
  const DrawPlan plan(graphs);
  std::vector<Tensor> inputs;
  for (const NodeId input : model.inputs()) {
    const TensorType& type = model.type(model.output(input));
    inputs.push_back(draw(type, plan.input(model.input_name(input)), Rng(seed).fork(inputs.size()))
                         .cast(type.dtype));
  }
  return inputs;
}

OrderByDevice order_by_device(const Timeline& timeline, int devices) {
  OrderByDevice order(static_cast<size_t>(devices));
  for (const Timeline::Run& run : timeline.runs)
    order[static_cast<size_t>(run.device)].push_back(run.node);
  return order;
}

CostGraph with_costs(const CostGraph& graph, const std::string& kind,
                     std::vector<Picoseconds> costs) {
  return CostGraph(graph.name(), {kind}, graph.nodes(), std::move(costs), graph.tensors());
}

std::vector<Picoseconds> costs_of(const CostGraph& graph) {
  std::vector<Picoseconds> costs;
  for (int node = 0; node < graph.size(); ++node) costs.push_back(graph.cost(node, 0));
  return costs;
}

}  // namespace reverie
