#pragma once

#include <vector>

#include "env/placement/simulator/simulator.h"
#include "worldmodel/network/graph_sage.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// Names of operators are hashed into so many numbers, so that weights serve other graphs.
inline constexpr int64_t kOperatorNumbers = 64;

/// Columns of NodeFeatures::values.
constexpr int64_t node_columns(int devices) { return 2 * int64_t{devices} + 11; }

/// What a network reads of a graph and its devices. Rows are nodes in topological order
/// (CostGraph::order).
///
/// | columns | what                                                                          |
/// | ------- | ----------------------------------------------------------------------------- |
/// | devices | time on each device                                                           |
/// | 2       | time that the tensors read, and those written, take over the mean link        |
/// | 1       | log10 of all that is written over all times, in thirds, from -1 to 1          |
/// | 4       | bytes read, written, persistent, temporary                                    |
/// | 2       | edges that lead to and from it                                                |
/// | 2       | longest path to its start, and from its start on                              |
/// | devices | the device's memory as a share of all of the graph's bytes, at most 1         |
///
/// Times, transfers and bytes are log(1 + x / their mean in the graph), edges log(1 + x). Then each
/// column that differs between nodes is less its mean and over its standard deviation; times on all
/// devices have these in common. Paths are made of mean times of devices, without transfers.
struct NodeFeatures {
  explicit NodeFeatures(const Simulator& simulator);

  torch::Tensor values;           ///< float [nodes, node_columns]
  torch::Tensor operators;        ///< int64 [nodes], below kOperatorNumbers
  NeighbourRows inputs, outputs;  ///< those that a row reads of, and that read of it
  torch::Tensor row;              ///< int64 [nodes]: of each node, by its number
  torch::Tensor entity;           ///< int64 [nodes]: number among PlacementEntities
  torch::Tensor first_of_entity;  ///< int64 [entities]: the row of its first node
  torch::Tensor nodes_of_entity;  ///< float [entities, 1]: how many

  int64_t nodes() const { return values.size(0); }
  int64_t entities() const { return nodes_of_entity.size(0); }
  /// [..., nodes, n] -> [..., entities, n]
  torch::Tensor mean_of_entities(const torch::Tensor& rows) const;
  /// [..., entities, n] -> [..., nodes, n]
  torch::Tensor of_nodes(const torch::Tensor& entities) const;
};

}  // namespace reverie
