#pragma once

#include "controller/modelfree/agent_ppo.h"
#include "env/rewrite/search/measured_search.h"

namespace reverie {

/// Model-free learning from measurements: the control arm of every model of them.
struct MeasuredPpoConfig {
  AgentPpoConfig agent;
  bool shaped = false;

  template <class V>
  void fields(V& v) {
    agent.net.fields(v);
    v.section("ppo", agent.ppo, "Proximal policy optimization");
    v.field("batch", agent.batch, "Episodes played for an update", at_least(1));
    v.field(
        "shaped", shaped,
        "Steps are worth what they gain by the cost model, the last besides what the measurement "
        "differs from their sum; else a step is worth nothing, and the last all that was measured");
  }
};

/// A RewriteEnvironment by the cost model of the run's start, the graph not cut, whose rewards sum
/// over an episode to the fall of the measured time, in percent of the original's: the graph at its
/// end is measured, unless it was before. `shaped`: as in MeasuredPpoConfig. Where no more may be
/// measured, or its weights are above the bound, it passes for as fast as the original. It and its
/// forks use `run`, one at a time.
std::unique_ptr<Environment> measured_environment(MeasuredRun& run, bool shaped);

/// PPO on episodes of measured_environment. Learns until no more may be measured, or 50 updates in
/// a row bring no new graph; as many as that takes, whatever `agent.updates` says.
MeasuredArm ppo_on_measurements(const MeasuredPpoConfig& config);

}  // namespace reverie
