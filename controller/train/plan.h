#pragma once

#include <utility>

#include "controller/policy/plan_policy.h"
#include "controller/train/ppo.h"
#include "controller/train/trainer.h"

namespace reverie {

/// Gives a PlanPolicy. Nothing is trained: M stands beside it, and its guide, where it has one, is
/// the policy of a file of `ppo`.
class PlanTrainer : public Trainer {
 public:
  PlanTrainer(std::shared_ptr<WorldModel> world, const PlanConfig& config,
              const ActorCriticConfig& net, const PpoConfig& ppo)
      : policy_(world, config), ppo_(world->spec(), net, ppo, 0) {}

  std::string name() const override { return "plan"; }
  Policy& policy() override { return policy_; }
  void to_device(torch::Device device) override { ppo_.to_device(device); }
  Metrics update(LatentEnvironment&, double, uint64_t) override {
    throw InputError("planning has nothing to train; set dream.updates=0");
  }
  void store_policy(Checkpoint& checkpoint) const override {
    if (guided_) ppo_.store_policy(checkpoint);
  }
  void restore_policy(const Checkpoint& checkpoint) override {
    guided_ = holds_module(checkpoint, "policy");
    if (guided_) ppo_.restore_policy(checkpoint);
    policy_.set_guide(guided_ ? &ppo_.policy() : nullptr);
  }
  void store(Checkpoint& checkpoint) const override { store_policy(checkpoint); }
  void restore(const Checkpoint& checkpoint) override { restore_policy(checkpoint); }

 private:
  PlanPolicy policy_;
  PpoTrainer ppo_;
  bool guided_ = false;
};

}  // namespace reverie
