#pragma once

#include <string>

#include "core/ir/graph.h"
#include "env/placement/graph/cost_graph.h"
#include "env/placement/graph/topology.h"

namespace reverie {

/// One step of training a model by gradient descent: the nodes of cost_graph_of (model_graph.h),
/// and then, from the last operator to the first, the nodes of reverse differentiation.
///
/// - Each output that depends on a weight has a node "LossGrad", which reads the output and gives
///   its gradient out.
/// - Each operator has one node for each input that needs a gradient, as gradient_rules.cpp says:
///   what it reads of the forward pass stays in memory until then. Adding and renaming data need
///   none. Where an input was broadcast, a "ReduceSum" follows.
/// - Where several nodes give a gradient of one value, a node "Sum" adds them up.
/// - Each weight has a node "Update", which reads its gradient and subtracts it: no momentum.
///   A weight is a constant of floats with more than one element, with what is computed from
///   constants alone already done. Statistics of BatchNormalization and exponents are none.
/// - Nodes of the gradient of an operator, and the update of the weights that it holds, are in its
///   colocation group. So it is in the graphs of Mirhoseini et al. ("Device placement optimization
///   with reinforcement learning", ICML 2017).
///
/// Costs are those of the roofline for an operator with the same FLOPs and bytes.
///
/// InputError as cost_graph_of; for an operator through which a gradient must pass and which has no
/// rule, or has a fused activation or residual, with its name; where no output depends on a weight.
CostGraph training_graph_of(const Graph& graph, const Topology& topology, const std::string& name);

}  // namespace reverie
