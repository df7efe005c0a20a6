#include "env/placement/search/heuristics.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <ranges>
#include <tuple>

#include "env/placement/search/plan.h"

namespace reverie {

void plan(Evaluator& evaluator, const std::function<Placement(double reserve)>& heuristic) {
  for (const double reserve : kReserves)
    if (evaluator.evaluate(heuristic(reserve), Dispatch::kInOrder).feasible() || evaluator.spent())
      return;
}

Placement on_one_device(const Simulator& simulator, int device) {
  Plan plan(simulator);
  for (const int node : simulator.graph().order())
    plan.put(node, device, plan.earliest(node, device, false));
  return plan.placement();
}

void each_device(Evaluator& evaluator) {
  for (int device = 0; device < evaluator.topology().size(); ++device)
    evaluator.evaluate(on_one_device(evaluator.simulator(), device), Dispatch::kInOrder);
}

std::vector<int64_t> path_priorities(const Simulator& simulator) {
  const CostGraph& graph = simulator.graph();
  const int devices = simulator.topology().size();
  std::vector<int64_t> longest(static_cast<size_t>(graph.size()));
  for (const int node : graph.order() | std::views::reverse) {
    int64_t after = 0;
    const auto [first, last] = graph.outputs(node);
    for (int tensor = first; tensor < last; ++tensor)
      for (const int reader : graph.tensors()[static_cast<size_t>(tensor)].readers)
        after = std::max(after, longest[static_cast<size_t>(reader)]);
    int64_t sum = 0;
    for (int device = 0; device < devices; ++device) sum += simulator.cost(node, device).count;
    longest[static_cast<size_t>(node)] = after + sum / devices;
  }
  return longest;
}

std::vector<double> path_fusion(const Simulator& simulator) {
  const std::vector<int64_t> paths = path_priorities(simulator);
  return {paths.begin(), paths.end()};
}

std::vector<int64_t> path_ranks(const Simulator& simulator) {
  const std::vector<int64_t> longest = path_priorities(simulator);
  std::vector<int> order(longest.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int node) { return longest[static_cast<size_t>(node)]; });
  std::vector<int64_t> ranks(longest.size());
  for (size_t i = 0; i < order.size(); ++i)
    ranks[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return ranks;
}

Placement heft(const Simulator& simulator, double reserve, Plan::Transfers transfers) {
  const auto ranks = upward_ranks(simulator, /*with_transfers=*/true);
  std::vector<int> order = simulator.graph().order();  // it decides between equal ranks
  std::ranges::stable_sort(order, std::greater(),
                           [&](int node) { return ranks[static_cast<size_t>(node)]; });
  Plan plan(simulator);
  plan.clear(reserve, transfers);
  for (const int node : order) plan.put_where_it_ends_first(node, /*gaps=*/true);
  return plan.placement();
}

Placement etf(const Simulator& simulator, double reserve) {
  const auto ranks = upward_ranks(simulator, /*with_transfers=*/false);
  Plan plan(simulator, reserve);
  ReadyNodes ready(simulator.graph());
  while (!ready.nodes().empty()) {
    std::tuple<int64_t, Rank, int, int> best{INT64_MAX, 0, 0, 0};  // start, -rank, ...
    for (const int node : ready.nodes())
      for (const int device : plan.choices(node))
        best = std::min(best, {plan.earliest(node, device, false),
                               -ranks[static_cast<size_t>(node)], node, device});
    const auto [start, unused, node, device] = best;
    plan.put(node, device, start);
    ready.done(node);
  }
  return plan.placement();
}

Placement m_topo(const Simulator& simulator, double reserve) {
  const CostGraph& graph = simulator.graph();
  const auto bytes_of = [&](int node) {
    const CostNode& one = graph.nodes()[static_cast<size_t>(node)];
    int64_t bytes = one.persistent_bytes + one.temporary_bytes;
    const auto [first, last] = graph.outputs(node);
    for (int tensor = first; tensor < last; ++tensor)
      bytes += graph.tensors()[static_cast<size_t>(tensor)].bytes;
    return bytes;
  };
  int64_t all = 0, largest = 0;
  for (int node = 0; node < graph.size(); ++node) {
    all += bytes_of(node);
    largest = std::max(largest, bytes_of(node));
  }
  const int devices = simulator.topology().size();
  const int64_t share = all / devices + largest;
  Plan plan(simulator, reserve);
  std::vector<int64_t> filled(static_cast<size_t>(devices));
  int current = 0;
  for (const int node : graph.order()) {
    if (filled[static_cast<size_t>(current)] + bytes_of(node) > share && current + 1 < devices)
      ++current;
    const std::vector<int>& choices = plan.choices(node);
    const bool is_free = std::ranges::count(choices, current) > 0;
    const int device = is_free ? current : choices.back();
    filled[static_cast<size_t>(device)] += bytes_of(node);
    plan.put(node, device, plan.earliest(node, device, false));
  }
  return plan.placement();
}

}  // namespace reverie
