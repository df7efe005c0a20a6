#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/config.h"
#include "core/base/files.h"
#include "core/base/progress.h"
#include "tools/help.h"

namespace reverie {

/// Options that every step shares.
struct CommonOptions {
  std::vector<std::string> config_files;
  std::vector<std::string> overrides;
  std::optional<std::string> seed;
  std::string out;
  bool resume = false;
  bool json = false;
  bool quiet = false;

  /// --json reserves standard output for its last line; progress goes to standard error.
  ProgressStyle progress() const { return progress_style(quiet); }
};

/// Adds --config --set --seed --out --resume --json --quiet. --help-all of the command ends with
/// the keys of `Config`.
void add_common_options(CLI::App& command, CommonOptions& options);

/// The keys of a configuration, for the end of --help-all.
template <class Config>
std::string settings_text(Config& config) {
  return "Keys for --config and --set:\n" + ConfigFields(config).help();
}

template <class Config>
void add_common_options(CLI::App& command, CommonOptions& options) {
  add_common_options(command, options);
  command.footer([] {
    Config defaults;
    return kRareText + settings_text(defaults);
  });
}

/// Defaults, then the files in order, then --set in order, then --seed (the field "seed").
template <class Config>
Config resolve_config(const CommonOptions& options, Config config = {}) {
  ConfigFields fields(config);
  for (const std::string& file : options.config_files) fields.load_file(file);
  for (const std::string& assignment : options.overrides) fields.set(assignment);
  if (options.seed) fields.set_value("seed", *options.seed);
  return config;
}

}  // namespace reverie
