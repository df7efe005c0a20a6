#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace reverie {

// The commands and options of the program, for what is written about them.

struct NamedCommand {
  std::string name;  ///< "reverie rules apply"
  const CLI::App* app = nullptr;
};

/// The program itself, then each command that help lists, with those in it after it.
std::vector<NamedCommand> all_commands(const CLI::App& root);

/// What may follow a command: the commands in it, and after `help` those of the program.
std::vector<const CLI::App*> completed_commands(const CLI::App& root, const CLI::App& command);

/// Options of a command that help or --help-all lists, without positional ones.
std::vector<const CLI::Option*> listed_options(const CLI::App& command);

/// "-o" and "--out".
std::vector<std::string> flags_of(const CLI::Option& option);

std::string first_line(const std::string& text);

/// All of --help as a page for man, section 1.
std::string manual_page(const CLI::App& root);

}  // namespace reverie
