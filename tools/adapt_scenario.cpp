#include "tools/adapt_scenario.h"

#include "core/base/error.h"
#include "env/kind.h"
#include "tools/adapt_policy.h"

namespace reverie {
namespace {

/// "300s" or "40".
void set_budget(const std::string& text, ConfigFields& fields) {
  const bool seconds = text.ends_with('s');
  const std::string number = text.substr(0, text.size() - (seconds ? 1 : 0));
  if (number.empty() || number.find_first_not_of("0123456789.") != std::string::npos)
    throw InputError("--budget {}: give seconds (300s), or epochs of the starting network (40)",
                     text);
  with_context("--budget", [&] { fields.set_value("adapt.train.budget", number); });
  fields.set_value("adapt.train.unit", seconds ? "seconds" : "flops");
}

}  // namespace

AdaptCommandConfig resolve_adapt(const AdaptOptions& options) {
  AdaptCommandConfig config;
  if (!options.policy.empty()) config.adapt = adapt_config_of_policy("--policy", options.policy);
  config = resolve_config(options.common, config);
  ConfigFields fields(config);
  if (!options.data.empty()) fields.set_value("adapt.train.data", options.data);
  if (!options.budget.empty()) set_budget(options.budget, fields);
  return config;
}

AdaptStart adapt_start(const AdaptOptions& options, const AdaptCommandConfig& config) {
  EnvironmentConfig environment;
  environment.kind = "adapt";
  environment.inputs = {options.source};
  environment.of<AdaptConfig>() = config.adapt;
  const MadeEnvironment made = make_environment(environment);
  return dynamic_cast<const AdaptEnvironment&>(*made.environment).starts().front();
}

}  // namespace reverie
