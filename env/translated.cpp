#include "env/translated.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "env/known_dynamics.h"

namespace reverie {
namespace {

constexpr size_t kNamesShown = 5;

std::vector<std::string> names_of(const std::vector<Target>& targets, TargetLevel level) {
  std::vector<std::string> names;
  for (const Target& target : targets)
    if (target.level == level) names.push_back(target.name);
  return names;
}

/// Of each name its index in `all`, -1 where it is not there.
std::vector<int> places(const std::vector<std::string>& names,
                        const std::vector<std::string>& all) {
  std::vector<int> result;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(all, name);
    result.push_back(found == all.end() ? -1 : static_cast<int>(found - all.begin()));
  }
  return result;
}

/// The names that `all` lacks, the first few of them; empty where it has all.
std::string lacking(const std::vector<std::string>& names, const std::vector<std::string>& all) {
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (std::ranges::find(all, name) == all.end()) missing.push_back(name);
  const size_t more = missing.size() - std::min(missing.size(), kNamesShown);
  missing.resize(missing.size() - more);
  std::string text = fmt::format("{}", fmt::join(missing, ", "));
  return more > 0 ? fmt::format("{} and {} more", text, more) : text;
}

void require_all(const EnvSpec& real, const char* what, const std::vector<std::string>& names,
                 const std::vector<std::string>& all) {
  const std::string missing = lacking(names, all);
  if (!missing.empty())
    throw InputError(
        "the environment '{}' lacks {} that this was trained with: {}; give it the same "
        "settings, or train anew",
        real.name, what, missing);
}

/// Columns `from` of rows of `width` values.
std::vector<float> columns(const std::vector<float>& rows, size_t width,
                           const std::vector<int>& from) {
  std::vector<float> result;
  if (width == 0) return result;
  result.reserve(rows.size() / width * from.size());
  for (size_t row = 0; row < rows.size(); row += width)
    for (const int column : from) result.push_back(rows[row + static_cast<size_t>(column)]);
  return result;
}

/// How names of an environment become those of what was trained on it.
class Translation {
 public:
  Translation(const EnvSpec& real, const EnvSpec& known) : real_(real), spec_(real) {
    actions_ = places(known.actions, real.actions);
    types_ = places(real.node_types, known.node_types);
    const auto other = std::ranges::find(known.node_types, known.other_type);
    if (other != known.node_types.end())
      std::ranges::replace(types_, -1, static_cast<int>(other - known.node_types.begin()));
    node_columns_ = places(known.node_features, real.node_features);
    edge_columns_ = places(known.edge_features, real.edge_features);
    action_columns_ = places(known.action_features, real.action_features);
    for (const TargetLevel level : {TargetLevel::kNode, TargetLevel::kGraph})
      target_columns_[static_cast<size_t>(level)] =
          places(names_of(known.targets, level), names_of(real.targets, level));
    spec_.actions = known.actions;
    spec_.node_types = known.node_types;
    spec_.other_type = known.other_type;
    spec_.node_features = known.node_features;
    spec_.edge_features = known.edge_features;
    spec_.action_features = known.action_features;
    spec_.targets = known.targets;
    spec_.max_choices = std::min(known.max_choices, real.max_choices);
    const std::vector<std::string> targets = names_of(known.targets, TargetLevel::kGraph);
    std::erase_if(spec_.learned, [&](const std::string& name) {
      return std::ranges::find(targets, name) == targets.end();
    });
    told_ = places(real.learned, spec_.learned);
  }

  /// Of the translated environment.
  const EnvSpec& spec() const { return spec_; }

