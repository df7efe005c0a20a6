#include <fmt/format.h>

#include "tools/command.h"
#include "tools/help.h"

namespace reverie {

void register_version(CLI::App& app) {
  app.set_version_flag("--version", kVersion, "The version");
  app.add_subcommand("version", with_examples("Print the version", {"version"}))->callback([] {
    fmt::print("{}\n", kVersion);
  });
}

}  // namespace reverie
