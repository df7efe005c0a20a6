#pragma once

#include <vector>

#include "env/placement/graph/cost_graph.h"
#include "env/placement/machine/model_on_devices.h"

namespace reverie {

/// A node of a model, put in its stream.
struct StreamStep {
  int node = 0, stream = 0;
  std::vector<int> after;   ///< nodes of other streams whose ends the stream waits for before it
  bool is_awaited = false;  ///< whether another stream waits for its end
};

/// The nodes of a schedule by streams, each behind those that it reads of. A stream waits for a
/// node only where neither its own order nor earlier waits, its own and those of nodes that it
/// waited for, have that node done by then. Inputs of the model are there from the start, and no
/// steps. Streams must not wait for each other.
std::vector<StreamStep> stream_steps(const CostGraph& graph, const OrderByDevice& order);

}  // namespace reverie
