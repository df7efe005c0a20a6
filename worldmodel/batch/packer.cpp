#include "worldmodel/batch/packer.h"

#include <algorithm>

namespace reverie {

std::vector<std::vector<int>> pack_states(const EpisodeSource& data, const std::vector<int>& states,
                                          int max_nodes, int max_graphs) {
  std::vector<std::vector<int>> batches;
  int nodes = 0, entities = 0;
  for (const int state : states) {
    const int more = data.node_count(state),
              largest = std::max(entities, data.mask(state).entities);
    const int graphs = batches.empty() ? max_graphs : static_cast<int>(batches.back().size());
    const bool fits = graphs < max_graphs && nodes + more <= max_nodes &&
                      int64_t{graphs + 1} * largest <= max_nodes;
    if (!fits) batches.emplace_back();
    batches.back().push_back(state);
    nodes = fits ? nodes + more : more;
    entities = fits ? largest : data.mask(state).entities;
  }
  return batches;
}

ObservationBatch load_states(const EpisodeSource& data, const std::vector<int>& states) {
  std::vector<Observation> observations;
  for (const int state : states) observations.push_back(data.state(state));
  return batch_observations(observations, data.spec());
}

}  // namespace reverie
