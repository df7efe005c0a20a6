#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "env/placement/simulator/simulator.h"

namespace reverie {

// Fusion: nodes of one device become one kernel. Between them nothing is written to memory.
//
// On a kind of device a fused node takes
//
//   launch + max(sum of arithmetic, moved bytes / bandwidth)
//
// by the graph's CostParts. Moved are the bytes of all its nodes without tensors that one of them
// gives to another: these are not read, and not written where nobody else reads them. What two of
// them read from outside is read once. Persistent and temporary bytes are sums. Colocation groups
// of its nodes become one group, wherever their other nodes are.
//
// A graph whose costs have no parts cannot be fused: InputError.

struct FusedGraph {
  CostGraph graph;
  std::vector<int> node_of;  ///< by node of the graph that was fused
};

/// Whether nodes of equal numbers can be fused: none of the kernels waits for itself, and a node
/// that starts no kernel (it takes no time on any kind, such as an input) is alone. InputError
/// for another number of nodes.
bool can_fuse(const CostGraph& graph, const std::vector<int>& cluster_of_node);

/// Fused nodes are in the order of their first nodes. They have the name of the first, "+" and the
/// number of others, and the operator of the one that does the most arithmetic on the first kind.
/// InputError where they cannot be fused.
FusedGraph fuse(const CostGraph& graph, const std::vector<int>& cluster_of_node);

/// The placement on the fused graph: fused nodes are where their nodes were, and have the highest
/// priority among these. To be run in order, priorities are followed as far as the graph allows.
/// InputError where nodes of one fused node are on several devices.
Placement fused_placement(const FusedGraph& fused, const Placement& placement, Dispatch dispatch);

/// Fuses two clusters at a time. By the formula above one kernel for all would be the fastest, but
/// nobody can write it. So a cluster has at most one node that takes longer for arithmetic than for
/// memory (convolutions and large products are not fused with each other), and 64 nodes in all.
class Fusion {
 public:
  static constexpr size_t kMostNodes = 64;  ///< of a cluster

  /// `device` by node; every node is a cluster of its own. Graph and topology must outlive it.
  /// InputError as above, and for kinds that the graph does not know.
  Fusion(const CostGraph& graph, const Topology& topology, std::vector<int> device);

  /// Whether the clusters of both nodes are two that can be fused.
  bool allows(int node, int other);
  /// What fusing them adds to the sum of all costs. They must be on one device.
  Picoseconds change(int node, int other) const;
  /// Only where it is allowed.
  void merge(int node, int other);

  /// By node: a number of its cluster.
  const std::vector<int>& clusters() const { return cluster_; }
  const std::vector<int>& members(int node) const { return members_[at(node)]; }
  /// The sum of the costs of all clusters, each on its device.
  Picoseconds cost() const { return total_; }

 private:
  static constexpr int kGap = -1;
  /// From one cluster on along tensors, or against them.
  struct Search {
    bool is_forward;
    size_t start = 0;
    uint64_t stamp = 0;  ///< of what it has seen
    std::vector<int> found = {};
    size_t looked = 0;  ///< around the start and so many less one of those that were found

    void begin(size_t cluster, uint64_t number) {
      start = cluster;
      stamp = number;
      found.clear();
      looked = 0;
    }
    bool is_done() const { return looked > found.size(); }
    size_t next() { return looked++ == 0 ? start : static_cast<size_t>(found[looked - 2]); }
  };

  size_t at(int node) const { return static_cast<size_t>(cluster_[static_cast<size_t>(node)]); }
  int kind(int node) const { return kinds_[static_cast<size_t>(node)]; }
  std::vector<int> merged_members(int node, int other) const;
  bool look_around(size_t cluster, Search& search, const Search& other);
  bool has_way_around(size_t before, size_t after);
  void reorder(size_t before, size_t after);

  const CostGraph& graph_;
  std::vector<int> device_, kinds_, cluster_;  ///< by node
  std::vector<std::vector<int>> members_;      ///< by cluster
  std::vector<Picoseconds> costs_;             ///< by cluster
  std::vector<int> bound_by_arithmetic_;       ///< by cluster: nodes
  std::vector<int> position_;                  ///< by cluster: its place in the order
  std::vector<int> order_;      ///< clusters, each after those that it waits for, and gaps
  std::vector<uint64_t> seen_;  ///< by cluster: the last search that found it
  uint64_t searches_ = 0;
  Search forward_{.is_forward = true};  ///< of the last call of `allows`, both
  Search backward_{.is_forward = false};
  int low_ = 0, high_ = 0;  ///< positions between which they search
  Picoseconds total_;
};

/// Greedy fusion by priority (GO, Zhou et al. 2020): the node of the highest priority first, each
/// is fused with the clusters of the nodes that read from it, in their order, where that is allowed
/// and the sum of costs becomes smaller. Nodes below 0 are left out: only those that they read from
/// fuse them. Returns a number by node, equal in one cluster: Placement::kernel. InputError as
/// Fusion, and for another number of priorities.
std::vector<int> greedy_fusion(const Simulator& simulator, const Placement& placement,
                               std::span<const double> priority);

/// What Placement::kernel comes to: the nodes of one number and one device where Fusion allows all
/// of these clusters, otherwise clusters within them that it allows. What comes out comes to
/// itself. InputError as Fusion, and for another number of nodes.
std::vector<int> kernels_of(const Simulator& simulator, const Placement& placement);

/// No placement is done before this, whatever is fused: arithmetic and weights remain.
Picoseconds fused_lower_bound(const CostGraph& graph, const Topology& topology);

}  // namespace reverie
