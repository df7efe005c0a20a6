#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "env/environment.h"

namespace reverie::testing {

/// The same environment after a change of its code: `shown` holds all its names in any order, and
/// more. A column that it lacks is 0.5 everywhere; an action that it lacks has one choice at every
/// entity, promises much, and must not be taken.
class RenamedEnvironment : public Environment {
 public:
  RenamedEnvironment(std::unique_ptr<Environment> inner, EnvSpec shown)
      : inner_(std::move(inner)), spec_(std::move(shown)) {}

  const EnvSpec& spec() const override { return spec_; }
  void reset(uint64_t seed) override { inner_->reset(seed); }
  StepResult step(const Action& action) override {
    require_allowed(spec_, mask(), action);
    const int primary = theirs(action.primary);
    REVERIE_CHECK(primary >= 0, "an unknown action was taken");
    return inner_->step({primary, action.entity, action.index});
  }

  Observation observe() const override {
    Observation seen = inner_->observe();
    const EnvSpec& real = inner_->spec();
    GraphFeatures& graph = seen.graph;
    for (int32_t& type : graph.node_types)
      type = find(spec_.node_types, real.node_types[static_cast<size_t>(type)]);
    graph.nodes = columns(graph.nodes, real.node_features, spec_.node_features);
    graph.edges = columns(graph.edges, real.edge_features, spec_.edge_features);
    graph.node_targets = columns(graph.node_targets, names(real, TargetLevel::kNode),
                                 names(spec_, TargetLevel::kNode));
    graph.graph_targets = columns(graph.graph_targets, names(real, TargetLevel::kGraph),
                                  names(spec_, TargetLevel::kGraph));
    seen.action_features = action_features(seen);
    seen.mask = mask();
    return seen;
  }

  ActionMask mask() const override {
    const ActionMask real = inner_->mask();
    ActionMask mask(spec_.primary_actions(), real.entities);
    for (int primary = 0; primary < spec_.no_op(); ++primary)
      for (int entity = 0; entity < real.entities; ++entity)
        mask.at(primary, entity) =
            static_cast<uint16_t>(theirs(primary) < 0 ? 1 : real.at(theirs(primary), entity));
    return mask;
  }

  StepInfo info() const override { return inner_->info(); }
  std::vector<double> gains(int primary) const override {
    if (theirs(primary) >= 0) return inner_->gains(theirs(primary));
    return std::vector<double>(static_cast<size_t>(mask().total(primary)), 1e6);
  }
  const EnvCounters& counters() const override { return inner_->counters(); }
  std::unique_ptr<Environment> fork() const override {
    return std::make_unique<RenamedEnvironment>(inner_->fork(), spec_);
  }

 private:
  static int find(const std::vector<std::string>& names, const std::string& name) {
    const auto at = std::ranges::find(names, name);
    return at == names.end() ? -1 : static_cast<int>(at - names.begin());
  }
  static std::vector<std::string> names(const EnvSpec& spec, TargetLevel level) {
    std::vector<std::string> names;
    for (const Target& target : spec.targets)
      if (target.level == level) names.push_back(target.name);
    return names;
  }
  static std::vector<float> columns(const std::vector<float>& values,
                                    const std::vector<std::string>& had,
                                    const std::vector<std::string>& shown) {
    std::vector<float> result;
    for (size_t row = 0; row < values.size(); row += had.size())
      for (const std::string& name : shown) {
        const int column = find(had, name);
        result.push_back(column < 0 ? 0.5f : values[row + static_cast<size_t>(column)]);
      }
    return result;
  }
  int theirs(int primary) const {
    return find(inner_->spec().actions, spec_.actions[static_cast<size_t>(primary)]);
  }
  std::vector<float> action_features(const Observation& seen) const {
    const auto entities = static_cast<size_t>(seen.mask.entities);
    const size_t row = entities * inner_->spec().action_features.size();
    std::vector<float> result;
    for (int primary = 0; primary < spec_.primary_actions(); ++primary) {
      if (theirs(primary) < 0) {
        result.insert(result.end(), entities * spec_.action_features.size(), 0.5f);
        continue;
      }
      const auto first = seen.action_features.begin() +
                         static_cast<std::ptrdiff_t>(static_cast<size_t>(theirs(primary)) * row);
      const auto own = columns({first, first + static_cast<std::ptrdiff_t>(row)},
                               inner_->spec().action_features, spec_.action_features);
      result.insert(result.end(), own.begin(), own.end());
    }
    return result;
  }

  std::unique_ptr<Environment> inner_;
  EnvSpec spec_;
};

/// The names of a specification the other way round; NO-OP stays the last action, and targets of
/// nodes stay before those of graphs.
inline EnvSpec reversed(EnvSpec spec) {
  for (auto* names :
       {&spec.node_types, &spec.node_features, &spec.edge_features, &spec.action_features})
    std::ranges::reverse(*names);
  std::reverse(spec.actions.begin(), spec.actions.end() - 1);
  const auto graph = spec.targets.begin() + spec.target_count(TargetLevel::kNode);
  std::reverse(spec.targets.begin(), graph);
  std::reverse(graph, spec.targets.end());
  return spec;
}

}  // namespace reverie::testing
