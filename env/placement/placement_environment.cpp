#include "env/placement/placement_environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/statistics.h"
#include "core/base/tally.h"
#include "core/base/words.h"
#include "env/known_dynamics.h"
#include "env/placement/report/display.h"

namespace reverie {
namespace {

constexpr size_t kLongestName = 40;
constexpr int kNowhere = -1;

double ratio(int64_t now, int64_t then) {
  return static_cast<double>(now) / static_cast<double>(std::max<int64_t>(then, 1));
}

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / 0x1p20; }

/// "; gpu0: 1-4, 7": the groups of this value, numbered as entities. Empty where there are none.
std::string groups_with(int value, const std::vector<int>& values, const std::string& what) {
  std::vector<int> entities;
  for (size_t group = 0; group < values.size(); ++group)
    if (values[group] == value) entities.push_back(static_cast<int>(group) + 1);
  return entities.empty() ? "" : fmt::format("; {}: {}", what, runs_text(entities));
}

}  // namespace

PlacementEnvironment::PlacementEnvironment(std::vector<PlacementStart> starts, Topology topology,
                                           const PlacementEnvConfig& config)
    : shared_(std::make_shared<const PlacementStarts>(std::move(starts), std::move(topology),
                                                      config)) {}

void PlacementEnvironment::reset(uint64_t seed) {
  start_ = static_cast<size_t>(seed % static_cast<uint64_t>(spec().start_states()));
  simulator_ = std::make_shared<FusingSimulator>(start().simulator);
  const int groups = start().entities.size();
  const auto count = static_cast<size_t>(groups);
  state_ = {std::vector<int>(count, start().best_device), std::vector<int>(count),
            is_constructive() ? 0 : groups, std::vector<int>(fuses() ? count : 0)};
  best_state_ = state_;
  best_ = spec().worst();
  steps_ = 0;
  changed_ = over_ = false;
  ++counters_.resets;
  judged_ = first();
  value_ = value(judged_);
  keep_best();
  if (is_constructive())
    shown_ = start().visits.plan(state_);
  else
    shown_ = {start().schedule, start().simulated, start().simulated.makespan};
}

Placement PlacementEnvironment::placement_of(const PlacementState& state) const {
  Placement placement{start().entities.spread(state.device), start().ranks};
  const int64_t nodes = graph().size();
  for (int64_t node = 0; node < nodes; ++node) {
    const int group = start().entities.of(static_cast<int>(node));
    placement.priority[static_cast<size_t>(node)] +=
        nodes * state.level[static_cast<size_t>(group)];
  }
  if (!fuses()) return placement;
  std::vector<double> priority(start().ranks.begin(), start().ranks.end());
  for (int node = 0; node < graph().size(); ++node)
    if (state.fused[static_cast<size_t>(start().entities.of(node))] == 0)
      priority[static_cast<size_t>(node)] = -1;
  placement.kernel = greedy_fusion(start().simulator.plain(), placement, priority);
  return placement;
}

void PlacementEnvironment::judge() {
  if (!std::exchange(changed_, false)) return;
  Timeline timeline;
  judged_ = simulator_->run(placement(), Dispatch::kReady, &timeline);
  ++counters_.cost_lookups;
  if (!is_constructive()) shown_ = {timeline, judged_, judged_.makespan};
  if (start().measure && !simulates_) {
    const double before = start().measure(start().schedule).seconds();
    const double after = start().measure(timeline).seconds();
    const double first = start().judged.makespan.seconds();
    judged_.makespan = Picoseconds::from_seconds(first * after / before);
    counters_.measurements += 2;
  }
  keep_best();
}

void PlacementEnvironment::keep_best() {
  if (!judged_.feasible() || !spec().better(objective_of(judged_), best_)) return;
  best_ = objective_of(judged_);
  best_state_ = state_;
}

double PlacementEnvironment::measured_gain() const {
  if (!spec().measurable) return Environment::measured_gain();
  constexpr int kRuns = 5;
  FusingSimulator simulator = start().simulator;
  Timeline best;
  simulator.run(best_placement(), Dispatch::kReady, &best);
  std::vector<double> before, after;
  for (int i = 0; i < kRuns; ++i) {
    before.push_back(start().measure(start().schedule).seconds());
    after.push_back(start().measure(best).seconds());
  }
  counters_.measurements += 2 * kRuns;
  return 100 * (1 - median(after) / median(before));
}

