#include "env/kind.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <utility>

#include "core/base/config.h"
#include "core/base/error.h"

namespace reverie {
namespace {

std::vector<std::unique_ptr<EnvironmentKind>>& registered_kinds() {
  static std::vector<std::unique_ptr<EnvironmentKind>> kinds;
  return kinds;
}

}  // namespace

EnvironmentConfig::EnvironmentConfig() {
  ConfigSections of_tasks;
  for (const EnvironmentKind* known : environment_kinds()) known->declare(sections, of_tasks);
}

TaskConfig::TaskConfig() {
  ConfigSections of_environments;
  for (const EnvironmentKind* known : environment_kinds())
    known->declare(of_environments, sections);
}

std::string EnvironmentConfig::kind_names() {
  std::vector<std::string_view> names;
  for (const EnvironmentKind* known : environment_kinds()) names.push_back(known->name());
  return fmt::format("{}", fmt::join(names, ", "));
}

MadeEnvironment EnvironmentKind::make_by(const EnvironmentConfig&,
                                         const std::string& source) const {
  throw InputError("{} has no metrics that could come from '{}'; leave the source out", name(),
                   source);
}

MadeEnvironment EnvironmentKind::make_known(const EnvironmentConfig& config,
                                            const std::string& source) const {
  if (source.empty()) return make(config);
  throw InputError("{} has no rewards that could come from '{}'; leave the source out", name(),
                   source);
}

std::unique_ptr<Tasks> EnvironmentKind::tasks(const EnvironmentConfig& config, const TaskConfig&,
                                              const TaskPlan& plan) const {
  MadeEnvironment made = make(config);
  if (plan.horizons != 1) {
    EnvironmentConfig longer = config;
    longer.horizon =
        static_cast<int>(std::lround(plan.horizons * made.environment->spec().horizon));
    made = make(longer);
  }
  return plain_tasks(std::move(made.environment), std::move(made.warnings));
}

bool register_kind(std::unique_ptr<EnvironmentKind> kind) {
  auto& all = registered_kinds();
  all.insert(std::ranges::upper_bound(all, kind->name(), {}, &EnvironmentKind::name),
             std::move(kind));
  return true;
}

std::vector<const EnvironmentKind*> environment_kinds() {
  std::vector<const EnvironmentKind*> kinds;
  for (const auto& kind : registered_kinds()) kinds.push_back(kind.get());
  return kinds;
}

const EnvironmentKind& environment_kind(const std::string& name) {
  std::vector<std::string_view> known;
  for (const EnvironmentKind* kind : environment_kinds()) {
    if (kind->name() == name) return *kind;
    known.push_back(kind->name());
  }
  throw InputError("there is no environment '{}'; known are {}", name, fmt::join(known, ", "));
}

void require_no_inputs(const EnvironmentConfig& config) {
  if (!config.inputs.empty())
    throw InputError("{} takes no inputs, such as '{}'; leave them out", config.kind,
                     config.inputs.front());
}

EnvironmentConfig environment_from(const std::string& yaml) {
  EnvironmentConfig config;
  if (!yaml.empty()) ConfigFields(config).load_text(yaml, "the configuration of an environment");
  return config;
}

MadeEnvironment make_environment(const EnvironmentConfig& config) {
  return environment_kind(config.kind).make(config);
}

std::string file_word(const std::string& method) {
  std::string word;
  for (const char c : method)
    if (std::isalnum(static_cast<unsigned char>(c)))
      word += c;
    else if (c == ' ')
      word += '-';
  return word;
}

std::string graph_name(const std::string& path, const std::vector<std::string>& taken) {
  const std::string stem = std::filesystem::path(path).stem().string();
  std::string name = stem;
  for (int i = 2; std::find(taken.begin(), taken.end(), name) != taken.end(); ++i)
    name = fmt::format("{}-{}", stem, i);
  return name;
}

}  // namespace reverie
