#include "env/placement/cores/reality_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/base/error.h"
#include "core/base/statistics.h"
#include "core/base/stopwatch.h"

namespace reverie {
namespace {

/// Builds PlacedCopies in the order in which nodes start.
class CopyWriter {
 public:
  CopyWriter(const Simulator& simulator, const Placement& placement)
      : simulator_(simulator),
        graph_(simulator.graph()),
        nodes_(graph_.nodes()),
        tensors_(graph_.tensors()),
        placement_{.device = placement.device, .priority = {}} {
    for (int node = 0; node < graph_.size(); ++node)
      costs_.push_back(simulator.cost(node, device(node)));
    for (CostTensor& tensor : tensors_) tensor.readers.clear();
  }

  PlacedCopies write(const Timeline& timeline) && {
    for (const Timeline::Run& run : timeline.runs) {
      for (const int tensor : graph_.inputs(run.node)) add_reader(tensor, run.node);
      rank(run.node);
    }
    Topology topology = simulator_.topology();
    topology.receive_engines = false;
    for (Link& link : topology.links)
      link.bytes_per_second = std::numeric_limits<double>::infinity();
    return {CostGraph(graph_.name(), graph_.kinds(), std::move(nodes_), std::move(costs_),
                      std::move(tensors_)),
            std::move(topology), std::move(placement_)};
  }

 private:
  int device(int node) const { return placement_.device[static_cast<size_t>(node)]; }

  void rank(int node) {
    const auto place = static_cast<size_t>(node);
    if (placement_.priority.size() <= place) placement_.priority.resize(place + 1);
    placement_.priority[place] = next_--;
  }

  void add_reader(int number, int reader) {
    const auto place = static_cast<size_t>(number);
    const int from = device(tensors_[place].producer), to = device(reader);
    if (from == to) return tensors_[place].readers.push_back(reader);
    const auto [copy, is_new] = copies_.try_emplace({number, to}, tensors_.size());
    if (is_new) add_copy(number, from, to);
    tensors_[copy->second].readers.push_back(reader);
  }

  void add_copy(int number, int from, int to) {
    const auto place = static_cast<size_t>(number);
    const auto node = static_cast<int>(nodes_.size());
    tensors_[place].readers.push_back(node);
    const int64_t bytes = tensors_[place].bytes;
    nodes_.push_back(
        {.name = "copy of " + nodes_[static_cast<size_t>(tensors_[place].producer)].name,
         .op = "Copy"});
    costs_.push_back(simulator_.transfer(number, from, to) -
                     simulator_.topology().link(from, to).latency);
    tensors_.push_back({.producer = node, .bytes = bytes, .readers = {}});
    placement_.device.push_back(to);
    rank(node);
  }

  const Simulator& simulator_;
  const CostGraph& graph_;
  std::vector<CostNode> nodes_;
  std::vector<Picoseconds> costs_;
  std::vector<CostTensor> tensors_;
  Placement placement_;
  std::map<std::pair<int, int>, size_t> copies_;  ///< by tensor and device: the copy's tensor
  int64_t next_ = 0;
};

constexpr int kEnough = 5;            ///< undisturbed runs of a placement
constexpr int kMostRounds = 40;       ///< and where it cannot have them
constexpr double kMostSeconds = 120;  ///< of all rounds, likewise
constexpr double kUndisturbed = 0.01;

Match match_of(const RealityCheck& check, Picoseconds CheckedPlacement::*simulated) {
  const bool all = check.placements.size() - static_cast<size_t>(check.disturbed) < 2;
  std::vector<double> told, seen, errors, ratios;
  for (const CheckedPlacement& one : check.placements) {
    if (!all && one.lost >= kUndisturbed) continue;
    told.push_back((one.*simulated).seconds());
    seen.push_back(one.measured.seconds());
    errors.push_back(std::abs(told.back() / seen.back() - 1));
    ratios.push_back(seen.back() / told.back());
  }
  return {.spearman = spearman(told, seen), .mean_error = mean(errors), .ratio = median(ratios)};
}

double lost_share(const RunTime& run) { return run.lost / run.makespan; }

/// Runs placements in turn, so that what else the machine does meets all of them alike, until each
/// has enough runs.
std::vector<std::vector<RunTime>> run_all(
    ModelOnCores& model, const std::vector<std::vector<std::vector<int>>>& orders) {
  std::vector<std::vector<RunTime>> runs(orders.size());
  for (const auto& order : orders) model.run(order);  // these make memory, and do not count
  const auto has_enough = [&](const std::vector<RunTime>& all) {
    return std::ranges::count_if(
               all, [](const RunTime& run) { return lost_share(run) < kUndisturbed; }) >= kEnough;
  };
  const Stopwatch watch;
  for (int round = 0; round < kMostRounds && !std::ranges::all_of(runs, has_enough); ++round)
    for (size_t i = 0; i < orders.size(); ++i)
      if (round < kEnough || (watch.seconds() < kMostSeconds && !has_enough(runs[i])))
        runs[i].push_back(model.run(orders[i]));
  return runs;
}

/// Of the undisturbed runs or, without any, of the one that lost least.
void summarize(std::vector<RunTime> runs, CheckedPlacement& placement) {
  std::ranges::sort(runs, {}, lost_share);
  std::vector<double> makespans;
  for (const RunTime& run : runs)
    if (makespans.empty() || lost_share(run) < kUndisturbed) {
      makespans.push_back(run.makespan);
      placement.lost = lost_share(run);
    }
  placement.measured = Picoseconds::from_seconds(median(makespans));
}

}  // namespace

PlacedCopies with_copies(const Simulator& simulator, const Placement& placement,
                         const Timeline& timeline) {
  return CopyWriter(simulator, placement).write(timeline);
}

RealityCheck check_reality(ModelOnCores& model, const CostGraph& graph, const Topology& topology,
                           int placements, uint64_t seed) {
  if (topology.size() < 2) throw InputError("one core leaves nothing to compare; take two or more");
  RealityCheck check;
  Simulator simulator(graph, topology);
  std::vector<std::vector<std::vector<int>>> orders;
  for (const DrawnPlacement& drawn : varied_placements(simulator, placements, seed)) {
    Timeline timeline;
    const Outcome outcome = simulator.run(drawn.placement, Dispatch::kInOrder, &timeline);
    const PlacedCopies copies = with_copies(simulator, drawn.placement, timeline);
    Simulator copying(copies.graph, copies.topology);
    check.placements.push_back(
        {.from = drawn.from,
         .simulated = outcome.makespan,
         .with_copies = copying.run(copies.placement, Dispatch::kInOrder).makespan,
         .measured = {}});
    orders.push_back(order_by_core(timeline, topology.size()));
  }
  const std::vector<std::vector<RunTime>> runs = run_all(model, orders);
  for (size_t i = 0; i < orders.size(); ++i) {
    summarize(runs[i], check.placements[i]);
    check.disturbed += check.placements[i].lost >= kUndisturbed ? 1 : 0;
  }
  check.simulated = match_of(check, &CheckedPlacement::simulated);
  check.with_copies = match_of(check, &CheckedPlacement::with_copies);
  return check;
}

}  // namespace reverie