const MeasureSchedule& PlacementEnvironment::measure(int start) const {
  return shared_->starts[static_cast<size_t>(start)]->measure;
}

double PlacementEnvironment::objective_of(const Outcome& outcome) const {
  return spec().objective == 0 ? outcome.makespan.milliseconds() : mebibytes(outcome.peak_bytes);
}

/// Of a ratio to the start.
double PlacementEnvironment::share(double ratio) const {
  return shared_->config.reward == PlacementReward::kSquareRoot ? std::sqrt(ratio) : ratio;
}

/// In percent of the start; the less the better.
double PlacementEnvironment::value(const Outcome& outcome) const {
  const Outcome& first = this->first();
  const double weight = shared_->config.memory_weight;
  double relative = (1 - weight) * share(ratio(outcome.makespan.count, first.makespan.count)) +
                    weight * share(ratio(outcome.peak_bytes, first.peak_bytes));
  if (!outcome.feasible())
    relative =
        kInfeasible + outcome.misplaced +
        static_cast<double>(outcome.bytes_over) / (static_cast<double>(first.peak_bytes) + 1);
  return 100 * relative;
}

double PlacementEnvironment::planned_value() const {
  const double gained = 1 - share(ratio(shown_.at_least.count, start().simulated.makespan.count));
  return value(first()) - 100 * (1 - shared_->config.memory_weight) * gained;
}

void PlacementEnvironment::take(const Action& action) {
  if (action.primary == spec().no_op()) return;
  const int devices = topology().size();
  const auto group = static_cast<size_t>(action.entity - 1);
  changed_ = changed_ || action.primary >= devices || action.primary != state_.device[group];
  if (action.primary < devices) {
    state_.device[group] = action.primary;
    if (is_constructive()) ++state_.placed;
  } else if (action.primary == fuse_action()) {
    state_.fused[group] = 1;
  } else {
    state_.level[group] += action.primary == devices ? 1 : -1;
  }
}

StepResult PlacementEnvironment::step(const Action& action) {
  if (over_) throw InputError("the episode is over; reset the environment before the next step");
  require_allowed(spec(), mask(), action);
  take(action);
  ++steps_;
  ++counters_.steps;
  StepResult result;
  const bool is_whole = is_constructive() && state_.placed == start().entities.size();
  result.terminated = action.primary == spec().no_op() || is_whole;
  result.truncated = !result.terminated && steps_ >= spec().horizon;
  over_ = result.terminated || result.truncated;
  const bool is_judged = over_ || !is_constructive();
  if (is_constructive()) shown_ = start().visits.plan(state_);
  if (is_judged) judge();
  const double before = std::exchange(value_, is_judged ? value(judged_) : planned_value());
  result.reward = before - value_;
  result.info = info();
  return result;
}

int PlacementEnvironment::fuse_action() const { return fuses() ? spec().no_op() - 1 : -1; }

/// Places, and fusion.
void PlacementEnvironment::offer(int entity, ActionMask& mask) const {
  const auto group = static_cast<size_t>(entity - 1);
  for (int device = 0; device < topology().size(); ++device)
    if (is_constructive() || state_.device[group] != device) mask.at(device, entity) = 1;
  if (fuses() && state_.fused[group] == 0) mask.at(fuse_action(), entity) = start().fusible[group];
}

ActionMask PlacementEnvironment::mask() const {
  const int groups = start().entities.size(), devices = topology().size();
  ActionMask mask(spec().primary_actions(), groups + 1);
  mask.at(spec().no_op(), 0) = 1;
  if (is_constructive()) {
    if (state_.placed < groups) offer(start().visits.group(state_.placed) + 1, mask);
    return mask;
  }
  for (int entity = 1; entity <= groups; ++entity) {
    offer(entity, mask);
    const int level = state_.level[static_cast<size_t>(entity - 1)];
    mask.at(devices, entity) = level < kLevels ? 1 : 0;
    mask.at(devices + 1, entity) = level > -kLevels ? 1 : 0;
  }
  return mask;
}

