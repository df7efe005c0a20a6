#include "env/translated.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/error.h"

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

class TranslatedEnvironment : public Environment {
 public:
  TranslatedEnvironment(std::unique_ptr<Environment> inner, const EnvSpec& known)
      : inner_(std::move(inner)), spec_(inner_->spec()) {
    const EnvSpec& real = inner_->spec();
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
  }

  const EnvSpec& spec() const override { return spec_; }
  void reset(uint64_t seed) override { inner_->reset(seed); }
  StepResult step(const Action& action) override {
    require_allowed(spec_, mask(), action);
    return inner_->step(real(action));
  }
  Observation observe() const override {
    Observation seen = inner_->observe();
    translate(seen.graph);
    seen.action_features = action_features(seen);
    seen.mask = translated(seen.mask);
    return seen;
  }
  ActionMask mask() const override { return translated(inner_->mask()); }
  StepInfo info() const override { return inner_->info(); }
  std::vector<double> gains(int primary) const override {
    const int theirs = actions_[static_cast<size_t>(primary)];
    const std::vector<double> all = inner_->gains(theirs);
    if (all.empty() || spec_.max_choices == inner_->spec().max_choices) return all;
    const ActionMask mask = inner_->mask();
    std::vector<double> gains;
    size_t first = 0;
    for (const int count : mask.of(theirs)) {
      const auto offered = static_cast<size_t>(std::min(count, spec_.max_choices));
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
      gains.insert(gains.end(), begin, begin + static_cast<std::ptrdiff_t>(offered));
      first += static_cast<size_t>(count);
    }
    return gains;
  }
  double measured_gain() const override { return inner_->measured_gain(); }
  std::string describe() const override { return inner_->describe(); }
  std::string describe(const Action& action) const override {
    require_allowed(spec_, mask(), action);
    return inner_->describe(real(action));
  }
  const EnvCounters& counters() const override { return inner_->counters(); }
  const Environment& unwrapped() const override { return inner_->unwrapped(); }
  std::unique_ptr<Environment> fork() const override {
    auto copy =
        std::unique_ptr<TranslatedEnvironment>(new TranslatedEnvironment(*this, inner_->fork()));
    return copy;
  }

 private:
  TranslatedEnvironment(const TranslatedEnvironment& other, std::unique_ptr<Environment> inner)
      : inner_(std::move(inner)),
        spec_(other.spec_),
        actions_(other.actions_),
        types_(other.types_),
        node_columns_(other.node_columns_),
        edge_columns_(other.edge_columns_),
        action_columns_(other.action_columns_),
        target_columns_{other.target_columns_[0], other.target_columns_[1]} {}

  Action real(Action action) const {
    action.primary = actions_[static_cast<size_t>(action.primary)];
    return action;
  }

  ActionMask translated(const ActionMask& theirs) const {
    ActionMask mask(spec_.primary_actions(), theirs.entities);
    for (int primary = 0; primary < spec_.primary_actions(); ++primary)
      for (int entity = 0; entity < theirs.entities; ++entity)
        mask.at(primary, entity) = static_cast<uint16_t>(
            std::min(theirs.at(actions_[static_cast<size_t>(primary)], entity), spec_.max_choices));
    return mask;
  }

  std::vector<float> action_features(const Observation& seen) const {
    const size_t width = inner_->spec().action_features.size();
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
    const EnvSpec& real = inner_->spec();
    for (int32_t& type : graph.node_types) {
      const auto theirs = static_cast<size_t>(type);
      type = types_[theirs];
      if (type < 0)
        throw InputError(
            "a node of type '{}' is unknown to what was trained without it; train anew",
            real.node_types[theirs]);
    }
    graph.nodes = columns(graph.nodes, real.node_features.size(), node_columns_);
    graph.edges = columns(graph.edges, real.edge_features.size(), edge_columns_);
    const auto of_level = [&](const std::vector<float>& values, TargetLevel level) {
      return columns(values, static_cast<size_t>(real.target_count(level)),
                     target_columns_[static_cast<size_t>(level)]);
    };
    graph.node_targets = of_level(graph.node_targets, TargetLevel::kNode);
    graph.graph_targets = of_level(graph.graph_targets, TargetLevel::kGraph);
  }

  std::unique_ptr<Environment> inner_;
  EnvSpec spec_;
  std::vector<int> actions_;  ///< of each known action its number in the environment
  std::vector<int> types_;    ///< of each type of the environment its known number; -1: none
  std::vector<int> node_columns_, edge_columns_, action_columns_;
  std::vector<int> target_columns_[2];  ///< by level
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
  return std::make_unique<TranslatedEnvironment>(std::move(environment), known);
}

}  // namespace reverie
