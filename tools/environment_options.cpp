#include "tools/environment_options.h"

#include <algorithm>

#include "core/base/error.h"

namespace reverie {
namespace {

std::string help_of_inputs() {
  std::string help;
  for (const EnvironmentKind* kind : environment_kinds())
    if (!kind->inputs().empty())
      help += fmt::format("{}{} ({})", help.empty() ? "" : ", ", kind->inputs(), kind->name());
  return help;
}

/// A key with these items as YAML, each quoted.
std::string yaml_of(const std::string& key, const std::vector<std::string>& items, bool list) {
  std::string text, indent, rest = key;
  for (size_t dot = rest.find('.'); dot != std::string::npos; dot = rest.find('.')) {
    text += fmt::format("{}{}:\n", indent, rest.substr(0, dot));
    indent += "  ";
    rest = rest.substr(dot + 1);
  }
  std::string values;
  for (const std::string& item : items) {
    std::string quoted;
    for (const char c : item) quoted += c == '\'' ? std::string("''") : std::string(1, c);
    values += fmt::format("{}'{}'", values.empty() ? "" : ", ", quoted);
  }
  if (list) values = "[" + values + "]";
  return text + fmt::format("{}{}: {}\n", indent, rest, values);
}

/// What an option of the command gets, the environment gets, too.
void share_option(CLI::Option& own, const std::shared_ptr<EnvironmentOptions>& options,
                  const EnvironmentOptions::Given& shared) {
  own.each([options, shared](const std::string& value) {
    auto& given = options->given;
    const auto flag = [](const EnvironmentOptions::Given& one) { return one.option.flag; };
    auto known = std::ranges::find(given, shared.option.flag, flag);
    if (known == given.end()) known = given.insert(known, shared);
    if (!shared.option.list) known->values.clear();
    known->values.push_back(value);
  });
}

CLI::Option* add_option(CLI::App& command, const std::shared_ptr<EnvironmentOptions>& options,
                        const EnvironmentOptions::Given& added) {
  const auto take = [options, added](const std::vector<std::string>& values) {
    options->given.push_back({added.kind, added.option, values});
  };
  const CommandOption& how = added.option;
  auto* option = command.add_option_function<std::vector<std::string>>(how.flag, take, how.help);
  option->type_name(how.type)->expected(1);
  return how.list ? option->take_all() : option->take_last();
}

}  // namespace

std::vector<CLI::Option*> add_kind_options(CLI::App& command,
                                           const std::shared_ptr<EnvironmentOptions>& options) {
  std::vector<CLI::Option*> added;
  for (const EnvironmentKind* kind : environment_kinds())
    for (const CommandOption& option : kind->options()) {
      const EnvironmentOptions::Given given{std::string(kind->name()), option, {}};
      if (CLI::Option* own = command.get_option_no_throw(option.flag))
        share_option(*own, options, given);
      else
        added.push_back(add_option(command, options, given));
    }
  command.add_option("--env", options->kind, "Environment: " + EnvironmentConfig::kind_names())
      ->type_name("KIND");
  return added;
}

void add_environment_options(CLI::App& command,
                             const std::shared_ptr<EnvironmentOptions>& options) {
  command.add_option("inputs", options->inputs, help_of_inputs())->type_name("INPUT");
  add_kind_options(command, options);
}

void apply_environment_options(const EnvironmentOptions& options, const EnvironmentConfig& env,
                               ConfigFields& fields) {
  if (!options.kind.empty()) fields.set_value("env.kind", options.kind);
  environment_kind(env.kind);
  if (!options.inputs.empty())
    fields.load_text(yaml_of("env.inputs", options.inputs, true), "inputs");
  for (const auto& [kind, option, values] : options.given) {
    if (kind != env.kind) throw InputError("{} takes no {}; leave it out", env.kind, option.flag);
    fields.load_text(yaml_of(option.key, values, option.list), option.flag);
  }
}

}  // namespace reverie