  Action real(Action action) const {
    action.primary = actions_[static_cast<size_t>(action.primary)];
    return action;
  }
  ActionMask mask(const ActionMask& theirs) const {
    ActionMask mask(spec_.primary_actions(), theirs.entities);
    for (int primary = 0; primary < spec_.primary_actions(); ++primary)
      for (int entity = 0; entity < theirs.entities; ++entity)
        mask.at(primary, entity) = static_cast<uint16_t>(
            std::min(theirs.at(actions_[static_cast<size_t>(primary)], entity), spec_.max_choices));
    return mask;
  }
  Observation observation(Observation seen) const {
    translate(seen.graph);
    seen.action_features = action_features(seen);
    seen.mask = mask(seen.mask);
    return seen;
  }
  /// Values of the learned columns in the environment's own order; those that are not translated
  /// are 0.
  std::vector<float> told(std::span<const float> learned) const {
    std::vector<float> values;
    for (const int place : told_)
      values.push_back(place < 0 ? 0 : learned[static_cast<size_t>(place)]);
    return values;
  }

 private:
  std::vector<float> action_features(const Observation& seen) const {
    const size_t width = real_.action_features.size();
    const size_t row = width * static_cast<size_t>(seen.mask.entities);
    std::vector<float> features;
    for (const int primary : actions_) {
      const auto first = seen.action_features.begin() +
                         static_cast<std::ptrdiff_t>(static_cast<size_t>(primary) * row);
      const auto own =
          columns({first, first + static_cast<std::ptrdiff_t>(row)}, width, action_columns_);
      features.insert(features.end(), own.begin(), own.end());
    }
    return features;
  }

  void translate(GraphFeatures& graph) const {
    for (int32_t& type : graph.node_types) {
      const auto theirs = static_cast<size_t>(type);
      type = types_[theirs];
      if (type < 0)
        throw InputError(
            "a node of type '{}' is unknown to what was trained without it; train anew",
            real_.node_types[theirs]);
    }
    graph.nodes = columns(graph.nodes, real_.node_features.size(), node_columns_);
    graph.edges = columns(graph.edges, real_.edge_features.size(), edge_columns_);
    const auto of_level = [&](const std::vector<float>& values, TargetLevel level) {
      return columns(values, static_cast<size_t>(real_.target_count(level)),
                     target_columns_[static_cast<size_t>(level)]);
    };
    graph.node_targets = of_level(graph.node_targets, TargetLevel::kNode);
    graph.graph_targets = of_level(graph.graph_targets, TargetLevel::kGraph);
  }

  EnvSpec real_, spec_;
  std::vector<int> actions_;  ///< of each known action its number in the environment
  std::vector<int> types_;    ///< of each type of the environment its known number; -1: none
  std::vector<int> node_columns_, edge_columns_, action_columns_;
  std::vector<int> target_columns_[2];  ///< by level
  std::vector<int> told_;  ///< of each learned column of the environment its known number
};

class TranslatedDynamics : public KnownDynamics {
 public:
  TranslatedDynamics(std::shared_ptr<const Translation> translation,
                     std::unique_ptr<KnownDynamics> inner)
      : translation_(std::move(translation)), inner_(std::move(inner)) {}

  const EnvSpec& spec() const override { return translation_->spec(); }
  KnownStep step(const Action& action) override {
    require_allowed(translation_->spec(), mask(), action);
    return inner_->step(translation_->real(action));
  }
  ActionMask mask() const override { return translation_->mask(inner_->mask()); }
  Observation observe() const override { return translation_->observation(inner_->observe()); }
  void tell(std::span<const float> learned) override { inner_->tell(translation_->told(learned)); }
  std::unique_ptr<KnownDynamics> fork() const override {
    return std::make_unique<TranslatedDynamics>(translation_, inner_->fork());
  }

 private:
  std::shared_ptr<const Translation> translation_;
  std::unique_ptr<KnownDynamics> inner_;
};

class TranslatedEnvironment : public Environment {
 public:
  TranslatedEnvironment(std::shared_ptr<const Translation> translation,
                        std::unique_ptr<Environment> inner)
      : translation_(std::move(translation)), inner_(std::move(inner)) {}

