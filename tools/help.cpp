#include "tools/help.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <sstream>
#include <vector>

#include "core/base/config.h"
#include "tools/command_tree.h"

namespace reverie {
namespace {

class Help : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    const bool is_whole = mode == CLI::AppFormatMode::All;
    const std::string footer = make_footer(app);
    const size_t rare = footer.find(kRareText);
    const bool has_more = rare != std::string::npos || !options_of(*app, kRareOptions).empty();
    std::string text = make_description(app) + "\n" + make_usage(app, name) + make_positionals(app);
    for (const std::string& group : app->get_groups())
      if (is_whole || group != kRareOptions) text += group_of(*app, group);
    text += make_subcommands(app, CLI::AppFormatMode::Normal) + "\n" + footer.substr(0, rare);
    if (is_whole && rare != std::string::npos) text += footer.substr(rare + 1);
    if (!is_whole && has_more) text += "--help-all shows all options and settings.\n";
    return text;
  }

 protected:
  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream out;
    CLI::detail::format_help(out, command->get_name(), first_line(command->get_description()),
                             column_width_);
    return out.str();
  }

 private:
  static std::vector<const CLI::Option*> options_of(const CLI::App& app, const std::string& group) {
    return app.get_options([&](const CLI::Option* option) {
      return option->get_group() == group && option->nonpositional();
    });
  }

  std::string group_of(const CLI::App& app, const std::string& group) const {
    const std::vector<const CLI::Option*> options = options_of(app, group);
    return group.empty() || options.empty() ? "" : make_group(group, false, options);
  }
};

/// The command that was named last, and its name with those of the groups that it is in.
std::pair<const CLI::App*, std::string> named_last(const CLI::App& app) {
  const CLI::App* last = &app;
  std::string name = app.get_name();
  for (auto named = app.get_subcommands(); !named.empty(); named = last->get_subcommands()) {
    last = named.back();
    name += " " + last->get_name();
  }
  return {last, name};
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// "unknown option '--tiem'; did you mean --time?", of the first word that nobody took.
std::string unknown_word(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining();
  if (left.empty()) return "";
  const std::string word = left.front().substr(0, left.front().find('='));
  const bool is_option = word.starts_with('-');
  const std::vector<std::string> known = is_option ? options_of(app) : commands_of(app);
  if (!is_option && known.empty()) return fmt::format("'{}' is one argument too many", word);
  const std::optional<std::string> nearest = nearest_word(word, known);
  return fmt::format("unknown {} '{}'{}", is_option ? "option" : "command", word,
                     nearest ? fmt::format("; did you mean {}?", *nearest) : "");
}

}  // namespace

std::string with_examples(const std::string& what, std::initializer_list<const char*> examples) {
  std::string text = what + "\n\nExamples:\n";
  for (const char* example : examples) text += fmt::format("  reverie {}\n", example);
  text.pop_back();
  return text;
}

void add_help(CLI::App& app) {
  app.formatter(std::make_shared<Help>());
  app.set_help_flag("-h,--help", "Examples, and the options that most need");
  app.set_help_all_flag("--help-all", "All options and settings");
}

CLI::Option* add_repeated(CLI::App& command, const std::string& flag,
                          std::vector<std::string>& values, const char* type,
                          const std::string& help) {
  return command.add_option(flag, values, help)->type_name(type)->expected(1)->take_all();
}

std::string explained(const CLI::App& app, const CLI::ParseError& error) {
  const auto [command, name] = named_last(app);
  const std::string unknown = unknown_word(*command);
  return fmt::format("{} (see {} --help)", unknown.empty() ? error.what() : unknown, name);
}

}  // namespace reverie
