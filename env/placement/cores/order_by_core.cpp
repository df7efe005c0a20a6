#include "core/exec/draw.h"
#include "env/placement/cores/model_on_cores.h"

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

std::vector<std::vector<int>> order_by_core(const Timeline& timeline, int cores) {
  std::vector<std::vector<int>> order(static_cast<size_t>(cores));
  for (const Timeline::Run& run : timeline.runs)
    order[static_cast<size_t>(run.device)].push_back(run.node);
  return order;
}

}  // namespace reverie
