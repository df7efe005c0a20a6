#include "env/adapt/adapt_environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/words.h"
#include "env/adapt/features.h"
#include "env/known_dynamics.h"

namespace reverie {
namespace {

constexpr double kHighestAccuracy = 0.99;
constexpr int kGoOn = 0;
enum Metrics { kAccuracyMetric, kParametersMetric, kEpochsMetric };

/// Endings of actions by rate, ascending.
std::vector<std::string> rate_words(size_t rates) {
  switch (rates) {
    case 1:
      return {""};
    case 2:
      return {" at low rate", " at high rate"};
    case 3:
      return {" at low rate", " at middle rate", " at high rate"};
    default:
      throw InputError("a scenario of `adapt` has {} rates; give 1 to 3", rates);
  }
}

size_t common_rates(const std::vector<AdaptStart>& starts) {
  const size_t rates = starts.front().source->rates().size();
  for (const AdaptStart& start : starts)
    if (start.source->rates().size() != rates)
      throw InputError("scenario '{}' has {} learning rates and '{}' has {}; give all equally many",
                       starts.front().source->scenario(), rates, start.source->scenario(),
                       start.source->rates().size());
  return rates;
}

std::vector<StartState> start_states(const std::vector<AdaptStart>& starts) {
  std::vector<StartState> states;
  for (const AdaptStart& start : starts) {
    const std::string scenario = start.source->scenario();
    std::string name = scenario;
    for (int i = 2; std::ranges::count(states, name, &StartState::name) > 0; ++i)
      name = fmt::format("{}-{}", scenario, i);
    states.push_back({name, start.source->fingerprint()});
  }
  return states;
}

std::string sources_of(const std::vector<AdaptStart>& starts) {
  std::vector<std::string> names;
  for (const AdaptStart& start : starts)
    if (std::ranges::count(names, start.source->name()) == 0) names.push_back(start.source->name());
  return fmt::format("{}", fmt::join(names, ", "));
}

int horizon_of(const std::vector<AdaptStart>& starts, int horizon) {
  int decisions = 0;
  for (const AdaptStart& start : starts) decisions = std::max(decisions, start.source->decisions());
  if (horizon > 0 && horizon < decisions)
    throw InputError("env.horizon is {}, and jobs have {} decisions; leave it out", horizon,
                     decisions);
  return std::max(horizon, decisions);
}

EnvSpec make_spec(const std::vector<AdaptStart>& starts, int horizon) {
  EnvSpec spec;
  spec.name = "adapt";
  spec.node_types = job_node_types();
  spec.node_features = job_node_features();
  spec.edge_features = job_edge_features();
  spec.action_features = change_features();
  spec.actions = {"go on"};
  for (const ChangeKind kind : {ChangeKind::kDeepen, ChangeKind::kWiden})
    for (const std::string& rate : rate_words(common_rates(starts)))
      spec.actions.push_back(std::string(name_of(kind)) + rate);
  spec.actions.push_back("NO-OP");
  spec.targets = job_targets();
  spec.metrics = {{"accuracy", "%"}, {"parameters", ""}, {"epochs", ""}};
  spec.objective = kAccuracyMetric;
  spec.less_is_better = false;
  spec.horizon = horizon_of(starts, horizon);
  spec.starts = start_states(starts);
  spec.source = sources_of(starts);
  spec.deterministic =
      std::ranges::all_of(starts, [](const auto& start) { return start.source->deterministic(); });
  spec.stochastic = true;
  spec.may_be_infeasible = true;
  spec.reward_at_end = true;
  spec.knows_dynamics =
      std::ranges::all_of(starts, [](const auto& start) { return start.source->foresees(); });
  if (spec.knows_dynamics) {
    const auto& learned = learned_job_columns();
    spec.learned.assign(learned.begin(), learned.end());
  }
  return spec;
}

}  // namespace

double published_reward(double accuracy) {
  return 100 * std::tan(std::min(accuracy, kHighestAccuracy) * std::numbers::pi / 2);
}

AdaptEnvironment::AdaptEnvironment(std::vector<AdaptStart> starts, AdaptReward reward, int horizon)
    : starts_(std::move(starts)), reward_(reward) {
  if (starts_.empty())
    throw InputError("`adapt` has no scenario; name at least one network or table");
  spec_ = make_spec(starts_, horizon);
}

AdaptEnvironment::AdaptEnvironment(const AdaptEnvironment& other)
    : starts_(other.starts_),
      reward_(other.reward_),
      spec_(other.spec_),
      start_(other.start_),
      job_(other.job_ ? other.job_->copy() : nullptr),
      shown_(other.shown_),
      start_accuracy_(other.start_accuracy_),
      changed_at_(other.changed_at_),
      told_(other.told_),
      steps_(other.steps_),
      over_(other.over_) {}

std::unique_ptr<Environment> AdaptEnvironment::fork() const {
  return std::unique_ptr<Environment>(new AdaptEnvironment(*this));
}

void AdaptEnvironment::reset(uint64_t seed) {
  start_ = seed % starts_.size();
  job_ = start().source->start(seed / starts_.size());
  shown_ = job_->state();
  start_accuracy_ = mean_accuracy(shown_.curve, start().final_epochs);
  changed_at_ = 0;
  steps_ = 0;
  over_ = false;
  ++counters_.resets;
}

std::optional<ChangeAtRate> AdaptEnvironment::decision_of(const Action& action) const {
  if (action.primary == kGoOn || action.primary == spec_.no_op()) return std::nullopt;
  const std::vector<double>& rates = start().source->rates();
  const auto number = static_cast<size_t>(action.primary - 1);
  const ChangeKind kind = number < rates.size() ? ChangeKind::kDeepen : ChangeKind::kWiden;
  return ChangeAtRate{kind, action.entity - 1, rates[number % rates.size()]};
}

Action AdaptEnvironment::action_of(const std::optional<ChangeAtRate>& decision) const {
  if (!decision) return {kGoOn, 0, 0};
  const std::vector<double>& rates = start().source->rates();
  const auto rate = static_cast<int>(std::ranges::find(rates, decision->rate) - rates.begin());
  const int first = decision->kind == ChangeKind::kDeepen ? 1 : 1 + static_cast<int>(rates.size());
  return {first + rate, decision->origin + 1, 0};
}

void AdaptEnvironment::train_to_the_end() {
  while (!job_->state().over) job_->decide(std::nullopt);
}

StepResult AdaptEnvironment::step(const Action& action) {
  if (over_) throw InputError("the episode is over; reset the environment before the next step");
  require_allowed(spec_, mask(), action);
  const size_t epochs = job().curve.size();
  if (action.primary == spec_.no_op()) {
    train_to_the_end();
  } else {
    const std::optional<ChangeAtRate> decision = decision_of(action);
    job_->decide(decision);
    if (decision) changed_at_ = shown_.spent;
    shown_ = job();
  }
  ++counters_.steps;
  counters_.measurements += static_cast<int64_t>(job().curve.size() - epochs);
  StepResult result;
  result.terminated = job().over;
  result.truncated = ++steps_ >= spec_.horizon && !result.terminated;
  over_ = result.terminated || result.truncated;
  result.reward = reward();
  result.info = info();
  return result;
}

/// From 0 to 1, of the job as it is.
double AdaptEnvironment::accuracy() const {
  return mean_accuracy(job().curve, start().final_epochs);
}

double AdaptEnvironment::reward() const {
  if (!job().over) return 0;
  if (reward_ == AdaptReward::kAccuracy) return 100 * (accuracy() - start_accuracy_);
  return published_reward(accuracy());
}

StepInfo AdaptEnvironment::info() const {
  StepInfo info;
  const JobState& state = job();
  info.feasible = state.over;
  info.metrics = {100 * (state.over ? accuracy() : start_accuracy_),
                  static_cast<double>(state.network.parameters()),
                  static_cast<double>(state.curve.size())};
  info.best = state.over ? info.metrics[kAccuracyMetric] : spec_.worst();
  return info;
}

ActionMask AdaptEnvironment::mask() const {
  ActionMask mask(spec_.primary_actions(), shown_.network.origins() + 1);
  if (shown_.over) return mask;
  mask.at(kGoOn, 0) = 1;
  for (int primary = 1; primary < spec_.no_op(); ++primary)
    for (int entity = 1; entity < mask.entities; ++entity) {
      const ChangeAtRate change = *decision_of({primary, entity, 0});
      if (allows(shown_.network, change.in(shown_.network)) &&
          start().source->offers(shown_, change))
        mask.at(primary, entity) = 1;
    }
  return mask;
}

Observation AdaptEnvironment::observe() const {
  Observation observation;
  observation.graph = job_features({shown_, changed_at_, start().source->decisions(), told_});
  observation.mask = mask();
  observation.state_key = state_key();
  const size_t width = spec_.action_features.size();
  observation.action_features.resize(observation.mask.counts.size() * width, 0);
  for (int primary = 1; primary < spec_.no_op(); ++primary)
    for (int n = 0; n < observation.mask.total(primary); ++n) {
      const Action action = observation.mask.choice(primary, n);
      const std::vector<float> row = features_of(shown_.network, *decision_of(action));
      const auto cell =
          static_cast<ptrdiff_t>(width) * (primary * observation.mask.entities + action.entity);
      std::ranges::copy(row, observation.action_features.begin() + cell);
    }
  return observation;
}

/// The environment itself, with a job that nobody trains.
class AdaptDynamics : public KnownDynamics {
 public:
  explicit AdaptDynamics(const AdaptEnvironment& environment) : environment_(environment) {
    AdaptEnvironment& mine = environment_;
    const std::vector<float> learned = learned_of(mine.spec(), environment.observe().graph);
    mine.job_ = mine.start().source->foresee();
    for (const auto& decision : mine.shown_.decisions) mine.job_->decide(decision);
    mine.shown_ = mine.job();
    tell(learned);
  }

