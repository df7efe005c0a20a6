#include "tools/policy/adapt_dreams.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "controller/validate/dream_check.h"
#include "env/translated.h"

namespace reverie {
namespace {

constexpr size_t kDrawn = 1024, kDreamt = 1024;

/// Takes the actions of one row after the other, in trajectory b those of row b.
class Recital : public Policy {
 public:
  explicit Recital(std::vector<std::vector<Action>> rows) : rows_(std::move(rows)) {}
  std::string name() const override { return "recital"; }
  PolicyDecision act(const LatentObservation& observation, bool, Rng&) override {
    std::vector<Action> actions;
    for (const auto& row : rows_) actions.push_back(row.at(place_));
    ++place_;
    return {latent_actions(actions), torch::zeros({observation.z.size(0)}), {}};
  }

 private:
  std::vector<std::vector<Action>> rows_;
  size_t place_ = 0;
};

/// Dreams of a scenario from its first decision on. Actions are those that the policy knows.
class ScenarioDreams {
 public:
  ScenarioDreams(const TrainedPolicy& trained, const AdaptStart& start)
      : trained_(trained),
        environment_({start}, AdaptReward::kAccuracy),
        known_(translated(environment_.fork(), trained.spec())) {
    if (dreams_in_grey_box(trained, known_->spec()))
      start_ = std::move(known_starts(*known_, trained.spec()).front());
    else
      known_->reset(0);
  }

  std::vector<DreamtEpisode> dream(Policy& policy, size_t count, uint64_t seed) const {
    Rng rng(seed);
    if (start_) {
      KnownStarts starts;
      starts.push_back(start_->fork());
      GreyBoxEnvironment grey_box(std::move(starts), trained_.encoder, trained_.world,
                                  static_cast<int>(count));
      return dream_in(grey_box, policy, /*greedy=*/false, rng);
    }
    const std::vector<const Environment*> starts(count, known_.get());
    return dream_from(starts, *trained_.encoder, *trained_.world, policy, /*greedy=*/false,
                      /*temperature=*/0, rng);
  }
  /// What becomes of a plan where the network may have gone back, or the budget ended: the actions
  /// that known dynamics allow.
  std::vector<Action> allowed(const std::vector<Action>& plan) const {
    if (!start_) return plan;
    const auto known = start_->fork();
    std::vector<Action> taken;
    for (bool over = false; const Action& wanted : plan) {
      const Action action = known->mask().allows(wanted) ? wanted : action_of(std::nullopt);
      taken.push_back(action);
      if (!over) over = known->step(action).terminated;
    }
    return taken;
  }
  std::optional<ChangeAtRate> decision_of(const Action& action) const {
    return environment_.decision_of(renamed(action, known_->spec(), environment_.spec()));
  }
  Action action_of(const std::optional<ChangeAtRate>& decision) const {
    return renamed(environment_.action_of(decision), environment_.spec(), known_->spec());
  }

 private:
  static Action renamed(Action action, const EnvSpec& from, const EnvSpec& to) {
    const std::string& name = from.actions[static_cast<size_t>(action.primary)];
    action.primary = static_cast<int>(std::ranges::find(to.actions, name) - to.actions.begin());
    return action;
  }

  const TrainedPolicy& trained_;
  AdaptEnvironment environment_;
  std::unique_ptr<Environment> known_;
  std::unique_ptr<KnownDynamics> start_;  // in a grey box
};

}  // namespace

bool dreams_in_grey_box(const TrainedPolicy& trained, const EnvSpec& jobs) {
  return trained.world->outcome() && jobs.knows_dynamics;
}

std::vector<ExpectedPlan> dreamt_plans(const TrainedPolicy& trained, const AdaptStart& start,
                                       uint64_t seed) {
  const ScenarioDreams dreams(trained, start);
  const JobState first = start.source->start(0)->state();
  Rng rng(seed);
  std::vector<Decisions> plans;
  for (const DreamtEpisode& episode : dreams.dream(*trained.policy, kDreamt, rng.bits())) {
    const auto& actions = episode.actions;
    plans.push_back(imagined(start, first, [&](size_t place, const Decisions& choices) {
      const auto wanted =
          place < actions.size() ? dreams.decision_of(actions[place]) : std::nullopt;
      return std::ranges::count(choices, wanted) > 0 ? wanted : std::nullopt;
    }));
  }
  for (size_t i = 0; i < kDrawn; ++i)
    plans.push_back(imagined(start, first, [&](size_t, const Decisions& choices) {
      return choices[rng.below(choices.size())];
    }));

  std::vector<std::vector<Action>> rows;
  for (const Decisions& decisions : plans) {
    std::vector<Action> actions;
    for (const auto& decision : decisions) actions.push_back(dreams.action_of(decision));
    rows.push_back(dreams.allowed(actions));
  }
  Recital recital(std::move(rows));
  std::vector<ExpectedPlan> expected;
  for (const DreamtEpisode& episode : dreams.dream(recital, plans.size(), 0))
    expected.push_back({std::move(plans[expected.size()]), episode.reward, episode.by_member});
  return expected;
}

}  // namespace reverie
