#include "controller/train/trainer_config.h"

#include <string_view>
#include <utility>

#include "core/base/error.h"

namespace reverie {
namespace {

TrainerConfig stored_settings(const std::string& text) {
  TrainerConfig config;
  ConfigFields(config).load_text(text, "controller settings");
  return config;
}

/// Whether the weights of a policy depend on the setting.
bool shapes_policy(const std::string& key, TrainerKind trainer) {
  const bool is_net = trainer != TrainerKind::kCmaEs;
  return key == "trainer" || (key.starts_with("policy.") && is_net);
}

/// Whether something says what lies beyond the last step of a dream that is cut short.
bool values_the_rest(TrainerKind trainer) {
  return trainer == TrainerKind::kPpo || trainer == TrainerKind::kDqn;
}

std::string_view name_of(TrainerKind trainer) {
  return enum_names(trainer)[static_cast<size_t>(trainer)].second;
}

}  // namespace

void require_learnable(const TrainerConfig& config, const LearningSetup& setup) {
  const TrainerKind trainer = config.trainer;
  if (setup.discounts && trainer != TrainerKind::kPpo)
    throw InputError("dream.discounts are of ppo; leave them out, or set dream.trainer=ppo");
  if (setup.chunks > 1 && trainer != TrainerKind::kPpo)
    throw InputError("dream.chunks are of ppo; leave them out, or set dream.trainer=ppo");
  if (trainer == TrainerKind::kPlan && setup.updates > 0)
    throw InputError("dream.trainer=plan has no weights to train; set dream.updates=0");
  if (trainer != TrainerKind::kPlan && setup.depth > 0 && !values_the_rest(trainer))
    throw InputError(
        "dream.depth {} ends dreams early, and {} has no critic for the rest; set dream.depth=0",
        setup.depth, name_of(trainer));
  const int64_t population = config.cmaes.population;
  if (trainer == TrainerKind::kCmaEs && setup.batch % population != 0)
    throw InputError(
        "dream.batch {} cannot be shared evenly by dream.cmaes.population {}; make the batch a "
        "multiple, such as dream.batch={}",
        setup.batch, population, (setup.batch / population + 1) * population);
}

std::unique_ptr<Trainer> make_trainer(const LatentSpec& spec, const TrainerConfig& config,
                                      uint64_t seed, std::shared_ptr<WorldModel> world) {
  switch (config.trainer) {
    case TrainerKind::kPpo:
      return std::make_unique<PpoTrainer>(spec, config.policy, config.ppo, seed);
    case TrainerKind::kCmaEs:
      return std::make_unique<CmaEsTrainer>(spec, config.cmaes, seed);
    case TrainerKind::kReinforce:
      return std::make_unique<ReinforceTrainer>(spec, config.policy, config.reinforce, seed);
    case TrainerKind::kDqn:
      return std::make_unique<DqnTrainer>(spec, config.policy, config.dqn, seed);
    case TrainerKind::kPlan:
      REVERIE_CHECK(world != nullptr, "planning needs M");
      return std::make_unique<PlanTrainer>(std::move(world), config.plan, config.policy,
                                           config.ppo);
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
  if (seed == checkpoint.counters.end())
    throw InputError("holds no policy; `reverie dream_train` writes one");
  return static_cast<uint64_t>(seed->second);
}

void require_same_policy(const std::string& path, const Checkpoint& checkpoint,
                         const TrainerConfig& config) {
  const auto text = checkpoint.configs.find("controller");
  if (text == checkpoint.configs.end()) return;
  TrainerConfig trained = with_context(path, [&] { return stored_settings(text->second); }),
                now = config;
  const ConfigFields before(trained), after(now);
  for (size_t i = 0; i < after.all().size(); ++i) {
    const std::string& key = after.all()[i].key;
    if (!shapes_policy(key, config.trainer)) continue;
    const std::string had = before.all()[i].get().items.front(),
                      has = after.all()[i].get().items.front();
    if (key == "trainer" && had == "ppo" && has == "plan") continue;  // which it guides
    if (had != has)
      throw InputError(
          "{}: trained with dream.{}={}, not {}; set dream.{}={}, or leave out --policy", path, key,
          had, has, key, had);
  }
}

std::shared_ptr<Policy> load_policy(const Checkpoint& checkpoint, std::shared_ptr<WorldModel> world,
                                    torch::Device device) {
  const auto text = checkpoint.configs.find("controller");
  if (text == checkpoint.configs.end())
    throw InputError("holds no policy; `reverie dream_train` writes one");
  const std::shared_ptr<Trainer> trainer =
      make_trainer(world->spec(), stored_settings(text->second), policy_seed(checkpoint), world);
  trainer->restore_policy(checkpoint);
  trainer->to_device(device);
  return {trainer, &trainer->policy()};
}

}  // namespace reverie