Observation PlacementEnvironment::observe() const {
  Observation observation;
  observation.graph =
      start().features->graph(spec().node_types, state_, shown_.outcome, shown_.timeline);
  observation.mask = mask();
  observation.action_features = start().features->actions(observation.mask, state_, fuse_action());
  uint64_t key = spec().starts[start_].fingerprint;
  for (const int device : state_.device) key = hash_combine(key, static_cast<uint64_t>(device));
  for (const int level : state_.level) key = hash_combine(key, static_cast<uint64_t>(level + 8));
  for (const int fused : state_.fused) key = hash_combine(key, static_cast<uint64_t>(fused));
  observation.state_key = hash_combine(key, static_cast<uint64_t>(state_.placed));
  return observation;
}

StepInfo PlacementEnvironment::info() const {
  return {
      {judged_.makespan.milliseconds(), mebibytes(judged_.peak_bytes)}, judged_.feasible(), best_};
}

/// "group 3 (4 operators from MatMul_7, 1.2 MiB of weights)".
std::string PlacementEnvironment::text_of_group(int group) const {
  const std::vector<int>& nodes = start().entities.nodes(group);
  const auto node = [&](int number) -> const CostNode& {
    return graph().nodes()[static_cast<size_t>(number)];
  };
  int64_t bytes = 0;
  for (const int number : nodes) bytes += node(number).persistent_bytes;
  const std::string first = short_name(node(nodes.front()).name, kLongestName);
  return fmt::format("group {} ({}{}, {} of weights)", group + 1,
                     nodes.size() == 1 ? "" : counted(nodes.size(), "operator") + " from ", first,
                     bytes_text(bytes));
}

std::string PlacementEnvironment::describe() const {
  std::string text = fmt::format("{}, {} of {} placed", start().name, state_.placed,
                                 counted(start().entities.size(), "group"));
  std::vector<int> device = state_.device;
  for (int n = state_.placed; n < start().entities.size(); ++n)
    device[static_cast<size_t>(start().visits.group(n))] = kNowhere;
  for (int number = 0; number < topology().size(); ++number)
    text += groups_with(number, device, name_of(number));
  for (int level = kLevels; level >= -kLevels; --level)
    if (level != 0) text += groups_with(level, state_.level, fmt::format("level {}", level));
  return text + groups_with(1, state_.fused, "fused");
}

std::string PlacementEnvironment::describe(const Action& action) const {
  require_allowed(spec(), mask(), action);
  const std::string& name = spec().actions[static_cast<size_t>(action.primary)];
  if (action.primary == spec().no_op()) return name;
  const std::string group = text_of_group(action.entity - 1);
  const int raise = topology().size();
  if (action.primary < raise)
    return fmt::format("{} {} {}", is_constructive() ? "place" : "move", group,
                       (is_constructive() ? "on " : "to ") + name_of(action.primary));
  if (action.primary == fuse_action()) return fmt::format("fuse {} with what reads from it", group);
  const int level = state_.level[static_cast<size_t>(action.entity - 1)];
  return fmt::format("{} {} to level {}", name, group,
                     action.primary == raise ? level + 1 : level - 1);
}

std::unique_ptr<PlacementEnvironment> PlacementEnvironment::copy() const {
  auto copy = std::make_unique<PlacementEnvironment>(*this);
  if (simulator_) copy->simulator_ = std::make_shared<FusingSimulator>(*simulator_);
  copy->counters_ = {};
  return copy;
}

std::unique_ptr<Environment> PlacementEnvironment::fork() const { return copy(); }

std::unique_ptr<KnownDynamics> PlacementEnvironment::known() const {
  auto simulated = copy();
  if (start().measure) {
    simulated->simulates_ = simulated->changed_ = true;
    simulated->judge();
    if (!is_constructive()) simulated->value_ = simulated->value(simulated->judged_);
  }
  return computed_dynamics(std::move(simulated));
}

}  // namespace reverie
