// The simulator beside an encoding of its rules as constraints, which Z3
// solves.
#include <gtest/gtest.h>
#include <z3++.h>

#include <set>
#include <tuple>

#include "tests/env/placement/placements.h"

namespace reverie {
namespace {

/// Starts of nodes and transfers as integers. Each is as early as what it waits
/// for allows, so that there is one solution.
class Schedule {
 public:
  Schedule(const Simulator& simulator, const Placement& placement)
      : simulator_(simulator), placement_(placement), solver_(context_) {
    for (int node = 0; node < graph().size(); ++node)
      starts_.push_back(context_.int_const(fmt::format("n{}", node).c_str()));
    for (int tensor = 0; tensor < std::ssize(graph().tensors()); ++tensor) add_transfers(tensor);
    for (int node = 0; node < graph().size(); ++node) begin_node(node);
    for (const Transfer& transfer : transfers_) begin_transfer(transfer);
    EXPECT_EQ(solver_.check(), z3::sat);
    model_ = solver_.get_model();
  }

  int64_t makespan() {
    int64_t last = 0;
    for (int node = 0; node < graph().size(); ++node) last = std::max(last, value(end_of(node)));
    return last;
  }

  /// The most bytes on a device at a moment at which there can be more than
  /// before.
  int64_t peak() {
    int64_t most = 0;
    for (const auto& [device, moment] : moments())
      most = std::max(most, value(bytes_at(device, moment)));
    return most;
  }

 private:
  struct Transfer {
    int tensor, from, to;
    z3::expr start;
    int64_t time;
  };

  const CostGraph& graph() const { return simulator_.graph(); }
  const CostTensor& tensor(int number) const {
    return graph().tensors()[static_cast<size_t>(number)];
  }
  int device_of(int node) const { return placement_.device[static_cast<size_t>(node)]; }
  z3::expr integer(int64_t value) { return context_.int_val(value); }
  int64_t value(const z3::expr& expr) { return model_.eval(expr, true).get_numeral_int64(); }
  z3::expr start_of(int node) { return starts_[static_cast<size_t>(node)]; }
  z3::expr end_of(int node) {
    return start_of(node) + integer(simulator_.cost(node, device_of(node)).count);
  }
  z3::expr end_of(const Transfer& transfer) { return transfer.start + integer(transfer.time); }

  void add_transfers(int number) {
    const int from = device_of(tensor(number).producer);
    std::set<int> others;
    for (const int reader : tensor(number).readers) others.insert(device_of(reader));
    others.erase(from);
    for (const int to : others)
      transfers_.push_back({number, from, to,
                            context_.int_const(fmt::format("t{}to{}", number, to).c_str()),
                            simulator_.transfer(number, from, to).count});
  }

  /// `start` is the latest of `ends`, each of which counts where its condition
  /// holds.
  void is_latest(const z3::expr& start, const std::vector<std::pair<z3::expr, z3::expr>>& ends) {
    z3::expr is_one = context_.bool_val(false);
    for (const auto& [counts, end] : ends) {
      solver_.add(z3::implies(counts, start >= end));
      is_one = is_one || (counts && start == end);
    }
    solver_.add(is_one);
  }

  void begin_node(int node) {
    const z3::expr always = context_.bool_val(true);
    std::vector<std::pair<z3::expr, z3::expr>> ends = {{always, integer(0)}};
    for (const int input : graph().inputs(node)) {
      const int producer = tensor(input).producer;
      if (device_of(producer) == device_of(node)) ends.emplace_back(always, end_of(producer));
      for (const Transfer& transfer : transfers_)
        if (transfer.tensor == input && transfer.to == device_of(node))
          ends.emplace_back(always, end_of(transfer));
    }
    const auto& priority = placement_.priority;
    for (int other = 0; other < graph().size(); ++other)
      if (device_of(other) == device_of(node) &&
          priority[static_cast<size_t>(other)] > priority[static_cast<size_t>(node)])
        ends.emplace_back(always, end_of(other));
    is_latest(start_of(node), ends);
  }

