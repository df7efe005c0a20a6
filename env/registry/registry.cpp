#include "env/registry/registry.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <utility>

#include "core/base/config.h"
#include "core/base/error.h"
#include "env/registry/adapt_kind.h"
#include "env/registry/placement_kind.h"
#include "env/registry/rewrite_kind.h"

namespace reverie {
namespace {

void require_no_inputs(const EnvironmentConfig& config) {
  if (!config.inputs.empty())
    throw InputError("{} takes no inputs, such as '{}'; leave them out", config.kind,
                     config.inputs.front());
}

class ToyKind : public EnvironmentKind {
 public:
  std::string_view name() const override { return "toy"; }
  MadeEnvironment make(const EnvironmentConfig& config) const override {
    require_no_inputs(config);
    ToyConfig toy = config.toy;
    toy.horizon = config.horizon;
    return {std::make_unique<ToyEnvironment>(toy), {}};
  }
};

class KnapsackKind : public EnvironmentKind {
 public:
  std::string_view name() const override { return "knapsack"; }
  MadeEnvironment make(const EnvironmentConfig& config) const override {
    require_no_inputs(config);
    KnapsackConfig knapsack = config.knapsack;
    knapsack.horizon = config.horizon;
    return {std::make_unique<KnapsackEnvironment>(knapsack), {}};
  }
};

}  // namespace

MadeEnvironment EnvironmentKind::make_by(const EnvironmentConfig&,
                                         const std::string& source) const {
  throw InputError("{} has no metrics that could come from '{}'; leave the source out", name(),
                   source);
}

MadeEnvironment EnvironmentKind::make_surrogate(const EnvironmentConfig&,
                                                const std::string& source) const {
  throw InputError("{} has no rewards that could come from '{}': it has no surrogate", name(),
                   source);
}

std::unique_ptr<EvaluationCases> EnvironmentKind::evaluation(const EnvironmentConfig& config,
                                                             const KindEvaluationConfig&,
                                                             const EvaluationPlan& plan) const {
  MadeEnvironment made = make(config);
  if (plan.horizons != 1) {
    EnvironmentConfig longer = config;
    longer.horizon =
        static_cast<int>(std::lround(plan.horizons * made.environment->spec().horizon));
    made = make(longer);
  }
  return plain_cases(std::move(made.environment), std::move(made.warnings));
}

const std::vector<const EnvironmentKind*>& environment_kinds() {
  static const ToyKind toy;
  static const KnapsackKind knapsack;
  static const std::vector<const EnvironmentKind*> kinds = {&rewrite_kind(), &adapt_kind(),
                                                            &placement_kind(), &toy, &knapsack};
  return kinds;
}

const EnvironmentKind& environment_kind(const std::string& name) {
  std::string known;
  for (const EnvironmentKind* kind : environment_kinds()) {
    if (kind->name() == name) return *kind;
    known += (known.empty() ? "" : ", ") + std::string(kind->name());
  }
  throw InputError("there is no environment '{}'; known are {}", name, known);
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
