#include "env/placement/graph/kernel_cost.h"

#include <algorithm>

#include "core/base/error.h"

namespace reverie {

bool starts_kernel(const CostGraph& graph, int node) {
  for (size_t kind = 0; kind < graph.kinds().size(); ++kind)
    if (graph.cost(node, static_cast<int>(kind)).count > 0) return true;
  return false;
}

int64_t moved_bytes(const CostGraph& graph, const std::vector<int>& nodes) {
  const auto is_inside = [&](int node) { return std::ranges::binary_search(nodes, node); };
  std::vector<int> read;
  const auto is_read_again = [&](int tensor) {
    if (std::ranges::find(read, tensor) != read.end()) return true;
    read.push_back(tensor);
    return false;
  };
  int64_t moved = 0;
  for (const int node : nodes) {
    int64_t saved = 0;
    for (const int number : graph.inputs(node)) {
      const CostTensor& tensor = graph.tensors()[static_cast<size_t>(number)];
      if (is_inside(tensor.producer) || is_read_again(number)) saved += tensor.bytes;
    }
    const auto [first, last] = graph.outputs(node);
    for (int number = first; number < last; ++number) {
      const CostTensor& tensor = graph.tensors()[static_cast<size_t>(number)];
      if (!tensor.readers.empty() && std::ranges::all_of(tensor.readers, is_inside))
        saved += tensor.bytes;
    }
    // A node may move less than its tensors hold: a gather reads no more than it writes.
    moved += std::max<int64_t>(0, graph.parts()->moved_bytes[static_cast<size_t>(node)] - saved);
  }
  return moved;
}

Picoseconds arithmetic_time(const CostGraph& graph, int node, int kind) {
  return graph.parts()
      ->arithmetic[static_cast<size_t>(node) * graph.kinds().size() + static_cast<size_t>(kind)];
}

Picoseconds arithmetic_time(const CostGraph& graph, const std::vector<int>& nodes, int kind) {
  Picoseconds time;
  for (const int node : nodes) time += arithmetic_time(graph, node, kind);
  return time;
}

Picoseconds kernel_time(const CostGraph& graph, const std::vector<int>& nodes, int kind) {
  if (nodes.size() == 1) return graph.cost(nodes[0], kind);
  const CostParts::Kind& device = graph.parts()->kinds[static_cast<size_t>(kind)];
  const auto memory = Picoseconds::from_seconds(static_cast<double>(moved_bytes(graph, nodes)) /
                                                device.bytes_per_second);
  return device.launch + std::max(arithmetic_time(graph, nodes, kind), memory);
}

bool is_bound_by_arithmetic(const CostGraph& graph, int node, int kind) {
  const CostParts& parts = *graph.parts();
  return arithmetic_time(graph, node, kind).seconds() *
             parts.kinds[static_cast<size_t>(kind)].bytes_per_second >
         static_cast<double>(parts.moved_bytes[static_cast<size_t>(node)]);
}

Picoseconds weight_time(const CostGraph& graph, int node, int kind) {
  int64_t bytes = graph.parts()->moved_bytes[static_cast<size_t>(node)];
  for (const int number : graph.inputs(node))
    bytes -= graph.tensors()[static_cast<size_t>(number)].bytes;
  const auto [first, last] = graph.outputs(node);
  for (int number = first; number < last; ++number)
    bytes -= graph.tensors()[static_cast<size_t>(number)].bytes;
  const CostParts::Kind& device = graph.parts()->kinds[static_cast<size_t>(kind)];
  return Picoseconds::from_seconds(static_cast<double>(std::max<int64_t>(0, bytes)) /
                                   device.bytes_per_second);
}

void require_parts(const CostGraph& graph) {
  if (!graph.parts())
    throw InputError(
        "'{}' cannot be fused: it gives costs, but not what they are made of ('kinds', "
        "'arithmetic_us' and 'moved_bytes')",
        graph.name());
}

}  // namespace reverie