  bool share(const Transfer& a, const Transfer& b) const {
    const Topology& topology = simulator_.topology();
    const int bus = topology.link(a.from, a.to).bus;
    return (topology.send_engines && a.from == b.from) ||
           (topology.receive_engines && a.to == b.to) ||
           (topology.shared_buses && bus >= 0 && bus == topology.link(b.from, b.to).bus);
  }

  /// Who asks first is served first; at one time in the order of nodes, then of
  /// tensors and devices.
  void begin_transfer(const Transfer& transfer) {
    const int node = tensor(transfer.tensor).producer;
    std::vector<std::pair<z3::expr, z3::expr>> ends = {{context_.bool_val(true), end_of(node)}};
    for (const Transfer& other : transfers_) {
      if (&other == &transfer || !share(other, transfer)) continue;
      const int from = tensor(other.tensor).producer;
      const bool is_first_of_equals =
          std::tuple(from, other.tensor, other.to) < std::tuple(node, transfer.tensor, transfer.to);
      ends.emplace_back(
          is_first_of_equals ? end_of(from) <= end_of(node) : end_of(from) < end_of(node),
          end_of(other));
    }
    is_latest(transfer.start, ends);
  }

  std::vector<std::pair<int, z3::expr>> moments() {
    std::vector<std::pair<int, z3::expr>> all;
    for (int node = 0; node < graph().size(); ++node)
      all.emplace_back(device_of(node), start_of(node));
    for (const Transfer& transfer : transfers_) all.emplace_back(transfer.to, transfer.start);
    for (int device = 0; device < simulator_.topology().size(); ++device)
      all.emplace_back(device, integer(0));
    return all;
  }

  z3::expr bytes_at(int device, const z3::expr& moment) {
    z3::expr bytes = integer(0);
    const auto add = [&](const z3::expr& is_there, int64_t size) {
      bytes = bytes + z3::ite(is_there, integer(size), integer(0));
    };
    for (int node = 0; node < graph().size(); ++node) {
      const CostNode& one = graph().nodes()[static_cast<size_t>(node)];
      if (device_of(node) != device) continue;
      bytes = bytes + integer(one.persistent_bytes);
      add(start_of(node) <= moment && moment < end_of(node), one.temporary_bytes);
    }
    for (int number = 0; number < std::ssize(graph().tensors()); ++number) {
      const int producer = tensor(number).producer;
      z3::expr is_needed = context_.bool_val(tensor(number).readers.empty());
      for (const int reader : tensor(number).readers)
        if (device_of(reader) == device) is_needed = is_needed || moment < end_of(reader);
      if (device_of(producer) == device) {
        for (const Transfer& transfer : transfers_)
          if (transfer.tensor == number) is_needed = is_needed || moment < end_of(transfer);
        add(start_of(producer) <= moment && is_needed, tensor(number).bytes);
      }
      for (const Transfer& transfer : transfers_)
        if (transfer.tensor == number && transfer.to == device)
          add(transfer.start <= moment && is_needed, tensor(number).bytes);
    }
    return bytes;
  }

  const Simulator& simulator_;
  const Placement& placement_;
  z3::context context_;
  z3::solver solver_;
  z3::model model_{context_};
  std::vector<z3::expr> starts_;
  std::vector<Transfer> transfers_;
};

TEST(SimulatorByZ3, MakespanAndPeakFollowFromTheRules) {
  for (int seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(static_cast<uint64_t>(seed));
    const CostGraph graph = testing::random_cost_graph(2 + static_cast<int>(rng.below(11)), rng);
    Topology topology = testing::random_topology(rng);
    topology.send_engines = topology.receive_engines = topology.shared_buses = true;
    Placement placement = testing::random_placement(graph, topology, rng);
    for (size_t i = 0; i < graph.order().size(); ++i)
      placement.priority[static_cast<size_t>(graph.order()[i])] = -static_cast<int64_t>(i);
    Simulator simulator(graph, topology);
    const Outcome outcome = simulator.run(placement, Dispatch::kInOrder);
    Schedule schedule(simulator, placement);
    EXPECT_EQ(outcome.makespan.count, schedule.makespan());
    EXPECT_EQ(outcome.peak_bytes, schedule.peak());
  }
}

}  // namespace
}  // namespace reverie
