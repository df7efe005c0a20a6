#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tools/command.h"
#include "tools/command_tree.h"
#include "tools/help.h"

namespace reverie {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// A case of a shell for each command.
std::string cases(const std::vector<NamedCommand>& commands,
                  const std::function<std::string(const NamedCommand&)>& body) {
  std::string text;
  for (const NamedCommand& command : commands)
    text += fmt::format("    {})\n{} ;;\n", quoted(command.name), body(command));
  return text;
}

std::string names_of(const std::vector<NamedCommand>& commands) {
  std::vector<std::string> names;
  for (const NamedCommand& command : commands)
    if (command.name != commands.front().name) names.push_back(quoted(command.name));
  return fmt::format("{}", fmt::join(names, " | "));
}

std::string bash_script(const CLI::App& root) {
  const std::vector<NamedCommand> commands = all_commands(root);
  const auto words = [&](const NamedCommand& command) {
    std::vector<std::string> below, options;
    for (const CLI::App* next : completed_commands(root, *command.app))
      below.push_back(next->get_name());
    for (const CLI::Option* option : listed_options(*command.app))
      for (const std::string& name : flags_of(*option)) options.push_back(name);
    return fmt::format("      commands={}\n      options={}",
                       quoted(fmt::format("{}", fmt::join(below, " "))),
                       quoted(fmt::format("{}", fmt::join(options, " "))));
  };
  return fmt::format(R"(# bash completion for reverie: reverie completion bash
_reverie() {{
  local at=reverie word=${{COMP_WORDS[COMP_CWORD]}} commands='' options='' i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$at ${{COMP_WORDS[i]}}" in
      {})
        at+=" ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case $at in
{}  esac
  [[ $word == -* ]] && commands=$options
  mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$word")
}}
complete -o default -F _reverie reverie
)",
                     names_of(commands), cases(commands, words));
}

std::string zsh_script(const CLI::App& root) {
  const std::vector<NamedCommand> commands = all_commands(root);
  const auto words = [&](const NamedCommand& command) {
    std::vector<std::string> below, options;
    for (const CLI::App* next : completed_commands(root, *command.app))
      below.push_back(quoted(next->get_name() + ":" + first_line(next->get_description())));
    for (const CLI::Option* option : listed_options(*command.app))
      for (const std::string& name : flags_of(*option))
        options.push_back(quoted(name + ":" + option->get_description()));
    return fmt::format("      commands=({})\n      options=({})",
                       fmt::join(below, "\n                "),
                       fmt::join(options, "\n               "));
  };
  return fmt::format(R"(#compdef reverie
# zsh completion for reverie: reverie completion zsh
_reverie() {{
  local at=reverie word
  local -a commands options
  for word in ${{words[2,CURRENT-1]}}; do
    case "$at $word" in
      {})
        at+=" $word" ;;
    esac
  done
  case $at in
{}  esac
  if [[ $PREFIX == -* ]]; then
    _describe -o option options
  elif (( $#commands )); then
    _describe command commands
  else
    _files
  fi
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _reverie "$@"
else
  compdef _reverie reverie
fi
)",
                     names_of(commands), cases(commands, words));
}

}  // namespace

void register_completion(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "completion", with_examples("Print what completes commands and options in a shell, or the "
                                  "manual page, from the text of --help",
                                  {"completion bash", "completion zsh", "completion man"}));
  command->group("");  // CMake installs what it prints
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, std::string (*text)(const CLI::App&)) {
    command->add_subcommand(name, what)->callback([&app, text] { fmt::print("{}", text(app)); });
  };
  add("bash", "For bash", &bash_script);
  add("zsh", "For zsh", &zsh_script);
  add("man", "The manual page", &manual_page);
}

}  // namespace reverie
