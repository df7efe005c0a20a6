#include "core/exec/graph_interface.h"

#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <set>

#include "core/base/error.h"

namespace reverie {

GraphInterface::GraphInterface(const Graph& graph) {
  for (const NodeId input : graph.inputs()) {
    input_types.push_back(graph.type(graph.output(input)));
    input_names.push_back(graph.input_name(input));
  }
  for (const GraphOutput& output : graph.outputs())
    output_types.push_back(graph.type(output.value));
}

void GraphInterface::check(std::span<const Tensor> tensors) const {
  if (tensors.size() != input_types.size())
    throw InputError("the graph has {} inputs, but {} tensors were given", input_types.size(),
                     tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].type() != input_types[i])
      throw InputError("input '{}' should be {}, not {}", input_names[i], to_string(input_types[i]),
                       to_string(tensors[i].type()));
}

void say_fallback(std::string_view executor, const std::string& op) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  const std::string line =
      fmt::format("{} executor: some {} runs on the reference kernels (slow)\n", executor, op);
  if (said.insert(line).second) fmt::print(stderr, "{}", line);
}

}  // namespace reverie
