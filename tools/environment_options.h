#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "core/base/config.h"
#include "env/kind.h"

namespace reverie {

/// What the command line says of the environment: its kind, its inputs, and options that stand for
/// keys of the configuration (EnvironmentKind::options).
struct EnvironmentOptions {
  struct Given {
    std::string kind;
    CommandOption option;
    std::vector<std::string> values;
  };
  std::string kind;
  std::vector<std::string> inputs;
  std::vector<Given> given;
};

/// Adds the inputs, --env and the options of every kind.
void add_environment_options(CLI::App& command, const std::shared_ptr<EnvironmentOptions>& options);

/// Those but for the inputs. Where the command has an option of that name, the environment gets
/// what that gets. Gives the options of kinds that were added.
std::vector<CLI::Option*> add_kind_options(CLI::App& command,
                                           const std::shared_ptr<EnvironmentOptions>& options);

/// Writes them into a step's configuration, whose section "env" is an EnvironmentConfig. InputError
/// for an option of another kind than the one that is resolved.
void apply_environment_options(const EnvironmentOptions& options, const EnvironmentConfig& env,
                               ConfigFields& fields);

template <class Config>
Config with_environment(const EnvironmentOptions& options, Config config) {
  ConfigFields fields(config);
  apply_environment_options(options, config.env, fields);
  return config;
}

}  // namespace reverie
