#include "tools/command_tree.h"

namespace reverie {
namespace {

std::vector<const CLI::App*> listed(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

void add_commands(const CLI::App& app, const std::string& name, std::vector<NamedCommand>& all) {
  all.push_back({name, &app});
  for (const CLI::App* command : listed(app))
    add_commands(*command, name + " " + command->get_name(), all);
}

}  // namespace

std::vector<NamedCommand> all_commands(const CLI::App& root) {
  std::vector<NamedCommand> all;
  add_commands(root, root.get_name(), all);
  return all;
}

std::vector<const CLI::App*> completed_commands(const CLI::App& root, const CLI::App& command) {
  return listed(command.get_name() == "help" ? root : command);
}

std::vector<const CLI::Option*> listed_options(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) {
    return option->nonpositional() && !option->get_group().empty();
  });
}

std::vector<std::string> flags_of(const CLI::Option& option) {
  std::vector<std::string> flags;
  for (const std::string& name : option.get_snames()) flags.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flags.push_back("--" + name);
  return flags;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace reverie
