#include "controller/trainer_config.h"

namespace reverie {

std::unique_ptr<Trainer> make_trainer(const LatentSpec& spec, const TrainerConfig& config,
                                      uint64_t seed) {
  switch (config.trainer) {
    case TrainerKind::kPpo:
      return std::make_unique<PpoTrainer>(spec, config.policy, config.ppo, seed);
    case TrainerKind::kCmaEs:
      return std::make_unique<CmaEsTrainer>(spec, config.cmaes, seed);
    case TrainerKind::kReinforce:
      return std::make_unique<ReinforceTrainer>(spec, config.policy, config.reinforce, seed);
  }
  throw InternalError("no such trainer");
}

void store_policy(Checkpoint& checkpoint, const Trainer& trainer, const TrainerConfig& config,
                  uint64_t seed) {
  checkpoint.configs["controller"] = dump_config(config);
  checkpoint.counters["policy_seed"] = static_cast<int64_t>(seed);
  trainer.store_policy(checkpoint);
}

uint64_t policy_seed(const Checkpoint& checkpoint) {
  const auto seed = checkpoint.counters.find("policy_seed");
  if (seed == checkpoint.counters.end()) throw InputError("holds no policy; `reverie dream_train` writes one");
  return static_cast<uint64_t>(seed->second);
}

std::shared_ptr<Policy> load_policy(const Checkpoint& checkpoint, const LatentSpec& spec,
                                    torch::Device device) {
  const auto text = checkpoint.configs.find("controller");
  if (text == checkpoint.configs.end())
    throw InputError("holds no policy; `reverie dream_train` writes one");
  TrainerConfig config;
  ConfigFields(config).load_text(text->second, "controller settings");
  const std::shared_ptr<Trainer> trainer =
      make_trainer(spec, config, policy_seed(checkpoint));
  trainer->restore_policy(checkpoint);
  trainer->to_device(device);
  return {trainer, &trainer->policy()};
}

}  // namespace reverie
