#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <vector>

namespace reverie {

/// A command's description: what it does in a line, and below it examples, which --help shows
/// first. An example is what follows "reverie".
std::string with_examples(const std::string& what, std::initializer_list<const char*> examples);

/// The group of options that --help-all shows alone.
inline constexpr char kRareOptions[] = "Rare options";

/// In a footer: what follows is shown by --help-all alone.
inline constexpr char kRareText = '\f';

/// Gives `app` and the commands that it gets from now on --help, --help-all, and a form of help in
/// which examples come first.
void add_help(CLI::App& app);

/// An option that may be given several times, with one value each.
CLI::Option* add_repeated(CLI::App& command, const std::string& flag,
                          std::vector<std::string>& values, const char* type,
                          const std::string& help);

/// What is wrong with a command line and what was probably meant, in one line: the nearest command
/// or option, and where to read on.
std::string explained(const CLI::App& app, const CLI::ParseError& error);

}  // namespace reverie
