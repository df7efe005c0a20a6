#include "controller/rounds/policy_agent.h"

#include "controller/train/rollout.h"
#include "worldmodel/encoder/entity_latents.h"

namespace reverie {
namespace {

class PolicyAgent : public CollectAgent {
 public:
  PolicyAgent(TrainedPolicy trained, uint64_t salt)
      : trained_(std::move(trained)), latents_(*trained_.encoder), salt_(salt) {}

  std::string begin(const Environment&, Rng& rng) override {
    step_ = 0;
    latents_.clear();  // equal episodes, equal bits
    rng_ = rng.fork(salt_);
    return "policy";
  }

  Action act(const Environment& env, const Observation& observation, Rng&) override {
    const int step = step_++;
    torch::NoGradGuard no_grad;
    WorldModel& world = *trained_.world;
    const auto [latents, mask] = latents_.see({&observation, 1});
    if (step == 0) state_ = world.begin(latents);
    state_.latents = latents;
    const auto to_go = torch::full({1}, time_to_go(step, env.spec().horizon)).to(world.device());
    const LatentActions actions =
        trained_.policy->act(observation_of(state_, mask, to_go), false, rng_).actions;
    world.advance(state_, mask, actions);
    return actions_of(actions).front();
  }

  std::unique_ptr<CollectAgent> fork() const override {
    return std::make_unique<PolicyAgent>(trained_, salt_);
  }

 private:
  TrainedPolicy trained_;
  EntityLatents latents_;
  uint64_t salt_;
  Rng rng_{0};
  LatentState state_;
  int step_ = 0;
};

}  // namespace

std::unique_ptr<CollectAgent> make_policy_agent(TrainedPolicy trained, uint64_t salt) {
  return std::make_unique<PolicyAgent>(std::move(trained), salt);
}

}  // namespace reverie
