#include "env/rewrite/rewrite_environment.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "env/rewrite/features.h"

namespace reverie {
namespace {

constexpr int kLeastHorizon = 8;
constexpr int kMostHorizon = 300;

int default_horizon(const RewriteState& start) {
  const auto depth = static_cast<int>(greedy_search(start, {}).rewrites.size());
  return std::clamp((3 * depth + 1) / 2, kLeastHorizon, kMostHorizon);
}

EnvSpec describe(const RuleSet& rules, const CostModel& cost, const RewriteEnvConfig& config) {
  EnvSpec spec;
  spec.name = "rewrite";
  spec.node_types = static_cast<int>(all_ops().size());
  spec.node_features = GraphFeatureWidths::kNode;
  spec.edge_features = GraphFeatureWidths::kEdge;
  spec.global_features = GraphFeatureWidths::kGlobal;
  spec.action_features = 1;
  for (int rule = 0; rule < rules.size(); ++rule) spec.actions.push_back(rules.name(rule));
  spec.actions.push_back("NO-OP");
  spec.max_secondary = config.max_locations;
  spec.deterministic = cost.deterministic() && config.reward != RewardKind::kMeasuredEveryK;
  spec.fingerprint = rules.fingerprint();
  spec.cost_source = cost.name();
  return spec;
}

}  // namespace

/// Adds what the cost model measures during its life to the environment's counters.
struct RewriteEnvironment::Counted {
  explicit Counted(const RewriteEnvironment& env)
      : env(env), before(env.state_.cost_model().counters().measurements) {}
  ~Counted() {
    env.counters_.measurements += env.state_.cost_model().counters().measurements - before;
  }
  const RewriteEnvironment& env;
  int64_t before;
};

std::shared_ptr<const RewriteEnvironment::Shared> RewriteEnvironment::share(
    std::vector<StartGraph> starts, std::shared_ptr<const RuleSet> rules,
    std::shared_ptr<CostModel> cost, RewriteEnvConfig config, MeasureGraph measure) {
  if (starts.empty()) throw InputError("the rewriting environment needs at least one start graph");
  if (config.reward == RewardKind::kMeasuredEveryK && !measure)
    throw InputError("reward measured_every_k needs a cost source that measures, such as cpu");
  auto shared = std::make_shared<Shared>();
  shared->spec = describe(*rules, *cost, config);
  shared->spec.start_states = static_cast<int>(starts.size());
  int horizon = config.horizon;
  for (StartGraph& start : starts) {
    RewriteState state(std::move(start.graph), rules, cost);
    const int64_t weight_bytes = state.graph().weight_bytes();
    if (config.horizon == 0) horizon = std::max(horizon, default_horizon(state));
    shared->starts.push_back({std::move(start.name), std::move(state), weight_bytes});
  }
  shared->spec.horizon = horizon;
  shared->config = std::move(config);
  shared->measure = std::move(measure);
  return shared;
}

RewriteEnvironment::RewriteEnvironment(std::vector<StartGraph> starts,
                                       std::shared_ptr<const RuleSet> rules,
                                       std::shared_ptr<CostModel> cost, RewriteEnvConfig config,
                                       MeasureGraph measure)
    : shared_(share(std::move(starts), std::move(rules), std::move(cost), std::move(config),
                    std::move(measure))),
      state_(shared_->starts.front().state),
      start_ms_(shared_->starts.size()) {
  reset(0);
  counters_.resets = 0;
}

const EnvSpec& RewriteEnvironment::spec() const { return shared_->spec; }
const std::string& RewriteEnvironment::start_name() const { return start().name; }
const Cost& RewriteEnvironment::initial_cost() const { return start().state.cost(); }

std::unique_ptr<Environment> RewriteEnvironment::fork() const {
  auto copy = std::make_unique<RewriteEnvironment>(*this);
  copy->counters_ = {};
  copy->capped_states_ = 0;
  return copy;
}

void RewriteEnvironment::reset(uint64_t seed) {
  start_ = static_cast<size_t>(seed % shared_->starts.size());
  state_ = start().state;
  weight_bytes_ = start().weight_bytes;
  path_.clear();
  best_length_ = measured_length_ = 0;
  best_ = state_.cost();
  steps_ = 0;
  over_ = false;
  ++counters_.resets;
  anything_left();
  if (shared_->config.reward == RewardKind::kMeasuredEveryK) {
    if (!start_ms_[start_]) start_ms_[start_] = measured_ms();
    last_ms_ = *start_ms_[start_];
  }
}

int RewriteEnvironment::offered(int rule) const {
  return std::min(state_.location_count(rule), shared_->config.max_locations);
}

/// Whether a rule matches; counts the state when a rule matches more often than is offered.
bool RewriteEnvironment::anything_left() {
  int most = 0;
  for (int rule = 0; rule < state_.rules().size(); ++rule)
    most = std::max(most, state_.location_count(rule));
  if (most > shared_->config.max_locations) ++capped_states_;
  return most > 0;
}

void RewriteEnvironment::check_allowed(const Action& action) const {
  if (over_) throw InputError("the episode is over; reset the environment first");
  if (action.primary < 0 || action.primary > spec().no_op())
    throw InputError("there is no action {}; actions are 0 to {}", action.primary, spec().no_op());
  const int count = action.primary == spec().no_op() ? 1 : offered(action.primary);
  if (action.secondary < 0 || action.secondary >= count)
    throw InputError("{} has {} locations here, not number {}",
                     spec().actions[static_cast<size_t>(action.primary)], count, action.secondary);
}

void RewriteEnvironment::rewrite(const Action& action) {
  const auto& locations = state_.locations(action.primary);
  const Rewrite rewrite = state_.propose(locations[static_cast<size_t>(action.secondary)]);
  state_.commit(rewrite);
  weight_bytes_ += rewrite.weight_bytes_delta;
  path_.push_back({action.primary, action.secondary});
  ++counters_.cost_lookups;
  if (state_.cost().runtime >= best_.runtime) return;
  best_ = state_.cost();
  best_length_ = path_.size();
}

StepResult RewriteEnvironment::step(const Action& action) {
  check_allowed(action);
  const Counted counted(*this);
  const Cost before = state_.cost();
  const Cost best_before = best_;
  StepResult result;
  if (action.primary == spec().no_op()) {
    result.terminated = true;
  } else {
    rewrite(action);
    result.terminated = !anything_left();
  }
  ++counters_.steps;
  result.truncated = ++steps_ >= spec().horizon && !result.terminated;
  over_ = result.terminated || result.truncated;
  result.reward = reward(before, best_before, over_);
  result.info = info();
  return result;
}

double RewriteEnvironment::reward(const Cost& before, const Cost& best_before, bool over) {
  const auto fall = [&](const Cost& from, const Cost& to) {
    return percent_fall(static_cast<double>(from.runtime.count),
                        static_cast<double>(to.runtime.count),
                        static_cast<double>(initial_cost().runtime.count));
  };
  switch (shared_->config.reward) {
    case RewardKind::kRuntime: return fall(before, state_.cost());
    case RewardKind::kBestSoFar: return fall(best_before, best_);
    case RewardKind::kFinal: return over ? fall(initial_cost(), state_.cost()) : 0.0;
    case RewardKind::kWeighted:
      return weighted_fall(shared_->config.weights, before, state_.cost(), initial_cost());
    case RewardKind::kMeasuredEveryK: return measured_reward(over);
  }
  return 0;
}

double RewriteEnvironment::measured_reward(bool over) {
  const bool due = over || steps_ % shared_->config.measure_every == 0;
  if (!due || path_.size() == measured_length_) return 0;
  const double now = measured_ms();
  const double fall = percent_fall(last_ms_, now, *start_ms_[start_]);
  last_ms_ = now;
  measured_length_ = path_.size();
  return fall;
}

double RewriteEnvironment::measured_ms() {
  ++counters_.measurements;
  return shared_->measure(state_.graph());
}

StepInfo RewriteEnvironment::info() const {
  return {state_.cost().runtime.milliseconds(), best_.runtime.milliseconds()};
}

ActionMask RewriteEnvironment::mask() const {
  ActionMask mask;
  mask.counts.reserve(spec().actions.size());
  for (int rule = 0; rule < state_.rules().size(); ++rule)
    mask.counts.push_back(static_cast<uint16_t>(offered(rule)));
  mask.counts.push_back(1);
  return mask;
}

std::vector<double> RewriteEnvironment::gains(int primary) const {
  REVERIE_CHECK(primary >= 0 && primary <= spec().no_op());
  if (primary == spec().no_op()) return {0.0};
  const Counted counted(*this);
  const auto initial = static_cast<double>(initial_cost().runtime.count);
  const auto& locations = state_.locations(primary);
  std::vector<double> gains(static_cast<size_t>(offered(primary)));
  for (size_t i = 0; i < gains.size(); ++i)
    gains[i] = percent_fall(
        0, static_cast<double>(state_.cost_delta(locations[i]).runtime.count), initial);
  counters_.cost_lookups += static_cast<int64_t>(gains.size());
  return gains;
}

Observation RewriteEnvironment::observe() const {
  Observation observation;
  observation.mask = mask();
  observation.action_features.assign(spec().actions.size(), 0.0f);
  FeatureContext context{initial_cost(), start().weight_bytes, state_.cost(), weight_bytes_, 0, {}};
  for (int rule = 0; rule < state_.rules().size(); ++rule) {
    context.matches += state_.location_count(rule);
    const std::vector<double> offers = gains(rule);
    if (offers.empty()) continue;
    observation.action_features[static_cast<size_t>(rule)] =
        static_cast<float>(*std::max_element(offers.begin(), offers.end()));
    const auto& locations = state_.locations(rule);
    for (size_t i = 0; i < offers.size(); ++i) {
      const auto [at, fresh] = context.gains.emplace(locations[i].root, offers[i]);
      if (!fresh) at->second = std::max(at->second, offers[i]);
    }
  }
  observation.graph = graph_features(state_.graph(), state_.cost_model(), context);
  observation.state_key =
      hash_combine(state_.hash(), static_cast<uint64_t>(initial_cost().runtime.count));
  return observation;
}

std::vector<RewriteStep> RewriteEnvironment::best_path() const {
  return {path_.begin(), path_.begin() + static_cast<std::ptrdiff_t>(best_length_)};
}

RewriteState RewriteEnvironment::best_state() const {
  return replay(start().state, best_path());
}

}  // namespace reverie
