#include "env/environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/error.h"
#include "core/base/tally.h"
#include "env/known_dynamics.h"

namespace reverie {

int EnvSpec::target_count(TargetLevel level) const {
  return static_cast<int>(std::ranges::count(targets, level, &Target::level));
}

double EnvSpec::worst() const {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return less_is_better ? kInfinity : -kInfinity;
}

double EnvSpec::improvement_percent(double from, double to) const {
  if (from == 0 || !std::isfinite(from) || !std::isfinite(to)) return 0;
  return 100 * (less_is_better ? from - to : to - from) / std::abs(from);
}

ActionMask::ActionMask(int primary_actions, int entities)
    : entities(entities),
      counts(static_cast<size_t>(primary_actions) * static_cast<size_t>(entities), 0) {
  REVERIE_CHECK(primary_actions >= 1 && entities >= 1);
  at(primary_actions - 1, 0) = 1;
}

std::span<const uint16_t> ActionMask::of(int primary) const {
  REVERIE_CHECK(primary >= 0 && primary < primary_actions());
  return {&counts[cell(primary, 0)], static_cast<size_t>(entities)};
}

int ActionMask::total(int primary) const {
  const auto row = of(primary);
  return std::accumulate(row.begin(), row.end(), 0);
}

bool ActionMask::allows(const Action& action) const {
  return action.primary >= 0 && action.primary < primary_actions() && action.entity >= 0 &&
         action.entity < entities && action.index >= 0 &&
         action.index < at(action.primary, action.entity);
}

Action ActionMask::choice(int primary, int n) const {
  REVERIE_CHECK(n >= 0);
  const auto row = of(primary);
  Action action{primary, 0, n};
  while (action.entity < entities && action.index >= row[static_cast<size_t>(action.entity)])
    action.index -= row[static_cast<size_t>(action.entity++)];
  REVERIE_CHECK_LT(action.entity, entities);
  return action;
}

int ActionMask::number(const Action& action) const {
  REVERIE_CHECK(allows(action));
  const auto row = of(action.primary);
  return std::accumulate(row.begin(), row.begin() + action.entity, action.index);
}

std::vector<float> best_by_entity(const ActionMask& mask, int primary,
                                  std::span<const double> values) {
  REVERIE_CHECK_EQ(static_cast<int>(values.size()), mask.total(primary));
  std::vector<float> best;
  best.reserve(static_cast<size_t>(mask.entities));
  for (const size_t count : mask.of(primary)) {
    const auto here = values.first(count);
    best.push_back(here.empty() ? 0.0f : static_cast<float>(*std::ranges::max_element(here)));
    values = values.subspan(count);
  }
  return best;
}

EnvCounters& EnvCounters::operator+=(const EnvCounters& other) {
  resets += other.resets;
  steps += other.steps;
  cost_lookups += other.cost_lookups;
  measurements += other.measurements;
  capped_states += other.capped_states;
  return *this;
}

std::vector<double> Environment::gains(int) const { return {}; }

std::unique_ptr<KnownDynamics> Environment::known() const {
  return spec().knows_dynamics ? computed_dynamics(fork()) : nullptr;
}

double Environment::measured_gain() const {
  throw InputError("the environment '{}' has nothing that can be measured end to end", spec().name);
}

std::vector<double> Environment::measured_gains(int times) const {
  std::vector<double> gains;
  for (int i = 0; i < times; ++i) gains.push_back(measured_gain());
  return gains;
}

std::string Environment::describe() const {
  const GraphFeatures graph = observe().graph;
  std::vector<std::string> types, metrics;
  for (const int32_t type : graph.node_types)
    types.push_back(spec().node_types[static_cast<size_t>(type)]);
  const StepInfo now = info();
  for (size_t i = 0; i < now.metrics.size(); ++i)
    metrics.push_back(text_of(spec().metrics[i], now.metrics[i]));
  return fmt::format("{}; {}", tally(types), fmt::join(metrics, ", "));
}

std::string Environment::describe(const Action& action) const {
  const ActionMask here = mask();
  require_allowed(spec(), here, action);
  std::string text = spec().actions[static_cast<size_t>(action.primary)];
  if (action.primary == spec().no_op()) return text;
  if (here.entities > 1) text += fmt::format(" at entity {}", action.entity);
  const int choices = here.at(action.primary, action.entity);
  if (choices > 1) text += fmt::format(", choice {} of {}", action.index + 1, choices);
  return text;
}

std::string text_of(const Metric& metric, double value) {
  return fmt::format("{} {:.4g}{}{}", metric.name, value, metric.unit.empty() ? "" : " ",
                     metric.unit);
}

void require_allowed(const EnvSpec& spec, const ActionMask& mask, const Action& action) {
  if (mask.allows(action)) return;
  if (action.primary < 0 || action.primary > spec.no_op())
    throw InputError("there is no action {}; actions are 0 to {}", action.primary, spec.no_op());
  const std::string& name = spec.actions[static_cast<size_t>(action.primary)];
  if (action.entity < 0 || action.entity >= mask.entities)
    throw InputError("{}: there is no entity {}; entities are 0 to {}", name, action.entity,
                     mask.entities - 1);
  throw InputError("{} has {} choices at entity {}, not number {}", name,
                   mask.at(action.primary, action.entity), action.entity, action.index);
}

}  // namespace reverie
