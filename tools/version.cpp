#include <fmt/format.h>

#include "tools/command.h"

namespace reverie {

void register_version(CLI::App& app) {
  app.add_subcommand("version", "Print the version")->callback([] { fmt::print("reverie 0.1.0\n"); });
}

}  // namespace reverie
