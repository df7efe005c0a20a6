#include "env/rewrite/rewrite_environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/tally.h"
#include "core/base/words.h"
#include "env/rewrite/features.h"
#include "env/rewrite/optimize/file_cost.h"

namespace reverie {
namespace {

constexpr int kLeastHorizon = 8;

/// Where the first gain needs a step that gains nothing, greedy's depth says nothing.
int default_horizon(const RewriteState& start) {
  const Graph& graph = start.graph();
  const std::vector<NodeId> nodes = graph.nodes();
  const auto work = static_cast<int>(
      std::count_if(nodes.begin(), nodes.end(), [&](NodeId node) { return graph.is_work(node); }));
  const auto depth = static_cast<int>(search_rewrites(start, {}, search::Greedy()).rewrites.size());
  return std::max({2 * depth, work / 4, kLeastHorizon});
}

EnvSpec make_spec(const RuleSet& rules, const CostModel& cost, const RewriteEnvConfig& config) {
  EnvSpec spec;
  spec.name = "rewrite";
  for (const OpSchema& op : all_ops())
    if (!op.fused) spec.node_types.emplace_back(op.name);
  spec.other_type = "Opaque";
  spec.node_features = graph_feature_names().nodes;
  spec.edge_features = graph_feature_names().edges;
  spec.action_features = {"best gain"};
  for (int rule = 0; rule < rules.size(); ++rule) spec.actions.push_back(rules.name(rule));
  spec.actions.push_back("NO-OP");
  spec.targets = {{"cost share", TargetLevel::kNode, TargetLoss::kShare}};
  for (const std::string& name : graph_feature_names().graph)
    spec.targets.push_back({name, TargetLevel::kGraph, TargetLoss::kRegression});
  spec.metrics = {{"run time", "ms"}, {"FLOPs", ""}, {"traffic", "bytes"}, {"launches", ""}};
  spec.max_choices = config.max_locations;
  const bool measures = config.reward == RewardKind::kMeasuredEveryK;
  spec.deterministic = cost.deterministic() && !measures;
  spec.knows_dynamics = cost.deterministic() && (!measures || config.computes_measurements);
  spec.looks_ahead = true;
  spec.source = cost.name();
  return spec;
}

/// What it is called in the file, or its operator where a rewrite brought it.
std::string name_of_node(const Graph& graph, NodeId node) {
  const auto& names = graph.names(node);
  if (names == nullptr || names->node.empty()) return operator_name(graph, node);
  return names->node;
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
  shared->spec = make_spec(*rules, *cost, config);
  shared->spec.measurable = measure != nullptr;
  int horizon = config.horizon;
  for (StartGraph& start : starts) {
    RewriteState state(std::move(start.graph), rules, cost);
    const int64_t weight_bytes = state.graph().weight_bytes();
    if (config.horizon == 0) horizon = std::max(horizon, default_horizon(state));
    Regions regions;
    if (config.region_nodes > 0)
      regions = Regions(state.graph(), config.region_nodes, config.max_regions);
    shared->spec.starts.push_back({start.name, state.hash()});
    if (!config.measures_opaque_nodes && has_opaque_node(state.graph()))
      shared->spec.measurable = false;
    shared->starts.push_back(
        {std::move(start.name), std::move(state), std::move(regions), weight_bytes, NodeRows()});
    const RewriteState& kept = shared->starts.back().state;
    shared->starts.back().rows = NodeRows(kept.graph(), kept.cost_model());
    kept.topological_order();  // once for all episodes
  }
  shared->spec.horizon = horizon;
  shared->rule_numbers.resize(static_cast<size_t>(rules->size()));
  std::iota(shared->rule_numbers.begin(), shared->rule_numbers.end(), 0);
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
      state_(shared_->starts.front().state) {
  reset(0);
  counters_ = {};
}

const EnvSpec& RewriteEnvironment::spec() const { return shared_->spec; }
const Cost& RewriteEnvironment::initial_cost() const { return start().state.cost(); }

std::unique_ptr<Environment> RewriteEnvironment::fork() const {
  auto copy = std::make_unique<RewriteEnvironment>(*this);
  copy->counters_ = {};
  return copy;
}

std::unique_ptr<Environment> RewriteEnvironment::with_actions(
    const std::vector<std::string>& names) const {
  const auto rules = std::make_shared<const RuleSet>(
      state_.rules().subset(std::span(names).first(names.size() - 1)));
  std::vector<StartGraph> starts;
  for (const Start& start : shared_->starts) starts.push_back({start.name, start.state.graph()});
  RewriteEnvConfig config = shared_->config;
  config.horizon = shared_->spec.horizon;
  auto made = std::make_unique<RewriteEnvironment>(
      std::move(starts), rules, state_.shared_cost_model(), std::move(config), shared_->measure);
  auto numbered = std::make_shared<Shared>(*made->shared_);
  for (int rule = 0; rule < rules->size(); ++rule)
    numbered->rule_numbers[static_cast<size_t>(rule)] =
        shared_->rule_numbers[static_cast<size_t>(state_.rules().find(rules->name(rule)))];
  made->shared_ = std::move(numbered);
  return made;
}

void RewriteEnvironment::reset(uint64_t seed) {
  start_ = static_cast<size_t>(seed % shared_->starts.size());
  state_ = start().state;
  regions_ = start().regions;
  offers_.assign(static_cast<size_t>(spec().no_op()), {});
  rows_ = start().rows;
  changed_.clear();
  weight_bytes_ = start().weight_bytes;
  path_.clear();
  best_length_ = measured_length_ = 0;
  last_measured_ = 1;
  best_ = state_.cost();
  steps_ = 0;
  over_ = false;
  ++counters_.resets;
  anything_left();
}

/// Locations that are offered, the first in canonical order.
int RewriteEnvironment::offered(int rule) const {
  return std::min(state_.location_count(rule), shared_->config.max_locations);
}

MatchPlace RewriteEnvironment::place_of(const Match& match) const {
  return cut() ? regions_.place(state_.rules()[match.rule], match) : MatchPlace{.node = match.root};
}

/// Brought up to date when they are asked for.
RewriteEnvironment::Offers& RewriteEnvironment::offers(int rule) const {
  Offers& offers = offers_[static_cast<size_t>(rule)];
  auto matches = state_.first_locations(rule, shared_->config.max_locations);
  if (offers.matches == matches) return offers;
  offers = {std::move(matches), {}, {}, {}};
  offers.places.reserve(offers.matches->size());
  for (const Match& match : *offers.matches) offers.places.push_back(place_of(match));
  offers.order.resize(offers.places.size());
  std::iota(offers.order.begin(), offers.order.end(), 0);
  std::ranges::stable_sort(offers.order, {}, [&](int i) {
    const MatchPlace& place = offers.places[static_cast<size_t>(i)];
    return std::pair(place.region, place.reach);
  });
  return offers;
}

/// With their gains, each of which counts as looked up.
const RewriteEnvironment::Offers& RewriteEnvironment::priced_offers(int rule) const {
  Offers& offers = this->offers(rule);
  counters_.cost_lookups += std::ssize(*offers.matches);
  if (!offers.gains.empty()) return offers;
  std::vector<double> gains;
  gains.reserve(offers.matches->size());
  const auto initial = static_cast<double>(initial_cost().runtime.count);
  for (const Match& match : *offers.matches) {
    const auto change = static_cast<double>(state_.cost_delta(match).runtime.count);
    gains.push_back(percent_fall(0, change, initial));
  }
  offers.gains = std::move(gains);
  return offers;
}

/// Whether a rule matches; counts the state when there is more to choose from than is offered.
bool RewriteEnvironment::anything_left() {
  int most = 0;
  for (int rule = 0; rule < spec().no_op(); ++rule)
    most = std::max(most, state_.location_count(rule));
  if (most > shared_->config.max_locations) ++counters_.capped_states;
  return most > 0;
}

/// InputError when the mask does not allow it.
void RewriteEnvironment::check_allowed(const Action& action) const {
  ActionMask mask(spec().primary_actions(), regions_.count());
  if (action.primary >= 0 && action.primary < spec().no_op()) count(action.primary, mask);
  require_allowed(spec(), mask, action);
}

/// Of a valid action the number of its location.
int RewriteEnvironment::canonical_number(const Action& action) const {
  if (!cut()) return action.index;
  const Offers& all = offers(action.primary);
  const auto first = std::ranges::find_if(all.order, [&](int location) {
    return all.places[static_cast<size_t>(location)].region == action.entity;
  });
  return first[action.index];
}

void RewriteEnvironment::rewrite(const Action& action) {
  const int rule = action.primary;
  const int location = canonical_number(action);
  const Rewrite rewrite = state_.propose(state_.location(rule, location));
  const NodesChanged changed = state_.commit(rewrite);
  for (const auto* nodes : {&changed.added, &changed.around})
    changed_.insert(changed_.end(), nodes->begin(), nodes->end());
  if (cut()) regions_.extend(state_.graph(), place_of(rewrite.match).region);
  weight_bytes_ += rewrite.weight_bytes_delta;
  path_.push_back({rule, location});
  ++counters_.cost_lookups;
  if (state_.cost().runtime >= best_.runtime) return;
  best_ = state_.cost();
  best_length_ = path_.size();
}

StepResult RewriteEnvironment::step(const Action& action) {
  if (over_) throw InputError("the episode is over; reset the environment first");
  check_allowed(action);
  const Counted counted(*this);
  const Cost before = state_.cost();
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
  result.reward = reward(before);
  result.info = info();
  return result;
}

double RewriteEnvironment::reward(const Cost& before) {
  switch (shared_->config.reward) {
    case RewardKind::kRuntime:
      return percent_fall(static_cast<double>(before.runtime.count),
                          static_cast<double>(state_.cost().runtime.count),
                          static_cast<double>(initial_cost().runtime.count));
    case RewardKind::kWeighted:
      return weighted_fall(shared_->config.weights, before, state_.cost(), initial_cost());
    case RewardKind::kMeasuredEveryK:
      return measured_reward();
  }
  return 0;
}

double RewriteEnvironment::measured_reward() {
  const bool due = over_ || steps_ % shared_->config.measure_every == 0;
  if (!due || path_.size() == measured_length_) return 0;
  const double now = relative_time(state_.graph());
  const double fall = 100 * (last_measured_ - now);
  last_measured_ = now;
  measured_length_ = path_.size();
  return fall;
}

double RewriteEnvironment::relative_time(const Graph& graph, bool anew) const {
  const RelativeTime time = shared_->measure(start().state.graph(), graph, anew);
  counters_.measurements += time.measurements;
  return time.ratio;
}

double RewriteEnvironment::measured_gain() const {
  if (!spec().measurable) return Environment::measured_gain();
  return 100 * (1 - relative_time(best_state().graph()));
}

std::vector<double> RewriteEnvironment::measured_gains(int times) const {
  if (!spec().measurable) return Environment::measured_gains(times);
  const RewriteState best = best_state();
  std::vector<double> gains;
  for (int i = 0; i < times; ++i) gains.push_back(100 * (1 - relative_time(best.graph(), true)));
  return gains;
}

StepInfo RewriteEnvironment::info() const {
  const Cost& cost = state_.cost();
  return {{cost.runtime.milliseconds(), static_cast<double>(cost.flops),
           static_cast<double>(cost.bytes), static_cast<double>(cost.launches)},
          true,
          best_.runtime.milliseconds()};
}

ActionMask RewriteEnvironment::mask() const {
  ActionMask mask(spec().primary_actions(), regions_.count());
  for (int rule = 0; rule < spec().no_op(); ++rule) count(rule, mask);
  return mask;
}

/// Writes the choices of a rule.
void RewriteEnvironment::count(int rule, ActionMask& mask) const {
  if (!cut()) {
    mask.at(rule, 0) = static_cast<uint16_t>(offered(rule));
    return;
  }
  for (const MatchPlace& place : offers(rule).places) ++mask.at(rule, place.region);
}

std::vector<double> RewriteEnvironment::gains(int primary) const {
  REVERIE_CHECK(primary >= 0 && primary <= spec().no_op());
  if (primary == spec().no_op()) return {0.0};
  const Counted counted(*this);
  const Offers& offers = priced_offers(primary);
  std::vector<double> gains;
  gains.reserve(offers.order.size());
  for (const int location : offers.order)
    gains.push_back(offers.gains[static_cast<size_t>(location)]);
  return gains;
}

/// Writes the choices of a rule and their gains, and how many matches there are.
void RewriteEnvironment::show_offers(int rule, FeatureContext* context,
                                     Observation* observation) const {
  context->matches += state_.location_count(rule);
  const Offers& offers = priced_offers(rule);
  float* const best = &observation->action_features[static_cast<size_t>(rule * regions_.count())];
  for (size_t i = 0; i < offers.places.size(); ++i) {
    const MatchPlace& place = offers.places[i];
    const auto gain = static_cast<float>(offers.gains[i]);
    context->gains.emplace_back(place.node, gain);
    const bool first = observation->mask.at(rule, place.region)++ == 0;
    best[place.region] = first ? gain : std::max(best[place.region], gain);
  }
}

Observation RewriteEnvironment::observe() const {
  const Counted counted(*this);
  Observation observation;
  observation.mask = ActionMask(spec().primary_actions(), regions_.count());
  observation.action_features.resize(observation.mask.counts.size());
  FeatureContext context{initial_cost(), start().weight_bytes, state_.cost(), weight_bytes_, 0, {},
                         &regions_};
  for (int rule = 0; rule < spec().no_op(); ++rule) show_offers(rule, &context, &observation);
  rows_.update(state_.graph(), state_.cost_model(), changed_);
  changed_.clear();
  const auto order = state_.topological_order();
  observation.graph = graph_features(state_.graph(), *order, rows_, context);
  observation.state_key =
      hash_combine(state_.hash(), static_cast<uint64_t>(initial_cost().runtime.count));
  if (cut()) observation.state_key = hash_combine(observation.state_key, regions_.hash(*order));
  return observation;
}

std::string RewriteEnvironment::describe() const {
  const Graph& graph = state_.graph();
  std::vector<std::string> operators;
  for (const NodeId node : graph.topological_order())
    if (graph.is_work(node)) operators.push_back(operator_name(graph, node));
  return fmt::format("{}: {} ({}); {:.4g} ms in {}", start().name,
                     counted(operators.size(), "operator"), tally(operators),
                     state_.cost().runtime.milliseconds(),
                     counted(state_.cost().launches, "launch", "launches"));
}

std::string RewriteEnvironment::describe(const Action& action) const {
  check_allowed(action);
  const std::string& name = spec().actions[static_cast<size_t>(action.primary)];
  if (action.primary == spec().no_op()) return name;
  const int location = canonical_number(action);
  std::vector<std::string> nodes;
  for (const NodeId node : state_.location(action.primary, location).nodes())
    nodes.push_back(name_of_node(state_.graph(), node));
  return fmt::format("apply {} at {} (location {})", name, fmt::join(nodes, ", "), location);
}

std::vector<RewriteStep> RewriteEnvironment::steps(size_t count) const {
  std::vector<RewriteStep> steps(path_.begin(), path_.begin() + static_cast<std::ptrdiff_t>(count));
  for (RewriteStep& step : steps) step.rule = shared_->rule_numbers[static_cast<size_t>(step.rule)];
  return steps;
}

RewriteState RewriteEnvironment::best_state() const {
  return replay(start().state, std::span(path_).first(best_length_));
}

}  // namespace reverie
