#include "tools/common.h"

namespace reverie {

void add_common_options(CLI::App& command, CommonOptions& options) {
  command.add_option("--config", options.config_files, "YAML file with settings; may be repeated")
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
  command.add_option("--set", options.overrides, "One setting, dotted: a.b=c; may be repeated")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  command.add_option("--seed", options.seed, "Seed of all randomness");
  command.add_option("-o,--out", options.out, "Directory that this run writes")
      ->type_name("DIR")
      ->required();
  command.add_flag("--resume", options.resume, "Go on with the run in --out");
  command.add_flag("--json", options.json, "Print the result as one line of JSON at the end");
  command.add_flag("--quiet", options.quiet, "No progress");
}

}  // namespace reverie