  const EnvSpec& spec() const override { return translation_->spec(); }
  void reset(uint64_t seed) override { inner_->reset(seed); }
  StepResult step(const Action& action) override {
    require_allowed(spec(), mask(), action);
    return inner_->step(translation_->real(action));
  }
  Observation observe() const override { return translation_->observation(inner_->observe()); }
  ActionMask mask() const override { return translation_->mask(inner_->mask()); }
  StepInfo info() const override { return inner_->info(); }
  std::vector<double> gains(int primary) const override {
    const int theirs = translation_->real({primary, 0, 0}).primary;
    const std::vector<double> all = inner_->gains(theirs);
    if (all.empty() || spec().max_choices == inner_->spec().max_choices) return all;
    const ActionMask mask = inner_->mask();
    std::vector<double> gains;
    size_t first = 0;
    for (const int count : mask.of(theirs)) {
      const auto offered = static_cast<size_t>(std::min(count, spec().max_choices));
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
      gains.insert(gains.end(), begin, begin + static_cast<std::ptrdiff_t>(offered));
      first += static_cast<size_t>(count);
    }
    return gains;
  }
  double measured_gain() const override { return inner_->measured_gain(); }
  std::vector<double> measured_gains(int times) const override {
    return inner_->measured_gains(times);
  }
  std::unique_ptr<KnownDynamics> known() const override {
    auto inner = inner_->known();
    if (inner == nullptr) return nullptr;
    return std::make_unique<TranslatedDynamics>(translation_, std::move(inner));
  }
  std::string describe() const override { return inner_->describe(); }
  std::string describe(const Action& action) const override {
    require_allowed(spec(), mask(), action);
    return inner_->describe(translation_->real(action));
  }
  const EnvCounters& counters() const override { return inner_->counters(); }
  const Environment& unwrapped() const override { return inner_->unwrapped(); }
  std::unique_ptr<Environment> fork() const override {
    return std::make_unique<TranslatedEnvironment>(translation_, inner_->fork());
  }

 private:
  std::shared_ptr<const Translation> translation_;
  std::unique_ptr<Environment> inner_;
};

bool same_names(const EnvSpec& known, const EnvSpec& real) {
  return known.node_types == real.node_types && known.node_features == real.node_features &&
         known.edge_features == real.edge_features &&
         known.action_features == real.action_features && known.actions == real.actions &&
         known.targets == real.targets && known.max_choices >= real.max_choices;
}

}  // namespace

void require_names(const EnvSpec& known, const EnvSpec& real) {
  if (known.name != real.name)
    throw InputError("trained on the environment '{}', not on '{}'", known.name, real.name);
  if (known.objective_metric().name != real.objective_metric().name ||
      known.less_is_better != real.less_is_better)
    throw InputError("trained for the objective '{}', not for '{}'", known.objective_metric().name,
                     real.objective_metric().name);
  require_all(real, "actions", known.actions, real.actions);
  require_all(real, "node features", known.node_features, real.node_features);
  require_all(real, "edge features", known.edge_features, real.edge_features);
  require_all(real, "action features", known.action_features, real.action_features);
  for (const TargetLevel level : {TargetLevel::kNode, TargetLevel::kGraph})
    require_all(real, "targets", names_of(known.targets, level), names_of(real.targets, level));
}

void require_same_names(const EnvSpec& known, const EnvSpec& real) {
  require_names(known, real);
  if (!same_names(known, real) || known.max_choices != real.max_choices)
    throw InputError(
        "the environment '{}' has other or more names than this was trained with, or in another "
        "order; collect and train anew",
        real.name);
}

std::string unknown_actions(const EnvSpec& known, const EnvSpec& real) {
  const std::string names = lacking(real.actions, known.actions);
  return names.empty()
             ? names
             : fmt::format("actions that it was not trained with are not taken: {}", names);
}

std::unique_ptr<Environment> translated(std::unique_ptr<Environment> environment,
                                        const EnvSpec& known) {
  require_names(known, environment->spec());
  if (!lacking(environment->spec().actions, known.actions).empty())
    if (auto own = environment->with_actions(known.actions)) environment = std::move(own);
  if (same_names(known, environment->spec())) return environment;
  auto translation = std::make_shared<const Translation>(environment->spec(), known);
  return std::make_unique<TranslatedEnvironment>(std::move(translation), std::move(environment));
}

}  // namespace reverie
