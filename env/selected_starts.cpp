#include "env/selected_starts.h"

#include <limits>
#include <utility>

#include "core/base/error.h"
#include "env/known_dynamics.h"

namespace reverie {
namespace {

class SelectedStarts : public Environment {
 public:
  SelectedStarts(std::unique_ptr<Environment> inner, std::vector<int> starts)
      : inner_(std::move(inner)), starts_(std::move(starts)), spec_(inner_->spec()) {
    REVERIE_CHECK(!starts_.empty());
    spec_.starts.clear();
    for (const int start : starts_)
      spec_.starts.push_back(inner_->spec().starts.at(static_cast<size_t>(start)));
  }

  const EnvSpec& spec() const override { return spec_; }
  void reset(uint64_t seed) override {
    const auto all = static_cast<uint64_t>(inner_->spec().start_states()), some = starts_.size();
    const uint64_t turn = seed / some % (std::numeric_limits<uint64_t>::max() / all);
    inner_->reset(turn * all + static_cast<uint64_t>(starts_[seed % some]));
  }
  StepResult step(const Action& action) override { return inner_->step(action); }
  Observation observe() const override { return inner_->observe(); }
  ActionMask mask() const override { return inner_->mask(); }
  StepInfo info() const override { return inner_->info(); }
  std::vector<double> gains(int primary) const override { return inner_->gains(primary); }
  double measured_gain() const override { return inner_->measured_gain(); }
  std::vector<double> measured_gains(int times) const override {
    return inner_->measured_gains(times);
  }
  std::unique_ptr<KnownDynamics> known() const override { return inner_->known(); }
  std::string describe() const override { return inner_->describe(); }
  std::string describe(const Action& action) const override { return inner_->describe(action); }
  const EnvCounters& counters() const override { return inner_->counters(); }
  std::unique_ptr<Environment> with_actions(const std::vector<std::string>& names) const override {
    auto inner = inner_->with_actions(names);
    return inner ? std::make_unique<SelectedStarts>(std::move(inner), starts_) : nullptr;
  }
  const Environment& unwrapped() const override { return inner_->unwrapped(); }
  std::unique_ptr<Environment> fork() const override {
    return std::make_unique<SelectedStarts>(inner_->fork(), starts_);
  }

 private:
  std::unique_ptr<Environment> inner_;
  std::vector<int> starts_;
  EnvSpec spec_;
};

}  // namespace

std::unique_ptr<Environment> select_starts(std::unique_ptr<Environment> environment,
                                           std::vector<int> starts) {
  return std::make_unique<SelectedStarts>(std::move(environment), std::move(starts));
}

}  // namespace reverie
