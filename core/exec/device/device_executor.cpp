#include "core/exec/device/device_executor.h"

#include "core/exec/device/builder.h"
#include "core/exec/node_graph.h"

namespace reverie {

bool DeviceExecutor::has_kernel(const OpSchema& op) { return device::find_lowering(op) != nullptr; }

bool DeviceExecutor::supports(const Graph& graph, NodeId node) const {
  const OpSchema& op = graph.op(node);
  if (&op == &input_op() || &op == &constant_op()) return true;
  if (&op == &opaque_op()) return false;
  const Graph single = node_graph(op, graph.shared_attributes(node), input_types(graph, node),
                                  output_types(graph, node));
  device::Builder builder(single, *device_, materialized);
  builder.build();
  return builder.fallbacks.empty();
}

std::vector<Tensor> DeviceExecutor::run(const Graph& graph, std::span<const Tensor> inputs,
                                        const WeightSource& weights) {
  DevicePlan plan(*device_, graph, weights, poison_);
  for (const auto& [op, count] : plan.fallbacks()) fallbacks_[op] += count;
  return plan.run(inputs);
}

}  // namespace reverie
