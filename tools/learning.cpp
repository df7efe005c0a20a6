#include "tools/learning.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/base/error.h"
#include "tools/fast_start.h"
#include "tools/streams.h"

namespace reverie {
namespace {

std::vector<std::string>& arguments() {
  static std::vector<std::string> all;
  return all;
}

std::string in_shell(const std::string& word) {
  constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// "reverie-learning" in the folder of this program, whatever links lead there.
std::string learning_program() {
  std::error_code unknown;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", unknown);
  return own.filename() == "reverie-learning" ? ""
                                              : (own.parent_path() / "reverie-learning").string();
}

LearningCommand& command_named(const std::string& name) {
  auto* const found = std::ranges::find(learning_commands, name, &LearningCommand::name);
  REVERIE_CHECK(found != learning_commands.end());
  return *found;
}

}  // namespace

bool add_learning_command(const std::string& name, void (*add)(CLI::App&)) {
  command_named(name).add = add;
  return true;
}

const char* what_of(const std::string& command) { return command_named(command).what; }

void remember_arguments(int argc, char** argv) { arguments().assign(argv, argv + argc); }

std::string command_line() {
  std::string line = "reverie";
  for (size_t i = 1; i < arguments().size(); ++i) line += " " + in_shell(arguments()[i]);
  return line;
}

bool has_learning_program() {
  std::error_code unknown;
  return std::filesystem::exists(learning_program(), unknown);
}

void leave_to_learning_program(const std::string& what) {
  if (!has_learning_program())
    throw InputError(
        "{} needs LibTorch, and reverie-learning, the part that has it, is not beside this program",
        what);
  undo_streams();
  std::vector<char*> argv;
  for (std::string& argument : arguments()) argv.push_back(argument.data());
  argv.push_back(nullptr);
  become(learning_program(), argv.data());
}

}  // namespace reverie
