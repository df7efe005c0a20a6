#include "worldmodel/spec_json.h"

namespace reverie {
namespace {

constexpr const char* kRegions = "regions";

template <class Visit>
void visit_fields(Visit&& visit) {
  visit("name", &EnvSpec::name);
  visit("node_types", &EnvSpec::node_types);
  visit("node_features", &EnvSpec::node_features);
  visit("edge_features", &EnvSpec::edge_features);
  visit("global_features", &EnvSpec::global_features);
  visit("action_features", &EnvSpec::action_features);
  visit("actions", &EnvSpec::actions);
  visit("max_secondary", &EnvSpec::max_secondary);
  visit("horizon", &EnvSpec::horizon);
  visit("start_states", &EnvSpec::start_states);
  visit("deterministic", &EnvSpec::deterministic);
  visit("prefix_masks", &EnvSpec::prefix_masks);
  visit("fingerprint", &EnvSpec::fingerprint);
  visit("cost_source", &EnvSpec::cost_source);
}

template <class T>
void read(const Json& value, T& field) {
  field = value.get<T>();
}

}  // namespace

Json spec_to_json(const EnvSpec& spec) {
  Json value;
  visit_fields([&](const char* name, auto member) { value[name] = spec.*member; });
  value[kRegions] = spec.regions;
  return value;
}

EnvSpec spec_from_json(const Json& value) {
  EnvSpec spec;
  visit_fields([&](const char* name, auto member) { read(value.at(name), spec.*member); });
  if (const Json* regions = value.find(kRegions)) read(*regions, spec.regions);
  return spec;
}

}  // namespace reverie
