#include <gtest/gtest.h>

#include "env/placement/simulator/bounds.h"
#include "tests/env/placement/naive.h"
#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

using testing::NaiveSimulator;

/// Calls check(simulator, placement) for many problems that are drawn.
void for_random_problems(int problems, auto check) {
  for (int seed = 0; seed < problems; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(static_cast<uint64_t>(seed));
    const CostGraph graph = testing::random_cost_graph(2 + static_cast<int>(rng.below(25)), rng);
    const Topology topology = testing::random_topology(rng);
    Simulator simulator(graph, topology);
    for (int i = 0; i < 3; ++i) check(simulator, testing::random_placement(graph, topology, rng));
  }
}

/// Priorities that a device can follow: later in the order of the graph is
/// later.
Placement in_order(const CostGraph& graph, Placement placement) {
  for (size_t i = 0; i < graph.order().size(); ++i)
    placement.priority[static_cast<size_t>(graph.order()[i])] = -static_cast<int64_t>(i);
  return placement;
}

void expect_as_naive(Simulator& simulator, const Placement& placement, Dispatch dispatch) {
  Timeline timeline;
  const Outcome outcome = simulator.run(placement, dispatch, &timeline);
  EXPECT_EQ(simulator.run(placement, dispatch), outcome);
  const NaiveSimulator naive(simulator.graph(), simulator.topology(), placement,
                             dispatch == Dispatch::kInOrder);
  EXPECT_EQ(outcome.makespan.count, naive.makespan());
  int64_t peak = 0, over = 0, sent = 0;
  for (int device = 0; device < simulator.topology().size(); ++device) {
    const int64_t own = naive.peak(device);
    const int64_t memory = simulator.topology().devices[static_cast<size_t>(device)].memory_bytes;
    peak = std::max(peak, own);
    over += std::max<int64_t>(own - memory, 0);
  }
  for (const auto& transfer : timeline.transfers)
    sent += simulator.graph().tensors()[static_cast<size_t>(transfer.tensor)].bytes;
  EXPECT_EQ(outcome.peak_bytes, peak);
  EXPECT_EQ(outcome.bytes_over, over);
  EXPECT_EQ(sent, naive.bytes_sent());
}

TEST(SimulatorProperty, ItDoesWhatItsWordsSay) {
  for_random_problems(400, [](Simulator& simulator, const Placement& placement) {
    expect_as_naive(simulator, placement, Dispatch::kReady);
    expect_as_naive(simulator, in_order(simulator.graph(), placement), Dispatch::kInOrder);
  });
}

TEST(SimulatorProperty, NoPlacementIsBelowABound) {
  for_random_problems(200, [](Simulator& simulator, const Placement& placement) {
    const Picoseconds bound = interval_bound(simulator.graph(), simulator.topology());
    EXPECT_GE(bound, critical_path(simulator.graph(), simulator.topology()));
    EXPECT_GE(bound, work_bound(simulator.graph(), simulator.topology()));
    EXPECT_GE(simulator.run(placement).makespan, bound);
  });
}

TEST(SimulatorProperty, OneDeviceTakesTheSum) {
  for_random_problems(100, [](Simulator& simulator, Placement placement) {
    std::ranges::fill(placement.device, 0);
    Picoseconds sum;
    for (int node = 0; node < simulator.graph().size(); ++node) sum += simulator.cost(node, 0);
    EXPECT_EQ(simulator.run(placement).makespan, sum);
  });
}

}  // namespace
}  // namespace reverie
