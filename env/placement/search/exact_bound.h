#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "env/placement/simulator/simulator.h"

namespace reverie {

/// What is decided of an in-order schedule, and what happens up to a moment because of it.
struct PartialSchedule {
  static constexpr int kOpen = -1;

  std::vector<int> device;              ///< by node; kOpen: any
  std::vector<std::vector<int>> first;  ///< by device: nodes that run on it before all others
  std::vector<int> order;               ///< all nodes, after what they wait for by graph or `first`

  int64_t now = 0;                        ///< the moment
  std::vector<const Timeline::Run*> run;  ///< by node: nullptr where it begins at `now` or later
  std::span<const Timeline::Transfer> transfers;  ///< all of nodes that ended by then
};

/// By device: bytes that it needs at one time in any order. `device`: by node; kOpen counts
/// nowhere.
std::vector<int64_t> least_bytes(const CostGraph& graph, const std::vector<int>& device,
                                 int devices);
/// What a schedule comes to that is done by then and needs so many bytes by device.
Outcome outcome_of(Picoseconds makespan, std::span<const int64_t> bytes, const Topology& topology);

/// A machine that does one job at a time, each from its release on; after it `tail` must pass.
struct MachineJob {
  int64_t release, time, tail;
};
/// When all jobs and tails are over if jobs may be interrupted: the one of the longest tail first
/// (Jackson's preemptive schedule: Carlier 1982). No schedule of the machine ends earlier. Empties
/// `jobs`.
int64_t one_machine_bound(std::vector<MachineJob>& jobs);

/// A lower bound on the makespan of all schedules that go on from a partial one: the longest path,
/// or the largest one-machine bound of a device, an engine or a bus. A node that is on no device
/// yet takes its fastest time, and what it reads and writes needs no transfer. A transfer that
/// nobody has asked for yet waits for those that were asked for, but not for others.
class ScheduleBound {
 public:
  /// The simulator must outlive it.
  explicit ScheduleBound(const Simulator& simulator);

  Picoseconds of(const PartialSchedule& partial);
  /// Of the last call: no schedule begins the node earlier, or ends it earlier.
  int64_t begins(int node) const { return head_[static_cast<size_t>(node)]; }
  int64_t ends(int node) const { return begins(node) + time_[static_cast<size_t>(node)]; }

 private:
  struct Sending {
    int from, to;
    MachineJob job;
  };

  void begin(const PartialSchedule& partial);
  void heads(const PartialSchedule& partial);
  int64_t there_at(const PartialSchedule& partial, int tensor, int device) const;
  int64_t engines_free(int from, int to) const;
  void tails(const PartialSchedule& partial);
  void list_sendings(const PartialSchedule& partial);
  int64_t longest_path() const;
  int64_t busiest_device(const PartialSchedule& partial);
  int64_t busiest_engine();

  const Simulator* simulator_;
  std::vector<int64_t> fastest_;             ///< by node
  std::vector<int64_t> time_, head_, tail_;  ///< by node
  std::vector<int64_t> arrived_;             ///< tensor x device; -1: it is not sent yet
  std::vector<int64_t> sends_until_, receives_until_, bus_until_;
  std::vector<int64_t> last_;      ///< by device
  std::vector<Sending> sendings_;  ///< that nobody asked for yet
  std::vector<MachineJob> jobs_;
};

}  // namespace reverie
