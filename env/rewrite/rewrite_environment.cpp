#include "env/rewrite/rewrite_environment.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
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
  for (int rule = 0; config.take_all && rule < rules.size(); ++rule)
    spec.actions.push_back(rules.name(rule) + " (all)");
  spec.actions.push_back("NO-OP");
  spec.max_secondary = config.max_locations;
  spec.deterministic = cost.deterministic() && config.reward != RewardKind::kMeasuredEveryK;
  spec.fingerprint = rules.fingerprint();
  if (config.take_all || config.locations != LocationChoice::kAll)
    spec.fingerprint = hash_combine(
        spec.fingerprint, 2 * static_cast<uint64_t>(config.locations) + (config.take_all ? 1 : 0));
  spec.cost_source = cost.name();
  return spec;
}

}  // namespace

EnumNames<LocationChoice> enum_names(LocationChoice) {
  return {{LocationChoice::kAll, "all"}, {LocationChoice::kClasses, "classes"}};
}

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

RewriteEnvironment::Kind RewriteEnvironment::kind(int primary) const {
  const int rules = state_.rules().size();
  return {primary % rules, primary >= rules};
}

std::vector<const LocationClass*> RewriteEnvironment::repeated_classes(int rule) const {
  std::vector<const LocationClass*> repeated;
  for (const LocationClass& alike : state_.classes(rule))
    if (alike.multiplicity() > 1) repeated.push_back(&alike);
  return repeated;
}

/// Secondary actions that there are, whether or not they are offered.
int RewriteEnvironment::available(int primary) const {
  const auto [rule, all] = kind(primary);
  if (state_.location_count(rule) == 0) return 0;
  if (all) return static_cast<int>(repeated_classes(rule).size());
  return shared_->config.locations == LocationChoice::kAll
             ? state_.location_count(rule)
             : static_cast<int>(state_.classes(rule).size());
}

int RewriteEnvironment::offered(int primary) const {
  return std::min(available(primary), shared_->config.max_locations);
}

/// Whether a rule matches; counts the state when there is more to choose from than is offered.
bool RewriteEnvironment::anything_left() {
  int most = 0;
  for (int primary = 0; primary < spec().no_op(); ++primary)
    most = std::max(most, available(primary));
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
  const auto [rule, all] = kind(action.primary);
  const auto choice = static_cast<size_t>(action.secondary);
  if (all) {
    const TakenAll taken = take_all(state_, rule, *repeated_classes(rule)[choice]);
    weight_bytes_ += taken.weight_bytes_delta;
    for (const int32_t location : taken.locations) path_.push_back({rule, location});
    counters_.cost_lookups += static_cast<int64_t>(taken.locations.size());
  } else {
    const int location = shared_->config.locations == LocationChoice::kAll
                             ? action.secondary
                             : state_.classes(rule)[choice].representative();
    const Rewrite rewrite = state_.propose(state_.location(rule, location));
    state_.commit(rewrite);
    weight_bytes_ += rewrite.weight_bytes_delta;
    path_.push_back({rule, location});
    ++counters_.cost_lookups;
  }
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
  for (int primary = 0; primary < spec().no_op(); ++primary)
    mask.counts.push_back(static_cast<uint16_t>(offered(primary)));
  mask.counts.push_back(1);
  return mask;
}

double RewriteEnvironment::gain(const Match& match) const {
  ++counters_.cost_lookups;
  return percent_fall(0, static_cast<double>(state_.cost_delta(match).runtime.count),
                      static_cast<double>(initial_cost().runtime.count));
}

double RewriteEnvironment::gain_of_all(int rule, const LocationClass& alike) const {
  std::unordered_set<NodeId> taken;
  int count = 0;
  for (const int32_t member : alike.members) {
    const Match match = state_.location(rule, member);
    const auto nodes = match.nodes();
    if (std::any_of(nodes.begin(), nodes.end(), [&](NodeId n) { return taken.contains(n); }))
      continue;
    taken.insert(nodes.begin(), nodes.end());
    ++count;
  }
  return count * gain(state_.location(rule, alike.representative()));
}

std::vector<double> RewriteEnvironment::gains(int primary) const {
  REVERIE_CHECK(primary >= 0 && primary <= spec().no_op());
  if (primary == spec().no_op()) return {0.0};
  const Counted counted(*this);
  const auto [rule, all] = kind(primary);
  const auto count = static_cast<size_t>(offered(primary));
  std::vector<double> gains;
  if (count == 0) return gains;
  if (all) {
    const auto classes = repeated_classes(rule);
    for (size_t i = 0; i < count; ++i) gains.push_back(gain_of_all(rule, *classes[i]));
  } else if (shared_->config.locations == LocationChoice::kAll) {
    const auto& locations = state_.locations(rule);
    for (size_t i = 0; i < count; ++i) gains.push_back(gain(locations[i]));
  } else {
    const auto& classes = state_.classes(rule);
    for (size_t i = 0; i < count; ++i)
      gains.push_back(gain(state_.location(rule, classes[i].representative())));
  }
  return gains;
}

/// Writes the best gain of the matches rooted at each node, and how many matches there are. Gives the
/// best gain of each rule.
std::vector<double> RewriteEnvironment::look_at_locations(FeatureContext* context) const {
  std::vector<double> best(static_cast<size_t>(state_.rules().size()), 0.0);
  for (size_t rule = 0; rule < best.size(); ++rule) {
    const auto& locations = state_.locations(static_cast<int>(rule));
    context->matches += static_cast<int64_t>(locations.size());
    const auto count =
        std::min(locations.size(), static_cast<size_t>(shared_->config.max_locations));
    for (size_t i = 0; i < count; ++i) {
      const double offer = gain(locations[i]);
      best[rule] = i == 0 ? offer : std::max(best[rule], offer);
      const auto [at, fresh] = context->gains.emplace(locations[i].root, offer);
      if (!fresh) at->second = std::max(at->second, offer);
    }
  }
  return best;
}

Observation RewriteEnvironment::observe() const {
  const Counted counted(*this);
  Observation observation;
  observation.mask = mask();
  FeatureContext context{initial_cost(), start().weight_bytes, state_.cost(), weight_bytes_, 0, {}};
  const std::vector<double> best = look_at_locations(&context);
  const bool seen = shared_->config.locations == LocationChoice::kAll;
  for (int primary = 0; primary < spec().primary_actions(); ++primary) {
    double offer = 0;
    if (seen && primary < state_.rules().size()) {
      offer = best[static_cast<size_t>(primary)];
    } else if (const auto offers = gains(primary); !offers.empty()) {
      offer = *std::max_element(offers.begin(), offers.end());
    }
    observation.action_features.push_back(static_cast<float>(offer));
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
