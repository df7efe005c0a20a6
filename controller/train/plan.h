#pragma once

#include <utility>

#include "controller/policy/plan_policy.h"
#include "controller/train/trainer.h"

namespace reverie {

/// Gives a PlanPolicy, of which nothing is trained and nothing is stored: M stands beside it.
class PlanTrainer : public Trainer {
 public:
  PlanTrainer(std::shared_ptr<WorldModel> world, const PlanConfig& config)
      : policy_(std::move(world), config) {}

  std::string name() const override { return "plan"; }
  Policy& policy() override { return policy_; }
  void to_device(torch::Device) override {}
  Metrics update(LatentEnvironment&, double, uint64_t) override {
    throw InputError("planning has nothing to train; set dream.updates=0");
  }
  void store_policy(Checkpoint&) const override {}
  void restore_policy(const Checkpoint&) override {}
  void store(Checkpoint&) const override {}
  void restore(const Checkpoint&) override {}

 private:
  PlanPolicy policy_;
};

}  // namespace reverie
