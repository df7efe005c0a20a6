#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/json.h"
#include "core/base/tally.h"
#include "core/base/words.h"
#include "tools/inspect.h"

namespace reverie {
namespace {

constexpr int kShown = 4;      ///< texts of one action
constexpr size_t kNames = 12;  ///< of actions

/// By entity, the types of its nodes.
std::vector<std::vector<std::string>> types_by_entity(const EnvSpec& spec,
                                                      const Observation& seen) {
  std::vector<std::vector<std::string>> types(static_cast<size_t>(seen.mask.entities));
  for (size_t node = 0; node < seen.graph.node_types.size(); ++node)
    types[static_cast<size_t>(seen.graph.node_entities[node])].push_back(
        spec.node_types[static_cast<size_t>(seen.graph.node_types[node])]);
  return types;
}

std::string metrics_text(const EnvSpec& spec, const StepInfo& info) {
  std::vector<std::string> metrics;
  for (size_t i = 0; i < spec.metrics.size(); ++i)
    metrics.push_back(text_of(spec.metrics[i], info.metrics[i]));
  return fmt::format("{}{}", fmt::join(metrics, ", "), info.feasible ? "" : "; infeasible");
}

/// "2 merge, 1 swap"; "-" where nothing can be done.
std::string choices_text(const EnvSpec& spec, const ActionMask& mask, int entity) {
  std::vector<std::string> choices;
  for (int primary = 0; primary < spec.primary_actions(); ++primary)
    if (const int count = mask.at(primary, entity); count > 0)
      choices.push_back(fmt::format("{} {}", count, spec.actions[static_cast<size_t>(primary)]));
  return choices.empty() ? "-" : fmt::format("{}", fmt::join(choices, ", "));
}

std::string entities_text(const EnvSpec& spec, const Observation& seen) {
  std::vector<std::string> nodes = {"nodes"};
  for (const auto& types : types_by_entity(spec, seen)) nodes.push_back(tally(types));
  const size_t width = std::ranges::max(nodes, {}, &std::string::size).size();
  std::string text = fmt::format("entity  {:<{}}  choices\n", nodes.front(), width);
  for (int entity = 0; entity < seen.mask.entities; ++entity)
    text += fmt::format("{:>6}  {:<{}}  {}\n", entity, nodes[static_cast<size_t>(entity) + 1],
                        width, choices_text(spec, seen.mask, entity));
  return text;
}

/// Each action with a few of its choices.
std::string actions_text(const Environment& environment, const ActionMask& mask) {
  const EnvSpec& spec = environment.spec();
  std::string text;
  for (int primary = 0; primary < spec.primary_actions(); ++primary) {
    const int choices = mask.total(primary);
    if (choices == 0) continue;
    text += fmt::format("{}, {}\n", spec.actions[static_cast<size_t>(primary)],
                        counted(choices, "choice"));
    for (int n = 0; n < std::min(choices, kShown); ++n)
      text += fmt::format("  {}\n", environment.describe(mask.choice(primary, n)));
    if (choices > kShown) text += fmt::format("  and {} more\n", choices - kShown);
  }
  return text;
}

std::string start_text(const Environment& environment, const std::string& name) {
  const EnvSpec& spec = environment.spec();
  const Observation seen = environment.observe();
  return fmt::format("\nstart     {}\nstate     {}\nmetrics   {}\ngraph     {}, {}, {}\n\n{}\n{}",
                     name, environment.describe(), metrics_text(spec, environment.info()),
                     counted(seen.graph.node_count(), "node"),
                     counted(seen.graph.edge_count(), "edge"),
                     counted(seen.mask.entities, "entity", "entities"), entities_text(spec, seen),
                     actions_text(environment, seen.mask));
}

Json start_json(const Environment& environment, const std::string& name) {
  const EnvSpec& spec = environment.spec();
  const Observation seen = environment.observe();
  const StepInfo info = environment.info();
  Json metrics = Json::Object();
  for (size_t i = 0; i < spec.metrics.size(); ++i) metrics[spec.metrics[i].name] = info.metrics[i];
  Json::Array entities, actions;
  for (const auto& types : types_by_entity(spec, seen)) entities.push_back({{"nodes", types}});
  for (int primary = 0; primary < spec.primary_actions(); ++primary)
    for (int n = 0; n < seen.mask.total(primary); ++n) {
      const Action action = seen.mask.choice(primary, n);
      actions.push_back({{"action", spec.actions[static_cast<size_t>(primary)]},
                         {"entity", action.entity},
                         {"index", action.index},
                         {"text", environment.describe(action)}});
    }
  return {{"name", name},         {"state", environment.describe()},
          {"metrics", metrics},   {"feasible", info.feasible},
          {"entities", entities}, {"actions", actions}};
}

std::string spec_text(const EnvSpec& spec) {
  const Metric& objective = spec.objective_metric();
  std::vector<std::string> names = spec.actions;
  if (names.size() > kNames) {
    names.resize(kNames);
    names.push_back(fmt::format("and {} more", spec.actions.size() - kNames));
  }
  return fmt::format(
      "{}: environment, {}\nobjective {}, {} is better, by {}\nhorizon   {}\nactions   {}\n",
      spec.name, counted(spec.start_states(), "start state"), objective.name,
      spec.less_is_better ? "less" : "more", spec.source, counted(spec.horizon, "step"),
      fmt::join(names, ", "));
}

}  // namespace

std::string inspect_environment(const EnvironmentConfig& config, bool json) {
  const MadeEnvironment made = make_environment(config);
  Environment& environment = *made.environment;
  const EnvSpec& spec = environment.spec();
  for (const std::string& warning : made.warnings) fmt::print(stderr, "warning: {}\n", warning);
  std::string text = spec_text(spec);
  Json::Array starts;
  for (size_t start = 0; start < spec.starts.size(); ++start) {
    environment.reset(start);
    if (json)
      starts.push_back(start_json(environment, spec.starts[start].name));
    else
      text += start_text(environment, spec.starts[start].name);
  }
  if (!json) return text;
  return Json{{"kind", "environment"},
              {"environment", spec.name},
              {"source", spec.source},
              {"objective", spec.objective_metric().name},
              {"less_is_better", spec.less_is_better},
              {"horizon", spec.horizon},
              {"actions", spec.actions},
              {"starts", starts}}
             .dump() +
         "\n";
}

}  // namespace reverie
