#pragma once

#include <span>
#include <vector>

#include "env/rewrite/search/egraph/egraph.h"
#include "env/rewrite/search/egraph/extraction.h"

namespace reverie {

/// Choosing the graph with the least run time out of an e-graph. Valid until the e-graph changes.
class Extraction {
 public:
  /// `weight_limit`: most bytes of weights that the graph may have.
  Extraction(const EGraph& egraph, int64_t weight_limit);

  const ExtractionProblem& problem() const { return problem_; }
  /// What a graph made of these nodes, inputs first, has become.
  Selection selection_of(std::span<const NodeId> nodes) const;
  /// The nodes that a selection with a cost needs, constants apart, inputs first.
  std::vector<NodeId> nodes_of(const Selection& selection) const;
  /// The graph of a selection that has a cost.
  Graph build(const Selection& selection) const;

 private:
  int number(ValueId value);
  int weight(ValueId value);
  void add_node(NodeId node);

  const EGraph& egraph_;
  ExtractionProblem problem_;
  std::vector<int> class_of_;   // by value: number, or -1
  std::vector<int> weight_of_;  // by value: number of the constant, or -1
  std::vector<int> node_of_;    // by node: number, or -1
  std::vector<NodeId> nodes_;   // by number of the node
  std::vector<ValueId> names_;  // by number of the class
};

}  // namespace reverie
