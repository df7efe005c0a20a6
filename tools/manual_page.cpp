#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "tools/command.h"
#include "tools/command_tree.h"

namespace reverie {
namespace {

/// As text of roff.
std::string plain(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if (c == '\'')
      result += "\\(aq";
    else
      result += c;
  }
  return result.starts_with('.') ? "\\&" + result : result;
}

std::string tagged(const std::string& tag, const std::string& text) {
  return fmt::format(".TP\n\\fB{}\\fR\n{}\n", plain(tag), plain(text));
}

/// The rest of a description, whose first line stands elsewhere: lines as they are.
std::string examples(const std::string& description) {
  std::istringstream lines(description);
  std::string text, line;
  std::getline(lines, line);
  while (std::getline(lines, line))
    if (line.starts_with("  ")) text += plain(line.substr(2)) + "\n";
  return text.empty() ? "" : ".PP\nExamples:\n.PP\n.RS\n.nf\n" + text + ".fi\n.RE\n";
}

std::string described(const NamedCommand& command) {
  std::string text;
  for (const CLI::Option* option : command.app->get_options()) {
    const bool is_shown = !option->get_group().empty();
    if (is_shown && !option->nonpositional())
      text += tagged(option->get_name(true), option->get_description());
  }
  for (const CLI::Option* option : listed_options(*command.app)) {
    std::string tag = fmt::format("{}", fmt::join(flags_of(*option), ", "));
    if (option->get_items_expected_max() > 0) tag += " " + option->get_type_name();
    text += tagged(tag, option->get_description());
  }
  return text;
}

std::string section_of(const NamedCommand& command) {
  const std::string description = command.app->get_description();
  return fmt::format(".SS {}\n{}\n{}{}", plain(command.name), plain(first_line(description)),
                     described(command), examples(description));
}

}  // namespace

std::string manual_page(const CLI::App& root) {
  const std::string version = kVersion;
  std::string text = fmt::format(".TH REVERIE 1 \"\" \"{}\" \"User Commands\"\n", version);
  text += fmt::format(".SH NAME\n{} \\- {}\n", root.get_name(),
                      plain(first_line(root.get_description())));
  text += ".SH SYNOPSIS\n.B reverie\n.RI [ OPTIONS ]\n.I COMMAND\n.RI [ ARGUMENTS ]\n";
  const std::vector<NamedCommand> commands = all_commands(root);
  text += ".SH OPTIONS\n" + described(commands.front()) + ".SH COMMANDS\n";
  for (const NamedCommand& command : commands)
    if (command.app != &root) text += section_of(command);
  return text;
}

}  // namespace reverie
