#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "core/base/fast_start.h"
#include "core/base/error.h"
#include "core/ort/ort_machine.h"
#include "tools/command.h"
#ifdef REVERIE_LEARNING
#include "tools/eager/eager_machine.h"
#endif

namespace {

constexpr int kInputErrorStatus = 2;

int run(int argc, char** argv) {
  reverie::register_machine(reverie::ort::ort_machines());  // first: help names all machines
#ifdef REVERIE_LEARNING
  reverie::register_machine(reverie::eager_machines());
#endif
  CLI::App app("Model-based reinforcement learning for systems problems that are graphs");
  app.name("reverie");
  app.require_subcommand(0, 1);
  reverie::register_collect(app);
  reverie::register_compare(app);
  reverie::register_inspect(app);
  reverie::register_model(app);
  reverie::register_optimize(app);
  reverie::register_profile(app);
  reverie::register_rules(app);
#ifdef REVERIE_LEARNING
  reverie::register_dream_train(app);
  reverie::register_evaluate(app);
  reverie::register_train_vae(app);
  reverie::register_train_mdnrnn(app);
#endif
  reverie::register_summarize(app);
  reverie::register_version(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    throw reverie::InputError("{} (see reverie --help)", error.what());
  }
  if (app.get_subcommands().empty())
    throw reverie::InputError("a command is needed (see reverie --help)");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  reverie::start_fast(argv);
  try {
    return run(argc, argv);
  } catch (const reverie::InputError& error) {
    fmt::print(stderr, "reverie: {}\n", error.what());
    return kInputErrorStatus;
  } catch (const std::exception& error) {
    fmt::print(stderr, "reverie: internal error: {}\n", error.what());
    return 1;
  }
}
