#include "tools/policy/measured_ppo.h"

#include "env/rewrite/rewrite_environment.h"
#include "env/rewrite/search/measured_run.h"

namespace reverie {
namespace {

constexpr int kPatience = 50;  // updates

/// Rewards by measurements. Forks measure for one run.
class MeasuredEnvironment : public Environment {
 public:
  MeasuredEnvironment(RewriteEnvironment environment, MeasuredRun& run, bool shaped)
      : environment_(std::move(environment)), run_(run), shaped_(shaped) {}

  const EnvSpec& spec() const override { return environment_.spec(); }
  void reset(uint64_t seed) override {
    environment_.reset(seed);
    paid_ = 0;
  }
  StepResult step(const Action& action) override {
    StepResult result = environment_.step(action);
    if (!shaped_) result.reward = 0;
    paid_ += result.reward;
    if (result.terminated || result.truncated) result.reward += measured_fall() - paid_;
    return result;
  }
  Observation observe() const override { return environment_.observe(); }
  ActionMask mask() const override { return environment_.mask(); }
  StepInfo info() const override { return environment_.info(); }
  std::vector<double> gains(int primary) const override { return environment_.gains(primary); }
  std::string describe() const override { return environment_.describe(); }
  std::string describe(const Action& action) const override {
    return environment_.describe(action);
  }
  const EnvCounters& counters() const override { return environment_.counters(); }
  std::unique_ptr<Environment> fork() const override {
    return std::make_unique<MeasuredEnvironment>(*this);
  }

 private:
  double measured_fall() {
    const double original = run_.seconds({}).value();
    return percent_fall(original, run_.seconds(environment_.path()).value_or(original), original);
  }

  RewriteEnvironment environment_;
  MeasuredRun& run_;
  bool shaped_;
  double paid_ = 0;
};

RewriteEnvironment by_costs(const RewriteState& start) {
  RewriteEnvConfig config;
  config.region_nodes = 0;
  return {{{"start", start.graph()}}, start.shared_rules(), start.shared_cost_model(), config};
}

}  // namespace

std::unique_ptr<Environment> measured_environment(MeasuredRun& run, bool shaped) {
  return std::make_unique<MeasuredEnvironment>(by_costs(run.start()), run, shaped);
}

MeasuredArm ppo_on_measurements(const MeasuredPpoConfig& config) {
  return [config](MeasuredRun& run) {
    const uint64_t seed = run.options().seed;
    AgentPpoTrainer trainer(*measured_environment(run, config.shaped), {0}, config.agent, seed);
    const double budget = static_cast<double>(run.measured().budget);
    int in_vain = 0;
    for (uint64_t update = 1; in_vain < kPatience && !run.over(); ++update) {
      const int64_t before = run.spent();
      trainer.update(static_cast<double>(before) / budget, Rng(seed).fork(update).bits());
      in_vain = run.spent() > before ? 0 : in_vain + 1;
    }
  };
}

}  // namespace reverie
