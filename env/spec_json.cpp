#include "env/spec_json.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/error.h"

namespace reverie {
namespace {

constexpr std::array<std::string_view, 2> kLevels = {"node", "graph"};
constexpr std::array<std::string_view, 3> kLosses = {"share", "regression", "binary"};

template <class Visit>
void visit_plain_fields(Visit&& visit) {
  visit("name", &EnvSpec::name);
  visit("node_types", &EnvSpec::node_types);
  visit("other_type", &EnvSpec::other_type);
  visit("node_features", &EnvSpec::node_features);
  visit("edge_features", &EnvSpec::edge_features);
  visit("action_features", &EnvSpec::action_features);
  visit("actions", &EnvSpec::actions);
  visit("objective", &EnvSpec::objective);
  visit("less_is_better", &EnvSpec::less_is_better);
  visit("max_choices", &EnvSpec::max_choices);
  visit("horizon", &EnvSpec::horizon);
  visit("source", &EnvSpec::source);
  visit("deterministic", &EnvSpec::deterministic);
  visit("stochastic", &EnvSpec::stochastic);
  visit("looks_ahead", &EnvSpec::looks_ahead);
  visit("measurable", &EnvSpec::measurable);
  visit("may_be_infeasible", &EnvSpec::may_be_infeasible);
}

/// Those that files of earlier versions lack.
template <class Visit>
void visit_newer_fields(Visit&& visit) {
  visit("reward_at_end", &EnvSpec::reward_at_end);
  visit("knows_dynamics", &EnvSpec::knows_dynamics);
  visit("learned", &EnvSpec::learned);
}

template <class T>
void read(const Json& value, T& field) {
  field = value.get<T>();
}

template <size_t N>
size_t index_of(const std::array<std::string_view, N>& names, const std::string& name) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == name) return i;
  throw InputError("a specification says '{}', which is unknown", name);
}

void require_complete(const EnvSpec& spec) {
  if (spec.actions.empty() || spec.actions.back() != "NO-OP" || spec.starts.empty() ||
      spec.objective < 0 || spec.objective >= static_cast<int>(spec.metrics.size()))
    throw InputError(
        "a specification lacks NO-OP as its last action, start states or its objective");
  if (spec.max_choices < 1 || spec.max_choices > 32767)
    throw InputError("a specification says max_choices {}; they must be from 1 to 32767",
                     spec.max_choices);
  const bool fit = std::ranges::all_of(spec.targets, [](const Target& target) {
    return (target.level == TargetLevel::kNode) == (target.loss == TargetLoss::kShare);
  });
  if (!fit || !std::ranges::is_sorted(spec.targets, {}, &Target::level))
    throw InputError(
        "a specification has other targets than shares of nodes, then others of graphs");
  for (const std::string& name : spec.learned)
    if (std::ranges::count(spec.targets, name, &Target::name) == 0)
      throw InputError("a specification says that '{}' is learned, which is no target", name);
}

}  // namespace

Json spec_to_json(const EnvSpec& spec) {
  Json value;
  const auto write = [&](const char* name, auto member) { value[name] = spec.*member; };
  visit_plain_fields(write);
  visit_newer_fields(write);
  Json::Array targets, metrics, starts;
  for (const Target& target : spec.targets)
    targets.push_back({{"name", target.name},
                       {"level", std::string(kLevels[static_cast<size_t>(target.level)])},
                       {"loss", std::string(kLosses[static_cast<size_t>(target.loss)])}});
  for (const Metric& metric : spec.metrics)
    metrics.push_back({{"name", metric.name}, {"unit", metric.unit}});
  for (const StartState& start : spec.starts)
    starts.push_back({{"name", start.name}, {"fingerprint", start.fingerprint}});
  value["targets"] = targets;
  value["metrics"] = metrics;
  value["starts"] = starts;
  return value;
}

EnvSpec spec_from_json(const Json& value) {
  EnvSpec spec;
  visit_plain_fields([&](const char* name, auto member) { read(value.at(name), spec.*member); });
  visit_newer_fields([&](const char* name, auto member) {
    if (const Json* newer = value.find(name)) read(*newer, spec.*member);
  });
  const auto text = [](const Json& entry, const char* key) {
    return entry.at(key).get<std::string>();
  };
  for (const Json& entry : value.at("targets").array())
    spec.targets.push_back({text(entry, "name"),
                            static_cast<TargetLevel>(index_of(kLevels, text(entry, "level"))),
                            static_cast<TargetLoss>(index_of(kLosses, text(entry, "loss")))});
  for (const Json& entry : value.at("metrics").array())
    spec.metrics.push_back({text(entry, "name"), text(entry, "unit")});
  for (const Json& entry : value.at("starts").array())
    spec.starts.push_back({text(entry, "name"), entry.at("fingerprint").get<uint64_t>()});
  require_complete(spec);
  return spec;
}

}  // namespace reverie
