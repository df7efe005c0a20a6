#include "controller/agents/hdp_features.h"

#include <algorithm>
#include <vector>

namespace reverie {
namespace {

std::vector<std::vector<int>> inputs_of(const PlacedGroups& operators) {
  std::vector<std::vector<int>> inputs(static_cast<size_t>(operators.size()));
  for (int from = 0; from < operators.size(); ++from)
    for (const int to : operators.readers()[static_cast<size_t>(from)])
      inputs[static_cast<size_t>(to)].push_back(from);
  return inputs;
}

}  // namespace

torch::Tensor hdp_operators(const PlacedGroups& operators) {
  const auto count = static_cast<float>(operators.size());
  auto neighbours = torch::zeros({operators.size(), kHdpNeighbours});
  float* row = neighbours.data_ptr<float>();
  const auto inputs = inputs_of(operators);
  for (size_t i = 0; i < inputs.size(); ++i, row += kHdpNeighbours) {
    int64_t column = 0;
    for (const int other : inputs[i])
      if (column < kHdpNeighbours) row[column++] = -static_cast<float>(other + 1) / count;
    for (const int other : operators.readers()[i])
      if (column < kHdpNeighbours) row[column++] = static_cast<float>(other + 1) / count;
  }
  return torch::cat({operators.types(), operators.outputs(), neighbours}, 1);
}

torch::Tensor hdp_groups(const PlacedGroups& operators, const torch::Tensor& group,
                         int64_t groups) {
  const auto types = torch::zeros({groups, PlacedGroups::kTypes});
  const auto outputs = torch::zeros({groups, PlacedGroups::kOutputs});
  const auto edges = torch::zeros({groups, groups});
  const auto* const of = group.data_ptr<int64_t>();
  for (int from = 0; from < operators.size(); ++from)
    for (const int to : operators.readers()[static_cast<size_t>(from)])
      edges.data_ptr<float>()[of[from] * groups + of[to]] += 1;
  const auto rows = torch::cat({types.index_add(0, group, operators.types()),
                                outputs.index_add(0, group, operators.outputs()), edges, edges.t()},
                               1);
  return rows / (std::get<0>(rows.max(1, true)) + 1);
}

}  // namespace reverie
