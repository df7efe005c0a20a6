#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "env/placement/graph/cost_graph.h"
#include "env/placement/graph/topology.h"
#include "env/placement/simulator/event_queue.h"
#include "env/placement/simulator/receive_lanes.h"

namespace reverie {

/// By node: where it runs, what runs first where several could, and what is fused.
struct Placement {
  std::vector<int> device;
  std::vector<int64_t> priority;  ///< the higher the earlier; empty: all equal
  /// Nodes of one number that are on one device are one kernel, as far as that is possible
  /// (kernels_of). Empty: nothing is said of fusion. Simulator, which runs graphs as they are, does
  /// not read it.
  std::vector<int> kernel = {};
};

enum class Dispatch : uint8_t {
  kReady,    ///< a device that is free runs the best of the nodes that are ready
  kInOrder,  ///< it runs its nodes by priority alone, and waits for the next one
};

struct Outcome {
  Picoseconds makespan;
  int64_t peak_bytes = 0;  ///< of the device that needs most
  int64_t bytes_over = 0;  ///< summed over the devices that need more than they have
  int misplaced = 0;       ///< nodes on devices of a kind that cannot run them

  bool feasible() const { return bytes_over == 0 && misplaced == 0; }
  bool operator==(const Outcome&) const = default;
};

/// What happened when, for reports and tests.
struct Timeline {
  struct Run {
    int node, device;
    Picoseconds start, end;
  };
  struct Transfer {
    int tensor, from, to;
    Picoseconds start, end;
  };
  struct MemoryStep {
    int device;
    Picoseconds time;
    int64_t bytes;  ///< from now on
  };

  std::vector<Run> runs;            ///< in the order of their starts
  std::vector<Transfer> transfers;  ///< in the order of their requests
  std::vector<MemoryStep> memory;   ///< in time
};

/// Runs placements of a graph on devices by discrete events.
///
/// - A node is ready when all that it reads is on its device. A device runs one node at a time. Of
///   the nodes that are ready it takes that of the highest priority, then the one that was ready
///   first, then the one of the lowest number.
/// - A node that ends asks for one transfer of each tensor to each other device that reads it, by
///   tensor and device in the order of their numbers. A transfer begins when the sending engine,
///   the receiving engine and the bus are free of all that was asked for before, and holds them
///   until it arrives. Engines and buses can be switched off.
/// - Memory: a node's persistent bytes are there all the time, its temporary bytes while it runs.
///   Its outputs are there from its start until the last reader on the device is done and the last
///   transfer has arrived; what nobody reads stays. At the other side a tensor is there from the
///   transfer's start until its last reader there is done. Too much is a state, not an error.
/// - At one time nodes end first, then transfers arrive, transfers begin, and nodes begin.
///
/// No allocation once it is made, but for a timeline. Copies run independently.
class Simulator {
 public:
  /// Both must outlive it. InputError for more than 64 devices, for kinds that
  /// the graph does not know, and for a node that none of the devices can run.
  Simulator(const CostGraph& graph, const Topology& topology);

  /// InputError for another number of nodes, a device that is not there, and,
  /// in order, for priorities that wait for each other.
  Outcome run(const Placement& placement, Dispatch dispatch = Dispatch::kReady,
              Timeline* timeline = nullptr);

  /// InputError for a colocation group that none of the devices can run as a whole.
  void require_groups() const;

  const CostGraph& graph() const { return *graph_; }
  const Topology& topology() const { return *topology_; }
  Picoseconds cost(int node, int device) const;
  bool can_run(int node, int device) const {
    return (forbidden_[static_cast<size_t>(node)] >> device & 1) == 0;
  }
  Picoseconds transfer(int tensor, int from, int to) const;

 private:
  enum EventKind : uint32_t { kNodeEnds, kArrives, kTransferBegins };
  struct FlatNode {
    int64_t temporary, outputs;     ///< bytes
    int first_input, first_output;  ///< up to those of the next node
  };
  struct FlatTensor {
    int64_t bytes;
    int producer, first_reader;  ///< up to that of the next tensor
  };
  struct Ready {
    int64_t priority, since;
    int node;
  };
  struct RunsLater {
    bool operator()(const Ready& a, const Ready& b) const;
  };

  size_t cell(int tensor, int device) const {
    return static_cast<size_t>(tensor) * devices_ + static_cast<size_t>(device);
  }
  void forbid(const std::vector<int>& kinds);
  uint64_t all_devices() const;
  void flatten();
  std::span<const int> inputs(int node) const;
  std::span<const int> readers(size_t tensor) const;
  void check(const Placement& placement) const;
  void begin();
  void count_uses();
  void push(int64_t time, EventKind kind, uint64_t number);
  void handle(const Event& event);
  void end_node(int node);
  void arrive(uint64_t number);
  void request(int tensor, int from, int to);
  void next_arrival(size_t device);
  void begin_transfers(size_t device);
  void input_is_there(int node);
  void take(int tensor, int device);
  void add_bytes(int device, int64_t bytes);
  void start_nodes();
  int next_on(size_t device);
  void start(int node, size_t device);

  const CostGraph* graph_;
  const Topology* topology_;
  size_t devices_;
  std::vector<FlatNode> nodes_;      ///< of the graph, and one more at the end
  std::vector<FlatTensor> tensors_;  ///< likewise
  std::vector<int> inputs_, readers_;
  std::vector<int64_t> costs_;        ///< node x device
  std::vector<uint64_t> forbidden_;   ///< by node: devices that cannot run it, a bit each
  std::vector<int> link_class_;       ///< device x device
  std::vector<int64_t> class_times_;  ///< link class x tensor

  // Of a run.
  const Placement* placement_ = nullptr;
  Dispatch dispatch_ = Dispatch::kReady;
  Timeline* timeline_ = nullptr;
  int64_t now_ = 0;
  int64_t begun_before_ = 0;  ///< transfers in lanes that began before take memory
  size_t done_ = 0;
  Outcome outcome_;
  EventQueue events_;
  ReceiveLanes lanes_;                     ///< where receiving engines are on
  std::vector<std::vector<Ready>> ready_;  ///< heaps, by device; in order: sorted, the last next
  std::vector<int> waiting_;               ///< inputs that a node lacks
  std::vector<int> uses_;                  ///< tensor x device: readers and transfers to come
  std::vector<uint64_t> sent_to_;          ///< by tensor: devices, as bits
  std::vector<int> running_;               ///< by device; -1: free
  uint64_t changed_ = 0;                   ///< devices that may have something to start, as bits
  std::vector<int64_t> used_, peak_;       ///< bytes, by device
  std::vector<int64_t> sends_until_, receives_until_, bus_until_;
};

}  // namespace reverie
