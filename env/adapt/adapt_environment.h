#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/config.h"
#include "env/adapt/job.h"
#include "env/environment.h"

namespace reverie {

/// What an episode earns, at its end. accuracy: the points of accuracy gained since the first
/// decision. published: 100 tan(a pi / 2), a the accuracy from 0 to 1, at most 0.99 (the published
/// reward is infinite at 1).
enum class AdaptReward : uint8_t { kAccuracy, kPublished };

inline EnumNames<AdaptReward> enum_names(AdaptReward) {
  return {{AdaptReward::kAccuracy, "accuracy"}, {AdaptReward::kPublished, "published"}};
}

/// The published reward of an accuracy from 0 to 1.
double published_reward(double accuracy);

/// A scenario, and of how many last epochs the accuracy counts, as their mean; at least 1.
struct AdaptStart {
  std::shared_ptr<const JobSource> source;
  int final_epochs = 3;
};

/// Adapting a network while it trains under a budget: when to deepen or widen which block, so that
/// the accuracy is highest when the budget is spent?
///
/// A start state is a scenario at its first decision. Entity 0 is the job, entity i + 1 is block i
/// of the first network with what it was deepened by: so entities keep their numbers, and an action
/// changes one and those that read it. It changes the block itself, not those that were put in.
/// Actions: `go on` (entity 0) trains to the next decision without a change. `deepen` and `widen`
/// change a block and train on; there is one of each for each rate of the scenarios, "deepen at low
/// rate", where they have more than one. NO-OP trains to the end without a further change. Masks
/// are 0 or 1. An episode ends with the budget. Features: env/adapt/features.h.
///
/// Metrics: accuracy in percent (the objective), parameters, epochs so far. The accuracy of a job
/// is known at its end alone: one that has been changed is worse for some epochs, and no one would
/// stop there. So a state is infeasible until the job is over, and only the end is an episode's
/// result; until then the metric is the accuracy at the first decision, by which a report shows
/// what was gained. Rewards are 0 but at the end.
///
/// NO-OP keeps the observation, as that of every environment: StepInfo and `job` tell of the end.
/// Where budgets are not of seconds, dynamics are known: networks, epochs and the budget. The
/// learned columns are those of the curve's accuracies.
/// Counters: `measurements` are epochs that steps trained, or read from a table: it stands for the
/// training that it records. Epochs before the first decision are the same for all episodes and do
/// not count.
class AdaptEnvironment : public Environment {
 public:
  /// Seed s begins scenario s % n with job seed s / n. `horizon`: 0, or at least the decisions of
  /// every scenario; it has no effect, since jobs end by themselves. InputError where scenarios
  /// differ in their number of rates or have more than three, and for a horizon that is too short.
  AdaptEnvironment(std::vector<AdaptStart> starts, AdaptReward reward, int horizon = 0);

  const EnvSpec& spec() const override { return spec_; }
  void reset(uint64_t seed) override;
  StepResult step(const Action& action) override;
  Observation observe() const override;
  ActionMask mask() const override;
  StepInfo info() const override;
  std::string describe() const override;
  std::string describe(const Action& action) const override;
  std::unique_ptr<KnownDynamics> known() const override;
  const EnvCounters& counters() const override { return counters_; }
  std::unique_ptr<Environment> fork() const override;

  /// Its scenarios.
  const std::vector<AdaptStart>& starts() const { return starts_; }
  /// Where the job stands: at its end after NO-OP, too.
  const JobState& job() const { return job_->state(); }
  /// The decision that an action is, in the scenario that is played; nullopt: no change.
  std::optional<ChangeAtRate> decision_of(const Action& action) const;
  /// The other way; at a rate of the scenario.
  Action action_of(const std::optional<ChangeAtRate>& decision) const;

 private:
  friend class AdaptDynamics;

  AdaptEnvironment(const AdaptEnvironment& other);
  const AdaptStart& start() const { return starts_[start_]; }
  double accuracy() const;
  double reward() const;
  uint64_t state_key() const;
  void train_to_the_end();

  std::vector<AdaptStart> starts_;
  AdaptReward reward_;
  EnvSpec spec_;
  size_t start_ = 0;
  std::unique_ptr<TrainingJob> job_;
  JobState shown_;  // what is observed
  double start_accuracy_ = 0;
  double changed_at_ = 0;
  std::optional<std::array<float, 4>> told_;  // of a job that is foreseen: its learned columns
  int steps_ = 0;
  bool over_ = true;
  EnvCounters counters_;
};

}  // namespace reverie
