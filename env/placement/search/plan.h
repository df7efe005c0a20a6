#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "env/placement/simulator/ordered_placement.h"
#include "env/placement/simulator/simulator.h"

namespace reverie {

// What the heuristics plan with.

/// A schedule that grows node by node. Each node is put after those that it reads of. Of memory
/// only persistent bytes count.
class Plan {
 public:
  enum class Transfers : uint8_t {
    kFree,    ///< each begins when its tensor is there
    kQueued,  ///< each waits for its two engines, where the topology has them, and for all
              ///< transfers to and from nodes that were put before
  };

  /// The simulator must outlive it.
  explicit Plan(const Simulator& simulator, double reserve = 0);
  /// Takes all nodes out. From now on this share of each device's memory is kept for what is not
  /// persistent.
  void clear(double reserve, Transfers transfers);

  /// Where a node may go: its group's device, else all that can run the group and have the memory,
  /// else all that can run it, else all. Valid until the next call.
  const std::vector<int>& choices(int node);
  /// When all that a node reads is on a device.
  int64_t ready(int node, int device) const;
  /// The earliest start, in the first gap that is large enough or, without `gaps`, at the end.
  int64_t earliest(int node, int device, bool gaps) const;
  void put(int node, int device, int64_t start);
  /// Puts it where it ends first, of several where it starts first.
  void put_where_it_ends_first(int node, bool gaps);

  /// -1: not yet put.
  int device(int node) const { return device_[static_cast<size_t>(node)]; }
  int64_t start(int node) const { return start_[static_cast<size_t>(node)]; }
  int64_t end(int node) const { return end_[static_cast<size_t>(node)]; }
  /// Of nodes that start at one time, the one that was put first comes first. All must be put.
  Placement placement() const;

 private:
  struct Interval {
    int64_t begin, end;
    auto operator<=>(const Interval&) const = default;
  };
  /// When and where a tensor is made.
  struct Made {
    int64_t end = 0;
    int device = -1;
  };

  const CostGraph& graph() const { return simulator_->graph(); }
  size_t cell(int tensor, int device) const {
    return static_cast<size_t>(tensor) * busy_.size() + static_cast<size_t>(device);
  }
  int home(int tensor) const { return made_[static_cast<size_t>(tensor)].device; }
  /// When a tensor is on a device that receives other tensors until then.
  int64_t arrival(int tensor, int device, int64_t receives_until) const;
  void book_transfers(int node, int device);

  const Simulator* simulator_;
  Transfers transfers_ = Transfers::kFree;
  std::vector<std::vector<Interval>> busy_;  ///< by device, ascending
  std::vector<int64_t> limit_, persistent_;
  std::vector<int64_t> start_, end_;
  std::vector<Made> made_;  ///< by tensor; beside each other what is looked up most
  std::vector<int> device_, placed_, choices_;
  std::vector<int64_t> sends_until_, receives_until_;
  std::vector<int64_t> arrived_;  ///< tensor x device; -1: not sent
  PlacementEntities entities_;
  std::vector<int64_t> entity_bytes_;  ///< persistent
  std::vector<bool> runs_;             ///< entity x device: whether all of it can run there
  std::vector<int> entity_device_;     ///< -1: none of its nodes is put
};

/// By node the longest path from it on, its own cost included, with mean costs of the devices and,
/// if wanted, mean transfers between two different ones. Times the number of pairs of different
/// devices, so that equal ranks are equal.
using Rank = __int128;
std::vector<Rank> upward_ranks(const Simulator& simulator, bool with_transfers);

/// Over the devices, and over the pairs of different ones, in picoseconds; 0 where there are none.
double mean_cost(const Simulator& simulator, int node);
double mean_transfer(const Simulator& simulator, int tensor);

/// Nodes all of whose inputs have been computed.
class ReadyNodes {
 public:
  /// The graph must outlive it.
  explicit ReadyNodes(const CostGraph& graph);
  const std::vector<int>& nodes() const { return nodes_; }
  void done(int node);

 private:
  const CostGraph* graph_;
  std::vector<size_t> waiting_;
  std::vector<int> nodes_;
};

}  // namespace reverie
