#include "env/placement/search/place.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/error.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/simulator/bounds.h"

namespace reverie {
namespace {

constexpr double kMicrosecond = 1e6;  ///< in picoseconds

double microseconds(Picoseconds time) { return static_cast<double>(time.count) / kMicrosecond; }

/// The median of five measurements of the best.
Picoseconds measured_anew(Evaluator& evaluator) {
  constexpr int kRuns = 5;
  const Placement best = evaluator.best();
  std::array<Picoseconds, kRuns> makespans;
  for (Picoseconds& makespan : makespans)
    makespan = evaluator.evaluate(best, Dispatch::kInOrder).makespan;
  std::ranges::sort(makespans);
  return makespans[kRuns / 2];
}

}  // namespace

PlaceResult place(const CostGraph& graph, const Topology& topology,
                  std::span<const PlaceMethod> methods, const PlaceOptions& options) {
  EvaluationBudget share = options.budget;
  share.seconds /= static_cast<double>(
      std::max<int64_t>(std::ranges::count(methods, true, &PlaceMethod::searches), 1));
  PlaceResult result;
  result.measured = static_cast<bool>(options.measure);
  result.bound = options.fuse ? fused_lower_bound(graph, topology) : lower_bound(graph, topology);
  const std::vector<double> fusion =
      options.fuse ? path_fusion(Simulator(graph, topology)) : std::vector<double>();
  for (const PlaceMethod& method : methods)
    if (options.measure && !method.measures)
      throw InputError("{} judges placements by the simulator alone; with runs take others",
                       method.name);
  const bool is_timed = options.objective == PlacementObjective::kMakespan;
  std::optional<double> best;
  Placement placement;
  for (const PlaceMethod& method : methods) {
    if (is_timed && !options.measure) share.enough = static_cast<double>(result.bound.count);
    Evaluator evaluator(graph, topology, options.objective, share, fusion);
    evaluator.measure_by(options.measure);
    method.run(evaluator, options.seed);
    result.methods.push_back(
        {method.name, evaluator.best_outcome(), evaluator.seconds(), evaluator.evaluations()});
    Outcome& outcome = result.methods.back().outcome;
    if (options.measure) outcome.makespan = measured_anew(evaluator);
    if (!options.fuse && is_timed && outcome.feasible())
      result.bound = std::max(result.bound, {static_cast<int64_t>(evaluator.proved())});
    const double cost = evaluator.cost(outcome);
    if (best && cost >= *best) continue;
    best = cost;
    result.winner = result.methods.size() - 1;
    placement = evaluator.best();
  }
  show(graph, topology, placement, result);
  return result;
}

Outcome show(const CostGraph& graph, const Topology& topology, const Placement& placement,
             PlaceResult& result) {
  result.timeline = {};
  result.fused.reset();
  result.placement = placement;
  if (!placement.kernel.empty()) {
    result.fused = fuse(graph, kernels_of(Simulator(graph, topology), placement));
    result.placement = fused_placement(*result.fused, placement, Dispatch::kInOrder);
  }
  Simulator simulator(result.placed(graph), topology);
  return simulator.run(result.placement, Dispatch::kInOrder, &result.timeline);
}

std::vector<PlaceMethod> usual_methods(const CostGraph& graph) {
  constexpr std::array kUsual{"one_device", "m_topo", "etf", "heft", "metis", "local", "annealing"};
  std::vector<PlaceMethod> usual;
  for (const PlaceMethod& method : place_methods())
    if (std::ranges::count(kUsual, method.name) > 0 && method.suits(graph)) usual.push_back(method);
  return usual;
}

Json placement_json(const CostGraph& graph, const Topology& topology, const PlaceResult& result) {
  const PlacedBy& winner = result.methods[result.winner];
  Json::Array nodes;
  for (const Timeline::Run& run : result.timeline.runs)
    nodes.push_back({{"id", run.node},
                     {"name", graph.nodes()[static_cast<size_t>(run.node)].name},
                     {"device", topology.devices[static_cast<size_t>(run.device)].name},
                     {"start_us", microseconds(run.start)},
                     {"end_us", microseconds(run.end)}});
  return {{"format", "placement/1"},
          {"graph", graph.name()},
          {"devices", topology.name},
          {"method", winner.method},
          {"makespan_us", microseconds(winner.outcome.makespan)},
          {"lower_bound_us", microseconds(result.bound)},
          {"peak_bytes", winner.outcome.peak_bytes},
          {"bytes_over", winner.outcome.bytes_over},
          {"nodes", nodes}};
}

}  // namespace reverie
