#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/cost/cost_model.h"
#include "core/ir/graph.h"

namespace reverie {

struct OperatorTotal {
  std::string name;  ///< of an opaque node: the operator it carries, in parentheses
  int64_t nodes = 0;
  Cost cost;
};

/// What a graph is made of. Constants and work on them are no nodes here. `operators` and `cost`
/// are those of what runs (running_cost), all else that of the graph.
struct GraphSummary {
  std::vector<std::pair<std::string, TensorType>> inputs;
  std::vector<std::pair<std::string, TensorType>> outputs;
  /// By run time, the longest first; ties by name.
  std::vector<OperatorTotal> operators;
  int64_t nodes = 0;
  int64_t opaque_nodes = 0;
  int64_t weights = 0;  ///< constant tensors as they would be stored
  int64_t weight_bytes = 0;
  Cost cost;
};

GraphSummary summarize(const Graph& graph, CostModel& model);

}  // namespace reverie
