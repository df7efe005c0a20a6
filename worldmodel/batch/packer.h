#pragma once

#include <vector>

#include "worldmodel/batch/episode_source.h"
#include "worldmodel/batch/graph_batch.h"

namespace reverie {

/// Splits states into minibatches, in order, each of at most `max_nodes` nodes (a larger graph
/// stands alone) and `max_graphs` graphs, entities with their padding no more than nodes.
std::vector<std::vector<int>> pack_states(const EpisodeSource& data, const std::vector<int>& states,
                                          int max_nodes, int max_graphs);

ObservationBatch load_states(const EpisodeSource& data, const std::vector<int>& states);

}  // namespace reverie
