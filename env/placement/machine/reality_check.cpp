#include "env/placement/machine/reality_check.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/statistics.h"
#include "core/base/stopwatch.h"
#include "env/placement/machine/undisturbed.h"

namespace reverie {
namespace {

constexpr int kEnough = 5;            ///< undisturbed runs of a placement
constexpr int kMostRounds = 40;       ///< and where it cannot have them
constexpr double kMostSeconds = 120;  ///< of all rounds, likewise

placement::Match match_of(const RealityCheck& check) {
  const bool all = check.placements.size() - static_cast<size_t>(check.disturbed) < 2;
  std::vector<double> told, seen, errors, ratios;
  for (const CheckedPlacement& one : check.placements) {
    if (!all && one.lost >= kUndisturbed) continue;
    told.push_back(one.simulated.seconds());
    seen.push_back(one.measured.seconds());
    errors.push_back(std::abs(told.back() / seen.back() - 1));
    ratios.push_back(seen.back() / told.back());
  }
  return {.spearman = spearman(told, seen), .mean_error = mean(errors), .ratio = median(ratios)};
}

/// Runs placements in turn, so that what else the machine does meets all of them alike, until each
/// has enough runs.
std::vector<std::vector<placement::RunTime>> run_all(ModelOnDevices& model,
                                                     const std::vector<OrderByDevice>& orders) {
  std::vector<std::vector<placement::RunTime>> runs(orders.size());
  for (const auto& order : orders) model.run(order);  // these make memory, and do not count
  const auto has_enough = [&](const std::vector<placement::RunTime>& all) {
    return std::ranges::count_if(all, is_undisturbed) >= kEnough;
  };
  const Stopwatch watch;
  for (int round = 0; round < kMostRounds && !std::ranges::all_of(runs, has_enough); ++round)
    for (size_t i = 0; i < orders.size(); ++i)
      if (round < kEnough || (watch.seconds() < kMostSeconds && !has_enough(runs[i])))
        runs[i].push_back(model.run(orders[i]));
  return runs;
}

}  // namespace

RealityCheck check_reality(ModelOnDevices& model, const CostGraph& graph, const Topology& topology,
                           int placements, uint64_t seed) {
  if (topology.size() < 2)
    throw InputError("one device leaves nothing to compare; take two or more");
  RealityCheck check;
  Simulator simulator(graph, topology);
  std::vector<OrderByDevice> orders;
  for (const DrawnPlacement& drawn : varied_placements(simulator, placements, seed)) {
    Timeline timeline;
    const Outcome outcome = simulator.run(drawn.placement, Dispatch::kInOrder, &timeline);
    check.placements.push_back({.from = drawn.from, .simulated = outcome.makespan, .measured = {}});
    orders.push_back(order_by_device(timeline, topology.size()));
  }
  const std::vector<std::vector<placement::RunTime>> runs = run_all(model, orders);
  for (size_t i = 0; i < orders.size(); ++i) {
    check.placements[i].measured = undisturbed_makespan(runs[i]);
    check.placements[i].lost = lost_share(std::ranges::min(runs[i], {}, lost_share));
    check.disturbed += check.placements[i].lost >= kUndisturbed ? 1 : 0;
  }
  check.match = match_of(check);
  return check;
}

}  // namespace reverie
