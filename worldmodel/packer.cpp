#include "worldmodel/packer.h"

namespace reverie {

std::vector<std::vector<int>> pack_states(const EpisodeSource& data, const std::vector<int>& states,
                                          int max_nodes, int max_graphs) {
  std::vector<std::vector<int>> batches;
  int nodes = 0;
  for (const int state : states) {
    const int more = data.node_count(state);
    const bool fits = !batches.empty() && nodes + more <= max_nodes &&
                      static_cast<int>(batches.back().size()) < max_graphs;
    if (!fits) {
      batches.emplace_back();
      nodes = 0;
    }
    batches.back().push_back(state);
    nodes += more;
  }
  return batches;
}

ObservationBatch load_states(const EpisodeSource& data, const std::vector<int>& states) {
  std::vector<Observation> observations;
  for (const int state : states) observations.push_back(data.state(state));
  return batch_observations(observations, data.spec());
}

}  // namespace reverie
