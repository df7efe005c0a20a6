#include "core/cost/profile.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/json.h"
#include "core/base/words.h"
#include "core/cost/machine.h"
#include "env/kind.h"
#include "env/rewrite/optimize/signatures.h"
#include "tools/command.h"
#include "tools/common.h"
#include "tools/extents.h"
#include "tools/help.h"
#include "tools/interrupt.h"

namespace reverie {
namespace {

using Operators = std::map<std::string, OpSignature>;

struct ProfileArguments {
  std::vector<std::string> models, rules;
  ImportOptions extents;
  std::string cost = "cpu", out, from;
  ReachOptions reach;
  double seconds = 0;
  bool list = false, json = false, quiet = false;
};

Operators operators_of_models(const ProfileArguments& options, Progress& progress) {
  const auto rules = std::make_shared<const RuleSet>(RuleSet::load_all(options.rules));
  ReachOptions reach = options.reach;
  reach.fuses = machine_fuses(options.cost);
  Operators all;
  for (const std::string& file : options.models) {
    if (options.reach.stop.requested()) return {};
    const ImportedModel model = import_onnx(file, options.extents);
    const size_t before = all.size();
    all.merge(reachable_signatures(model, rules, profile_of_machine(options.cost), reach));
    progress.say(fmt::format("{}: {} more", file, counted(all.size() - before, "operator")));
  }
  return all;
}

Operators operators_of(const ProfileArguments& options, Progress& progress) {
  if (options.from.empty() == options.models.empty())
    throw InputError("name models, or by --from a list that --list wrote");
  if (options.from.empty()) return operators_of_models(options, progress);
  return with_context(options.from, [&] { return parse_signature_list(read_file(options.from)); });
}

void write_list(const Operators& operators, const std::string& out) {
  const std::string list = signature_list(operators);
  if (out.empty()) {
    fmt::print("{}", list);
  } else {
    write_file(out, list);
    fmt::print("{} in {}\n", counted(operators.size(), "operator"), out);
  }
}

void print_reasons(const ProfileResult& result) {
  constexpr size_t kMost = 20;
  for (size_t i = 0; i < result.reasons.size() && i < kMost; ++i)
    fmt::print("not measured: {}: {}\n", result.reasons[i].signature, result.reasons[i].reason);
  if (result.reasons.size() > kMost)
    fmt::print("not measured: {} more\n", result.reasons.size() - kMost);
}

void measure(const Operators& operators, const ProfileArguments& options) {
  Progress progress("profile", std::ssize(operators), "operators", progress_style(options.quiet));
  const ProfileResult result = profile_operators(
      operators, {.measure = {.machine = make_machine(options.cost), .table = options.out},
                  .max_seconds = options.seconds,
                  .stop = options.reach.stop,
                  .on_progress = [&](int64_t done) { progress.update(done); }});
  fmt::print("{}: {} measured, {} known before, {} that cannot be run alone{}\n", options.out,
             counted(result.measured, "operator"), result.known, result.unmeasured,
             result.complete ? "" : "; not complete, the same command goes on");
  print_reasons(result);
  if (options.json)
    fmt::print("{}\n", Json{{"table", options.out},
                            {"cost_source", options.cost},
                            {"operators", result.operators},
                            {"measured", result.measured},
                            {"known", result.known},
                            {"unmeasured", result.unmeasured},
                            {"complete", result.complete}}
                           .dump());
}

void run(ProfileArguments options) {
  if (!options.out.empty())
    check_writable(options.out);
  else if (!options.list)
    throw InputError("--out TABLE says where the measurements go");
  options.reach.stop = stop_on_interrupt();
  Operators operators;
  {
    Progress progress("reach", std::ssize(options.models), "models", progress_style(options.quiet));
    operators = operators_of(options, progress);
  }
  if (options.reach.stop.requested())
    throw Interrupted("interrupted before all operators were known");
  if (options.list) {
    write_list(operators, options.out);
  } else {
    measure(operators, options);
  }
}

}  // namespace

void register_profile(CLI::App& app) {
  auto options = std::make_shared<ProfileArguments>();
  CLI::App* command = app.add_subcommand(
      "profile",
      with_examples("Measure every operator that rewriting can reach: MODEL... -> cost table",
                    {"profile model.onnx --search-depth 1 -o cpu.h5"}));
  command->add_option("MODEL", options->models, "ONNX models");
  command->add_option("-o,--out", options->out,
                      "The cost table, gone on with where it is there; or the list");
  command->add_option("--cost", options->cost, "Where to measure: " + known_machines())
      ->capture_default_str();
  command
      ->add_option("--search-depth", options->reach.depth,
                   "Rewrites on top of one another; 0: the operators of the models alone")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--list", options->list,
                    "Write the operators, a line each, and measure nothing");
  command->add_option("--from", options->from, "Such a list instead of models")->type_name("FILE");
  command
      ->add_option("--seconds", options->seconds, "Begin nothing more after so long; 0: no limit")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--rules", options->rules, "Rule files; by default the library that ships");
  add_extent_options(*command, options->extents);
  command->add_flag("--json", options->json, "End with one object of JSON");
  command->add_flag("--quiet", options->quiet, "No progress");
  command->callback([options] { run(*options); });
}

}  // namespace reverie
