#include "controller/rounds/policy_agent.h"

#include "controller/train/rollout.h"
#include "controller/validate/dream_check.h"

namespace reverie {
namespace {

class PolicyAgent : public CollectAgent {
 public:
  PolicyAgent(TrainedPolicy trained, const PolicyAgentConfig& config)
      : trained_(std::move(trained)), config_(config) {}

  std::string begin(const Environment& env, Rng& rng) override {
    step_ = 0;
    rng_ = rng.fork(config_.salt);
    dreamt_.reset();
    if (config_.dreamt == 0 || rng_.uniform() >= config_.dreamt) return "policy";
    const Environment* const start[] = {&env};
    dreamt_ = dream_from(start, *trained_.encoder, *trained_.world, *trained_.policy, false,
                         config_.temperature, rng_)
                  .front();
    return "dreamt";
  }

  Action act(const Environment& env, const Observation& observation, Rng&) override {
    const int step = step_++;
    return dreamt_ ? dreamt_action(observation.mask, static_cast<size_t>(step))
                   : sampled_action(env.spec(), observation, step);
  }

  std::unique_ptr<CollectAgent> fork() const override {
    return std::make_unique<PolicyAgent>(trained_, config_);
  }

 private:
  Action dreamt_action(const ActionMask& mask, size_t step) const {
    const auto& dreamt = dreamt_->actions;
    return step < dreamt.size() && mask.allows(dreamt[step])
               ? dreamt[step]
               : mask.choice(mask.primary_actions() - 1, 0);
  }

  Action sampled_action(const EnvSpec& spec, const Observation& observation, int step) {
    torch::NoGradGuard no_grad;
    WorldModel& world = *trained_.world;
    const auto [latents, mask] = trained_.encoder->see({&observation, 1});
    if (step == 0) state_ = world.begin(latents);
    state_.latents = latents;
    const auto to_go = torch::full({1}, time_to_go(step, spec.horizon)).to(world.device());
    const LatentActions actions =
        trained_.policy->act(observation_of(state_, mask, to_go), false, rng_).actions;
    world.advance(state_, mask, actions);
    return actions_of(actions).front();
  }

  TrainedPolicy trained_;
  PolicyAgentConfig config_;
  Rng rng_{0};
  LatentState state_;
  std::optional<DreamtEpisode> dreamt_;
  int step_ = 0;
};

}  // namespace

std::unique_ptr<CollectAgent> make_policy_agent(TrainedPolicy trained,
                                                const PolicyAgentConfig& config) {
  return std::make_unique<PolicyAgent>(std::move(trained), config);
}

}  // namespace reverie