  const EnvSpec& spec() const override { return environment_.spec(); }
  KnownStep step(const Action& action) override {
    const StepResult result = environment_.step(action);
    return {result.terminated, result.truncated};
  }
  ActionMask mask() const override { return environment_.mask(); }
  Observation observe() const override { return environment_.observe(); }
  void tell(std::span<const float> learned) override {
    auto& told = environment_.told_.emplace();
    REVERIE_CHECK_EQ(learned.size(), told.size());
    std::ranges::copy(learned, told.begin());
  }
  std::unique_ptr<KnownDynamics> fork() const override {
    return std::unique_ptr<KnownDynamics>(new AdaptDynamics(*this));
  }

 private:
  AdaptDynamics(const AdaptDynamics& other) = default;

  AdaptEnvironment environment_;
};

std::unique_ptr<KnownDynamics> AdaptEnvironment::known() const {
  if (!spec_.knows_dynamics) return nullptr;
  return std::make_unique<AdaptDynamics>(*this);
}

std::string AdaptEnvironment::describe() const {
  std::vector<std::string> blocks;
  for (const Block& block : shown_.network.blocks)
    blocks.push_back(fmt::format("{} {}", block.name, block.width));
  return fmt::format("{} of {} taken: {}; {}, accuracy {:.2f} %, {:.0f} % of the budget spent",
                     shown_.decisions.size(), counted(start().source->decisions(), "decision"),
                     fmt::join(blocks, ", "), counted(shown_.curve.size(), "epoch"),
                     100 * mean_accuracy(shown_.curve, start().final_epochs), 100 * shown_.spent);
}

std::string AdaptEnvironment::describe(const Action& action) const {
  require_allowed(spec_, mask(), action);
  if (action.primary == spec_.no_op()) return "NO-OP: train to the end without a change";
  return text_of(decision_of(action), shown_.network, true);
}

uint64_t AdaptEnvironment::state_key() const {
  uint64_t key = hash_combine(start().source->fingerprint(), shown_.network.hash());
  const auto add = [&](double number) { key = hash_combine(key, std::bit_cast<uint64_t>(number)); };
  for (const EpochRecord& epoch : shown_.curve) add(epoch.accuracy);
  if (told_)
    for (const float learned : *told_) add(learned);
  for (const auto& decision : shown_.decisions) {
    add(decision ? decision->rate : 0);
    add(decision ? 2 * decision->origin + static_cast<int>(decision->kind) : -1);
  }
  for (const double number :
       {shown_.spent, shown_.throughput, shown_.epoch_share, changed_at_, shown_.over ? 1.0 : 0.0})
    add(number);
  return key;
}

}  // namespace reverie
