#include "tools/common.h"

#include "tools/help.h"

namespace reverie {

void add_common_options(CLI::App& command, CommonOptions& options) {
  add_repeated(command, "--config", options.config_files, "FILE",
               "YAML file with settings; may be repeated");
  add_repeated(command, "--set", options.overrides, "KEY=VALUE",
               "One setting, dotted: a.b=c; may be repeated");
  command.add_option("--seed", options.seed, "Seed of all randomness");
  command.add_option("-o,--out", options.out, "Directory that this run writes")
      ->type_name("DIR")
      ->required();
  command.add_flag("--resume", options.resume, "Go on with the run in --out");
  command.add_flag("--json", options.json, "Print the result as one line of JSON at the end");
  command.add_flag("--quiet", options.quiet, "No progress");
}

}  // namespace reverie
