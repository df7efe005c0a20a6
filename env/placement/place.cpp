#include "env/placement/place.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <tuple>

#include "core/base/stopwatch.h"
#include "core/search/algorithms.h"
#include "env/placement/bounds.h"
#include "env/placement/heuristics.h"
#include "env/placement/placement_problem.h"

namespace reverie {
namespace {

constexpr int kMostForEtf = 3000;                 ///< it takes the square of the number of nodes
constexpr int kMostForIntervals = 300;            ///< the bound takes the cube of it
constexpr double kMicrosecond = 1e6;              ///< in picoseconds
constexpr int64_t kUnlimited = int64_t{1} << 40;  ///< chains of annealing

/// Tries methods one after the other and keeps the best placement.
class Contest {
 public:
  Contest(const CostGraph& graph, const Topology& topology)
      : graph_(graph), topology_(topology), simulator_(graph, topology) {}

  void enter(const std::string& method, const std::function<Placement(const Simulator&)>& make) {
    const Stopwatch watch;
    const Placement placement = make(simulator_);
    const Outcome outcome = simulator_.run(placement, Dispatch::kInOrder);
    add({method, outcome, watch.seconds(), 1}, placement);
  }

  void enter_best_device() {
    const Stopwatch watch;
    Placement best;
    Outcome outcome;
    for (int device = 0; device < topology_.size(); ++device) {
      const Placement all = on_one_device(simulator_, device);
      const Outcome own = simulator_.run(all, Dispatch::kInOrder);
      if (device > 0 && key(own) >= key(outcome)) continue;
      best = all;
      outcome = own;
    }
    one_device_ = best;
    add({"one device", outcome, watch.seconds(), topology_.size()}, best);
  }

  void search(const std::string& method, const Placement& from, const SearchOptions& options,
              const std::function<void(SearchRun&)>& run) {
    const Stopwatch watch;
    const auto start = std::make_shared<const PlacementProblem>(graph_, topology_, from);
    const SearchOutcome found = solve(start, options, run);
    const bool is_start = found.best.path.empty();  // it need not fit
    const auto state = is_start ? start->snapshot() : found.best.state;
    const Placement& placement = dynamic_cast<const PlacementSnapshot&>(*state).placement;
    const Outcome outcome = simulator_.run(placement, Dispatch::kInOrder);
    add({method, outcome, watch.seconds(), found.candidates}, placement);
  }

  const Placement& one_device() const { return one_device_; }
  const Placement& best() const { return result_.placement; }
  PlaceResult finish() {
    simulator_.run(result_.placement, Dispatch::kInOrder, &result_.timeline);
    result_.bound = graph_.size() <= kMostForIntervals
                        ? interval_bound(graph_, topology_)
                        : std::max(critical_path(graph_, topology_), work_bound(graph_, topology_));
    return std::move(result_);
  }

 private:
  static std::tuple<int64_t, Picoseconds> key(const Outcome& outcome) {
    return {outcome.bytes_over, outcome.makespan};
  }
  void add(PlacedBy one, const Placement& placement) {
    result_.methods.push_back(std::move(one));
    const auto& all = result_.methods;
    const bool is_first = all.size() == 1;
    if (!is_first && key(all.back().outcome) >= key(all[result_.winner].outcome)) return;
    result_.winner = all.size() - 1;
    result_.placement = placement;
  }

  const CostGraph& graph_;
  const Topology& topology_;
  Simulator simulator_;
  Placement one_device_;
  PlaceResult result_;
};

double microseconds(Picoseconds time) { return static_cast<double>(time.count) / kMicrosecond; }

}  // namespace

PlaceResult place(const CostGraph& graph, const Topology& topology, const PlaceOptions& options) {
  Contest contest(graph, topology);
  contest.enter_best_device();
  if (topology.size() == 1) return contest.finish();
  contest.enter("m-TOPO", m_topo);
  if (graph.size() <= kMostForEtf) contest.enter("ETF", etf);
  contest.enter("HEFT", heft);
  SearchOptions search;
  search.seed = options.seed;
  search.stop = options.stop;
  search.time_limit = options.seconds / 2;
  contest.search("local search", contest.best(), search, run_greedy);
  search.budget = kUnlimited;
  contest.search("annealing", contest.one_device(), search, run_annealing);
  return contest.finish();
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
