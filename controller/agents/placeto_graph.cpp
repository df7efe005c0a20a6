#include "controller/agents/placeto_graph.h"

#include <algorithm>
#include <limits>

namespace reverie {
namespace {

PlacetoRelations relations_of(const PlacedGroups& groups) {
  const int64_t size = groups.size();
  const auto children = torch::zeros({size, size});
  const auto none = torch::zeros({size, size});
  auto descendants = none.clone();
  for (int from = groups.size() - 1; from >= 0; --from)
    for (const int to : groups.readers()[static_cast<size_t>(from)]) {
      children[from][to] = 1;
      descendants[from][to] = 1;
      descendants[from] = torch::maximum(descendants[from], descendants[to]);
    }
  const auto ancestors = descendants.t().contiguous();
  const auto apart = 1 - torch::eye(size) - torch::maximum(ancestors, descendants);
  return {children.t().contiguous(), children, ancestors, descendants, apart};
}

/// Columns divided by their largest size, where there is any.
torch::Tensor scaled(const torch::Tensor& columns) {
  const auto largest = std::get<0>(columns.abs().max(0));
  return columns / torch::where(largest > 0, largest, torch::ones_like(largest));
}

}  // namespace

PlacetoGraph::PlacetoGraph(Evaluator& evaluator, int most_groups)
    : judged_(evaluator, most_groups), relations_(relations_of(judged_.groups())) {
  measure(evaluator.simulator());
}

void PlacetoGraph::measure(const Simulator& simulator) {
  const std::vector<int>& group = judged_.groups().of_node();
  const auto raw = torch::zeros({size(), 3}, torch::kDouble);
  auto at = raw.accessor<double, 2>();
  for (size_t node = 0; node < group.size(); ++node) {
    for (int device = 0; device < simulator.topology().size(); ++device)
      at[group[node]][0] +=
          static_cast<double>(simulator.cost(static_cast<int>(node), device).count);
    at[group[node]][2] += static_cast<double>(simulator.graph().nodes()[node].persistent_bytes);
  }
  for (const CostTensor& tensor : simulator.graph().tensors()) {
    const int from = group[static_cast<size_t>(tensor.producer)];
    if (std::ranges::any_of(tensor.readers,
                            [&](int reader) { return group[static_cast<size_t>(reader)] != from; }))
      at[from][1] += static_cast<double>(tensor.bytes);
  }
  fixed_ = scaled(raw).to(torch::kFloat);
}

PlacetoState PlacetoGraph::start() const {
  return {std::vector<int>(static_cast<size_t>(size()), judged_.best_device()), 0};
}

torch::Tensor PlacetoGraph::features(const PlacetoState& state) const {
  Simulator& simulator = judged_.evaluator().simulator();
  Timeline timeline;
  simulator.run(judged_.placement(state.devices), Dispatch::kReady, &timeline);
  constexpr double kNone = std::numeric_limits<double>::max();
  std::vector<double> starts(state.devices.size(), kNone);
  for (const Timeline::Run& run : timeline.runs) {
    const int group = judged_.groups().of_node()[static_cast<size_t>(run.node)];
    double& start = starts[static_cast<size_t>(group)];
    start = std::min(start, static_cast<double>(run.start.count));
  }
  const auto places = torch::arange(size());
  const auto since =
      torch::tensor(starts, torch::kDouble) - starts[static_cast<size_t>(state.current)];
  return torch::cat(
      {fixed_, (places < state.current).unsqueeze(1), (places == state.current).unsqueeze(1),
       scaled(since.unsqueeze(1)).to(torch::kFloat),
       torch::one_hot(torch::tensor(state.devices, torch::kInt64), simulator.topology().size())},
      1);
}

double PlacetoGraph::judgement(const Outcome& outcome) const {
  const double ratio = judged_.ratio(outcome);
  if (outcome.feasible()) return ratio;
  return std::min(10.0, ratio + std::max(1.0, 2e-9 * static_cast<double>(outcome.bytes_over)));
}

}  // namespace reverie
