#include "datasets/shard.h"
#include "tests/fuzz/layouts.h"
#include "tests/fuzz/target.h"

namespace reverie::fuzz {

Layout rollout_layout() {
  using enum hdf5::Element;
  static constexpr const char* kAttributes[] = {"schema", "seed", "planned_episodes",
                                                "shard_episodes", "first_episode"};
  static constexpr DataSet kDataSets[] = {{"spec", kUint8},
                                          {"config", kUint8},
                                          {"node_rows/type", kUint32, true},
                                          {"node_rows/features", kHalf},
                                          {"edge_rows/features", kHalf},
                                          {"states/key", kUint64},
                                          {"states/nodes", kUint32, true},
                                          {"states/edges", kUint32, true},
                                          {"states/node_row", kUint32, true},
                                          {"states/node_entity", kUint32, true},
                                          {"states/node_target", kHalf},
                                          {"states/edge_row", kUint32, true},
                                          {"states/edge_receiver_step", kUint32, true},
                                          {"states/edge_sender_back", kUint32, true},
                                          {"states/graph_target", kFloat32},
                                          {"states/entities", kUint32, true},
                                          {"states/cells", kUint32, true},
                                          {"states/cell_step", kUint32, true},
                                          {"states/cell_choices", kUint32, true},
                                          {"states/cell_features", kHalf},
                                          {"episodes/seed", kUint64},
                                          {"episodes/steps", kUint32, true},
                                          {"episodes/start_graph", kUint32, true},
                                          {"episodes/split", kUint8},
                                          {"episodes/agent", kUint32, true},
                                          {"episodes/final_state", kUint32, true},
                                          {"episodes/agents", kUint8},
                                          {"steps/state", kUint32, true},
                                          {"steps/primary", kUint32, true},
                                          {"steps/entity", kUint32, true},
                                          {"steps/index", kUint32, true},
                                          {"steps/reward", kFloat32},
                                          {"steps/end", kUint8},
                                          {"steps/objective", kFloat64},
                                          {"steps/feasible", kUint8}};
  return {kAttributes, kDataSets};
}

void read_rollouts(std::string_view bytes) {
  const std::string image = image_of(rollout_layout(), bytes);
  const Shard shard = read_shard(as_file("shard-00000.h5", hdf5::sealed(kRolloutFile, image)));
  for (size_t i = 0; i < shard.states.size(); ++i) shard.states.decode(i);
}

}  // namespace reverie::fuzz
