#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/output.h"
#include "core/ort/ort_machine.h"
#include "tools/command.h"
#include "tools/fast_start.h"
#include "tools/help.h"
#include "tools/interrupt.h"
#include "tools/learning.h"
#include "tools/streams.h"

namespace reverie {
namespace {

// A process that a signal ended has this status in a shell, whatever the program did of it.
constexpr int kInterruptedStatus = 130;
constexpr int kNoAnswerStatus = 1, kInputErrorStatus = 2;

void print_help(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream text, none;
  app.exit(error, text, none);
  fmt::print("{}", text.str());
}

void register_learning_commands(CLI::App& app) {
  const bool is_beside = has_learning_program();
  for (const LearningCommand& command : learning_commands) {
    if (command.add != nullptr && !is_beside) {
      command.add(app);
      continue;
    }
    CLI::App* added = app.add_subcommand(command.name, command.what);
    added->set_help_flag();
    added->set_help_all_flag();
    added->prefix_command();
    if (!is_beside) added->group("");  // help does not list it
    added->callback([command] { leave_to_learning_program(command.name); });
  }
}

void register_commands(CLI::App& app) {
  register_optimize(app);
  register_compare(app);
  register_inspect(app);
  register_model(app);
  register_profile(app);
  register_rules(app);
  register_place(app);
  register_adapt(app);
  register_learning_commands(app);
  register_summarize(app);
  register_version(app);
  app.add_subcommand("help", with_examples("Show the help of a command", {"help optimize"}));
  register_completion(app);
}

/// "help COMMAND" as "COMMAND --help".
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  if (argc < 2 || words[1] != "help") return words;
  words.erase(words.begin() + 1);
  words.push_back("--help");
  return words;
}

/// Help of a command that is not there would be that of all.
void require_command(const CLI::App& app, const CLI::ParseError& error) {
  if (app.get_subcommands().empty() && !app.remaining().empty())
    throw InputError(explained(app, error));
}

void run(std::vector<std::string> words) {
  register_machine(ort::ort_machines());  // first: help names all machines
  CLI::App app(
      with_examples("Model-based reinforcement learning for systems problems that are graphs",
                    {"optimize model.onnx -o better.onnx", "inspect model.onnx", "help optimize"}));
  app.name("reverie");
  app.require_subcommand(0, 1);
  add_help(app);
  register_commands(app);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(words.size());
  remember_arguments(argc, argv.data());
  app.parse_complete_callback([&] {
    if (!app.got_subcommand("version")) start_fast(argv.data());
    begin_streams();
  });
  try {
    app.parse(argc, argv.data());
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw InputError(explained(app, error));
    require_command(app, error);
    const bool is_whole = error.get_name() == "CallForAllHelp";
    if (is_whole && has_learning_program())
      leave_to_learning_program("--help-all");  // which knows more settings
    return print_help(app, error);
  }
  if (app.get_subcommands().empty()) throw InputError("a command is needed (see reverie --help)");
  end_streams();
}

/// The status of a run that ended with an error, which it tells.
int fail(int status, const char* kind, const char* message) {
  fmt::print(stderr, "reverie: {}{}\n", kind, readable(message));
  return status;
}

int run_and_tell(std::vector<std::string> words) {
  try {
    run(std::move(words));
    return 0;
  } catch (const InputError& error) {
    return fail(kInputErrorStatus, "", error.what());
  } catch (const NoAnswer& error) {
    return fail(kNoAnswerStatus, "", error.what());
  } catch (const std::bad_alloc&) {
    return fail(kInputErrorStatus, "", "this needs more memory than there is");
  } catch (const std::exception& error) {
    return fail(1, "internal error: ", error.what());
  }
}

/// Of what was printed.
int status_of_output(int status) {
  const int failure = finish_output();
  if (failure == 0 || status != 0) return status;
  if (failure == EPIPE) return kInputErrorStatus;  // its reader has had enough
  return fail(kInputErrorStatus, "standard output cannot be written: ", std::strerror(failure));
}

}  // namespace
}  // namespace reverie

int main(int argc, char** argv) {
  using namespace reverie;
  guard_output();
  const int status = status_of_output(run_and_tell(words_of(argc, argv)));
  return was_interrupted() ? kInterruptedStatus : status;
}
