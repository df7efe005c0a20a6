#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <sstream>

#include "core/base/error.h"
#include "core/base/fast_start.h"
#include "core/base/output.h"
#include "core/ort/ort_machine.h"
#include "tools/command.h"

namespace {

constexpr int kInputErrorStatus = 2;

int print_help(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream text, none;
  const int status = app.exit(error, text, none);
  fmt::print("{}", text.str());
  return status;
}

int run(int argc, char** argv) {
  reverie::register_machine(reverie::ort::ort_machines());  // first: help names all machines
  CLI::App app("Model-based reinforcement learning for systems problems that are graphs");
  app.name("reverie");
  app.require_subcommand(0, 1);
  reverie::register_adapt(app);
  reverie::register_collect(app);
  reverie::register_compare(app);
  reverie::register_inspect(app);
  reverie::register_model(app);
  reverie::register_optimize(app);
  reverie::register_place(app);
  reverie::register_profile(app);
  reverie::register_rules(app);
#ifdef REVERIE_LEARNING
  reverie::register_dream_train(app);
  reverie::register_evaluate(app);
  reverie::register_place_learn(app);
  reverie::register_train_vae(app);
  reverie::register_train_mdnrnn(app);
#endif
  reverie::register_summarize(app);
  reverie::register_version(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return print_help(app, error);
    throw reverie::InputError("{} (see reverie --help)", error.what());
  }
  if (app.get_subcommands().empty())
    throw reverie::InputError("a command is needed (see reverie --help)");
  return 0;
}

/// The status of a run that ended with an error, which it tells.
int fail(int status, const char* kind, const char* message) {
  fmt::print(stderr, "reverie: {}{}\n", kind, reverie::readable(message));
  return status;
}

int run_and_tell(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const reverie::InputError& error) {
    return fail(kInputErrorStatus, "", error.what());
  } catch (const std::bad_alloc&) {
    return fail(kInputErrorStatus, "", "this needs more memory than there is");
  } catch (const std::exception& error) {
    return fail(1, "internal error: ", error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  reverie::guard_output();
  reverie::start_fast(argv);
  const int status = run_and_tell(argc, argv);
  const int failure = reverie::finish_output();
  if (failure == 0 || status != 0) return status;
  if (failure == EPIPE) return kInputErrorStatus;  // its reader has had enough
  return fail(kInputErrorStatus, "standard output cannot be written: ", std::strerror(failure));
}
