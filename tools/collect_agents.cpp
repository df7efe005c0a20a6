#include "tools/collect_agents.h"

#include "controller/modelfree/agent_ppo.h"
#include "controller/modelfree/script_agent.h"
#include "core/base/stopwatch.h"

namespace reverie {
namespace {

constexpr char kPpo[] = "ppo";

/// LibTorch gets one thread, so that the weights, and with them the data, follow from the seed
/// alone.
Player trained_player(const CollectStepConfig& config, const Environment& environment,
                      const CommonOptions& options) {
  torch::set_num_threads(1);
  const int graphs = environment.spec().start_states();
  const PpoAgentRun run{graphs_to_train_on(config.collect, config.seed, graphs), config.seed,
                        options.out + "/agent.pt", options.resume, options.progress()};
  const Stopwatch watch;
  Player player;
  player.agent =
      make_ppo_agent(environment, config.agents.of<AgentPpoConfig>(kPpo), run, player.training);
  player.seconds = watch.seconds();
  return player;
}

std::unique_ptr<CollectAgent> script_agent(const std::string& file) {
  torch::set_num_threads(1);
  return load_script_agent(file);
}

bool add_ppo() {
  learning_agents.add<AgentPpoConfig>(kPpo, "The agent ppo, which is trained before it plays");
  return agent_of_ppo.is(trained_player);
}

const bool kAgentsAdded = add_ppo() && agent_in_file.is(script_agent);

}  // namespace
}  // namespace reverie
