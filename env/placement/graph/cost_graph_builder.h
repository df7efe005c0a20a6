#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/cost/roofline.h"
#include "env/placement/graph/cost_graph.h"

namespace reverie {

/// Makes a cost graph node by node. Kinds of devices are machines that the roofline knows
/// (core/cost/roofline.h), and what a node takes on each follows from the work it does.
class CostGraphBuilder {
 public:
  /// The kinds in the order of the alphabet, each once. InputError for one that is unknown, which
  /// lists those that are known.
  explicit CostGraphBuilder(std::vector<std::string> kinds);

  /// Numbers from 0. The node costs what the roofline says of `work`; without, nothing.
  int add_node(std::string name, std::string op, const OpSignature* work = nullptr);
  /// What a node gives out, and its number.
  int add_tensor(int producer, int64_t bytes);
  /// However often it is said, a node reads a tensor once.
  void read(int node, int tensor);
  /// Adds to the node's persistent bytes.
  void hold(int node, int64_t bytes);
  /// Both are in one colocation group.
  void keep_together(int node, int other);

  const std::string& node_name(int node) const { return nodes_[static_cast<size_t>(node)].name; }
  int producer(int tensor) const { return tensors_[static_cast<size_t>(tensor)].producer; }

  /// Groups are numbered in the order of their first nodes. InputError as CostGraph.
  CostGraph finish(std::string name);

 private:
  int leader(int node);
  void number_groups();

  std::vector<std::string> kinds_;
  std::vector<DeviceProfile> profiles_;
  std::vector<CostNode> nodes_;
  std::vector<Picoseconds> costs_;
  std::vector<CostTensor> tensors_;
  CostParts parts_;
  std::vector<int> leader_;  ///< towards the first node of the group (union-find)
};

}  // namespace reverie
