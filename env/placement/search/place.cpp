#include "env/placement/search/place.h"

#include <algorithm>
#include <string>

#include "core/base/error.h"
#include "core/base/words.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/simulator/bounds.h"

namespace reverie {
namespace {

constexpr double kMicrosecond = 1e6;  ///< in picoseconds

double microseconds(Picoseconds time) { return static_cast<double>(time.count) / kMicrosecond; }

/// Medians of nine rounds, in each of which all are run, so that what else the machine does meets
/// all alike.
std::vector<Picoseconds> measured_in_turn(const CostGraph& graph, const Topology& topology,
                                          const std::vector<Placement>& placements,
                                          const MeasureSchedule& measure) {
  constexpr int kRounds = 9;
  FusingSimulator simulator(graph, topology);
  std::vector<Timeline> schedules(placements.size());
  for (size_t i = 0; i < placements.size(); ++i)
    simulator.run(placements[i], Dispatch::kInOrder, &schedules[i]);
  std::vector<std::vector<Picoseconds>> times(placements.size());
  for (int round = 0; round < kRounds; ++round)
    for (size_t i = 0; i < schedules.size(); ++i) times[i].push_back(measure(schedules[i]));
  std::vector<Picoseconds> medians;
  for (std::vector<Picoseconds>& of_one : times) {
    std::ranges::sort(of_one);
    medians.push_back(of_one[kRounds / 2]);
  }
  return medians;
}

void require_measuring(std::span<const PlaceMethod> methods) {
  for (const PlaceMethod& method : methods)
    if (!method.measures)
      throw InputError("{} judges placements by the simulator alone; with runs take others",
                       method.name);
}

size_t cheapest(const std::vector<PlacedBy>& methods, const PlacementCost& cost) {
  return static_cast<size_t>(
      std::ranges::min_element(methods, {},
                               [&](const PlacedBy& one) { return cost.of(one.outcome); }) -
      methods.begin());
}

}  // namespace

PlaceResult place(const CostGraph& graph, const Topology& topology,
                  std::span<const PlaceMethod> methods, const PlaceOptions& options) {
  EvaluationBudget share = options.budget;
  share.seconds /= static_cast<double>(
      std::max<int64_t>(std::ranges::count(methods, true, &PlaceMethod::searches), 1));
  const Simulator simulator(graph, topology);
  simulator.require_groups();
  const bool is_timed = options.objective == PlacementObjective::kMakespan;
  const std::vector<double> fusion = options.fuse ? path_fusion(simulator) : std::vector<double>();
  PlaceResult result;
  result.measured = static_cast<bool>(options.measure);
  result.bound = options.fuse ? fused_lower_bound(graph, topology) : lower_bound(graph, topology);
  result.bytes_bound = memory_bound(graph, topology, options.fuse);
  if (!is_timed) share.enough = static_cast<double>(result.bytes_bound);
  if (result.measured) require_measuring(methods);
  std::vector<Placement> placements;
  for (const PlaceMethod& method : methods) {
    if (is_timed && !result.measured) share.enough = static_cast<double>(result.bound.count);
    Evaluator evaluator(graph, topology, options.objective, share, fusion);
    evaluator.measure_by(options.measure);
    method.run(evaluator, options.seed);
    const Outcome& outcome = evaluator.best_outcome();
    result.methods.push_back({method.name, outcome, evaluator.seconds(), evaluator.evaluations()});
    placements.push_back(evaluator.best());
    const auto proved = static_cast<int64_t>(evaluator.proved());
    if (options.fuse || !outcome.feasible()) continue;
    if (is_timed)
      result.bound = std::max(result.bound, {proved});
    else
      result.bytes_bound = std::max(result.bytes_bound, proved);
  }
  if (result.measured) {
    const auto makespans = measured_in_turn(graph, topology, placements, options.measure);
    for (size_t i = 0; i < makespans.size(); ++i) result.methods[i].outcome.makespan = makespans[i];
  }
  result.winner = cheapest(result.methods, PlacementCost(simulator, options.objective));
  show(graph, topology, placements[result.winner], result);
  return result;
}

Outcome show(const CostGraph& graph, const Topology& topology, const Placement& placement,
             PlaceResult& result) {
  result.timeline = {};
  result.fused.reset();
  result.held.clear();
  result.placement = placement;
  if (!placement.kernel.empty()) {
    result.fused = fuse(graph, kernels_of(Simulator(graph, topology), placement));
    result.placement = fused_placement(*result.fused, placement, Dispatch::kInOrder);
    result.held.resize(static_cast<size_t>(result.fused->graph.size()));
    for (size_t node = 0; node < result.fused->node_of.size(); ++node)
      result.held[static_cast<size_t>(result.fused->node_of[node])].push_back(
          graph.nodes()[node].name);
  }
  Simulator simulator(result.placed(graph), topology);
  return simulator.run(result.placement, Dispatch::kInOrder, &result.timeline);
}

Json placement_json(const CostGraph& graph, const Topology& topology, const PlaceResult& result) {
  const PlacedBy& winner = result.methods[result.winner];
  Json::Array nodes, folded;
  for (const Timeline::Run& run : result.timeline.runs) {
    nodes.push_back({{"id", run.node},
                     {"name", graph.nodes()[static_cast<size_t>(run.node)].name},
                     {"device", topology.devices[static_cast<size_t>(run.device)].name},
                     {"start_us", microseconds(run.start)},
                     {"end_us", microseconds(run.end)}});
    if (result.fused) nodes.back()["holds"] = result.held[static_cast<size_t>(run.node)];
  }
  for (const FoldedNode& one : result.folded)
    folded.push_back({{"name", one.name}, {"op", one.op}, {"into", one.into}});
  return {{"format", "placement/1"},
          {"graph", graph.name()},
          {"devices", topology.name},
          {"method", winner.method},
          {"makespan_us", microseconds(winner.outcome.makespan)},
          {"lower_bound_us", microseconds(result.bound)},
          {"peak_bytes", winner.outcome.peak_bytes},
          {"lower_bound_bytes", result.bytes_bound},
          {"bytes_over", winner.outcome.bytes_over},
          {"misplaced_nodes", winner.outcome.misplaced},
          {"nodes", nodes},
          {"folded", folded}};
}

std::map<std::string, std::string> devices_of(const CostGraph& graph, const Topology& topology,
                                              const PlaceResult& result) {
  std::map<std::string, std::string> devices;
  for (const Timeline::Run& run : result.timeline.runs) {
    const auto node = static_cast<size_t>(run.node);
    const std::vector<std::string> names =
        result.fused ? result.held[node] : std::vector{graph.nodes()[node].name};
    for (const std::string& name : names)
      devices[name] = topology.devices[static_cast<size_t>(run.device)].name;
  }
  for (const FoldedNode& one : result.folded)
    if (const auto into = devices.find(one.into); into != devices.end())
      devices.emplace(one.name, into->second);
  return devices;
}

std::string why_infeasible(const PlaceResult& result) {
  const PlacedBy& winner = result.methods[result.winner];
  if (winner.outcome.feasible()) return "";
  if (winner.outcome.misplaced > 0)
    return fmt::format(
        "no method found a placement on devices that can run all nodes: that of {} has {} of them "
        "elsewhere",
        winner.method, counted(winner.outcome.misplaced, "node"));
  constexpr double kMebibyte = 0x1p20;
  return fmt::format(
      "no method found a placement that fits into memory: that of {}, which comes nearest, lacks "
      "{:.1f} MiB",
      winner.method, static_cast<double>(winner.outcome.bytes_over) / kMebibyte);
}

}  // namespace reverie
