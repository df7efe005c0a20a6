#pragma once

#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "env/placement/graph/cost_graph.h"

namespace reverie {

/// How a node of a cost graph is run by itself.
struct NodeProgram {
  /// A tensor of the cost graph, read as of this shape: views are no nodes.
  struct View {
    int tensor = 0;
    Shape shape;
  };

  /// The operator with the work on constants that it needs. Nothing but an output for an "Input".
  Graph graph;
  std::vector<View> inputs;  ///< in the order of those of `graph`
  int first_output = 0;      ///< number of its first tensor; the others follow
  std::string name;          ///< as a message names it
};

/// A tensor graph as a cost graph of kind "core" and programs of its nodes.
struct CoreProgram {
  /// As cost_graph_of (model_graph.h) makes it for a "cpu", which is called "core" here.
  CostGraph graph;
  std::vector<NodeProgram> nodes;        ///< by node
  std::vector<TensorType> tensor_types;  ///< by tensor
  std::vector<int>
      inputs;  ///< of the model, in their order: numbers of tensors; -1: nobody reads it
  std::vector<NodeProgram::View> outputs;  ///< of the model, in their order, without constant ones
};

/// InputError for a model without operators or inputs, and with one that is opaque.
CoreProgram core_program(const Graph& model, const std::string& name);

}  // namespace reverie
