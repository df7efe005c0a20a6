#pragma once

#include <memory>

#include "controller/train/dqn.h"
#include "controller/train/linear_policy.h"
#include "controller/train/plan.h"
#include "controller/train/ppo.h"
#include "controller/train/reinforce.h"
#include "worldmodel/network/checkpoint.h"

namespace reverie {

enum class TrainerKind { kPpo, kCmaEs, kReinforce, kDqn, kPlan };
inline EnumNames<TrainerKind> enum_names(TrainerKind) {
  return {{TrainerKind::kPpo, "ppo"},
          {TrainerKind::kCmaEs, "cmaes"},
          {TrainerKind::kReinforce, "reinforce"},
          {TrainerKind::kDqn, "dqn"},
          {TrainerKind::kPlan, "plan"}};
}

/// C: which trainer, its policy and its settings.
struct TrainerConfig {
  TrainerKind trainer = TrainerKind::kPpo;
  ActorCriticConfig policy;
  PpoConfig ppo{
      .gamma =
          0.97};  ///< with more, policies of short dreams put off what gains (experiments/learning)
  CmaEsConfig cmaes;
  ReinforceConfig reinforce;
  DqnConfig dqn;
  PlanConfig plan;

  template <class V>
  void fields(V& v) {
    v.field("trainer", trainer, "What trains the policy; plan: nothing does, it plans with M");
    v.section("policy", policy, "The policy of ppo, reinforce and dqn");
    v.section("ppo", ppo, "Proximal policy optimization");
    v.section("cmaes", cmaes, "Evolution of a linear controller");
    v.section("reinforce", reinforce, "REINFORCE");
    v.section("dqn", dqn, "Double DQN");
    v.section("plan", plan, "Planning with M");
  }
};

/// How a trainer is asked to learn.
struct LearningSetup {
  int64_t updates = 1;
  int64_t batch = 1;       ///< episodes played for an update
  int64_t depth = 0;       ///< steps after which an episode is cut short; 0: none is
  bool discounts = false;  ///< whether the discount is set from outside
  int chunks = 1;          ///< of a minibatch
};
/// InputError where the trainer cannot learn so.
void require_learnable(const TrainerConfig& config, const LearningSetup& setup);

/// `world`: M, with which `plan` alone plans.
std::unique_ptr<Trainer> make_trainer(const LatentSpec& spec, const TrainerConfig& config,
                                      uint64_t seed, std::shared_ptr<WorldModel> world = nullptr);

/// Adds what `load_policy` needs: the policy's tensors under "policy", its configuration and seed.
void store_policy(Checkpoint& checkpoint, const Trainer& trainer, const TrainerConfig& config,
                  uint64_t seed);
/// The seed that was stored with a policy. InputError where the checkpoint holds none.
uint64_t policy_seed(const Checkpoint& checkpoint);
/// InputError, naming the file, when its policy is of another trainer than `config` says, or of
/// other settings of `policy`, under which its weights mean something else. Files that hold no
/// settings pass.
void require_same_policy(const std::string& path, const Checkpoint& checkpoint,
                         const TrainerConfig& config);
/// The policy of a checkpoint of kind "policy", for latents of `world`.
std::shared_ptr<Policy> load_policy(const Checkpoint& checkpoint, std::shared_ptr<WorldModel> world,
                                    torch::Device device = torch::kCPU);

}  // namespace reverie
