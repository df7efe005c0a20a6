#pragma once

#include <memory>
#include <string>

#include "tools/collect_config.h"
#include "tools/common.h"
#include "tools/learning.h"

namespace reverie {

/// Who plays, and what its training took, the real work of all and the time of this call.
struct Player {
  std::unique_ptr<CollectAgent> agent;
  EnvCounters training;
  double seconds = 0;
};

/// The agent ppo, trained in the environment and kept in the folder of the run.
inline LearningPart<Player(const CollectStepConfig& config, const Environment& environment,
                           const CommonOptions& options)>
    agent_of_ppo;

/// An agent in TorchScript. InputError where the file holds none.
inline LearningPart<std::unique_ptr<CollectAgent>(const std::string& file)> agent_in_file;

}  // namespace reverie
