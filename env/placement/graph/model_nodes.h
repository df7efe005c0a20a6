#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "env/placement/graph/cost_graph_builder.h"
#include "env/placement/graph/topology.h"

namespace reverie {

std::vector<std::string> kinds_of(const Topology& topology);

/// The operators of a tensor graph as nodes of a cost graph (model_graph.h), and which of them is
/// which. The graph must outlive it.
class ModelNodes {
 public:
  ModelNodes(const Graph& graph, CostGraphBuilder& builder);

  /// Work that is no view, each node after those that it reads of.
  const std::vector<NodeId>& operators() const { return operators_; }
  /// The number of an operator.
  int node(NodeId id) const { return nodes_[static_cast<size_t>(id.index)]; }
  /// What a value is a view of: the output of an operator or an input, or a constant.
  ValueId source(ValueId value) const;
  /// The number of the tensor that holds a value which is no constant.
  int tensor(ValueId value) const;
  /// The node that holds a constant which an operator reads: its first reader.
  int holder(ValueId constant) const { return holders_.at(constant); }

 private:
  void add(NodeId id);
  void read(int node, ValueId input);

  const Graph& graph_;
  CostGraphBuilder& builder_;
  std::vector<NodeId> operators_;
  std::vector<int> nodes_;    ///< by node of the tensor graph; -1: none
  std::vector<int> tensors_;  ///< by value; -1: none
  std::map<ValueId, int> holders_;
};

}  // namespace reverie
