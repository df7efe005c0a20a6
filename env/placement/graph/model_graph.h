#pragma once

#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "env/placement/graph/cost_graph.h"
#include "env/placement/graph/topology.h"

namespace reverie {

// The cost graph of a tensor graph on the devices of a topology. A device's kind is the name of a
// machine that the roofline knows (core/cost/roofline.h: cpu, t4, v100, a100, h100, h200), and
// nodes cost what it says. Transfers take what links need for the bytes.
//
// - Each operator that is work is a node. A graph input is a node "Input" that takes no time: its
//   tensor takes memory where it is put, and is sent from there.
// - Views (Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout) are no nodes, as they take
//   neither time nor memory: who reads a view reads what is viewed.
// - Work on constants is done before run time and is no node. Constants are persistent bytes of the
//   node that reads them. One of more than 64 elements is counted once, at its first reader, and
//   all its readers are one colocation group: none of them finds it on another device. A smaller
//   one is counted at each reader.
// - An output that is read by nodes, too, is freed after the last of them, as the simulator frees
//   every tensor.
//
// Nodes have the names of the graph's, or OPERATOR_NUMBER.

/// Work of a model that is no node of its cost graph.
struct FoldedNode {
  std::string name, op;
  std::string into;  ///< of a view: the node whose output it views; of work on constants: the first
                     ///< node that reads it
};

/// In the order of the graph; what reading the file left out already is not among them.
std::vector<FoldedNode> folded_nodes(const Graph& graph, const Topology& topology);

/// InputError for a kind that the roofline does not know, and for a graph without operators or
/// inputs.
CostGraph cost_graph_of(const Graph& graph, const Topology& topology, const std::string& name);

}  // namespace reverie
