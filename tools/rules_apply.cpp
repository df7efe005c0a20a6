#include <fmt/format.h>

#include <memory>

#include "core/base/json.h"
#include "core/base/words.h"
#include "core/exec/compare.h"
#include "core/onnx/import.h"
#include "core/rules/apply_everywhere.h"
#include "env/rewrite/optimize/method.h"
#include "env/rewrite/optimize/write_result.h"
#include "tools/command.h"
#include "tools/extents.h"
#include "tools/help.h"
#include "tools/inputs.h"
#include "tools/streams.h"

namespace reverie {
namespace {

struct ApplyRulesArguments {
  std::string model;
  std::vector<std::string> names;
  std::vector<std::string> files;
  std::string out;
  ApplyLimits limits;
  ImportOptions extents;
  CompareOptions verify;
  GivenInputs given;
  bool fix_shapes = false;
  bool json = false;
};

RuleSet rules_of(const ApplyRulesArguments& arguments) {
  const RuleSet all = RuleSet::load_all(arguments.files);
  return arguments.names.empty() ? all : all.subset(arguments.names);
}

void print(const RuleSet& rules, const Applied& applied, const ApplyRulesArguments& arguments) {
  Json counts = Json::Object();
  for (int i = 0; i < rules.size(); ++i) {
    const int64_t count = applied.taken[static_cast<size_t>(i)];
    if (count == 0) continue;
    counts[rules.name(i)] = count;
    if (!arguments.json) fmt::print("{:>6} x {}\n", count, rules.name(i));
  }
  if (arguments.json)
    fmt::print(
        "{}\n",
        Json{{"model", arguments.model}, {"taken", counts}, {"matches_left", applied.matches_left}}
            .dump());
}

/// Tells of a limit that ended it.
void tell_end(const Applied& applied, const ApplyLimits& limits) {
  if (applied.end == Applied::End::kNoMatch) return;
  const bool rounds = applied.end == Applied::End::kRounds;
  fmt::print(stderr, "ended after {}; {} left (--{} N goes on)\n",
             counted(rounds ? limits.rounds : limits.nodes, rounds ? "round" : "node"),
             counted(applied.matches_left, "match is", "matches are"),
             rounds ? "rounds" : "max-nodes");
}

void verify_and_write(const ApplyRulesArguments& arguments, const ImportedModel& model,
                      const Graph& graph) {
  const CompareOptions verify = with_inputs(arguments.verify, arguments.given, model.graph);
  require_agreement(arguments.model, compare(model.graph, graph, verify));
  warn(write_rewritten(arguments.model, model, try_symbols(arguments.model, model, graph, verify),
                       arguments.out, verify, arguments.fix_shapes));
}

void apply(const ApplyRulesArguments& arguments) {
  const auto rules = std::make_shared<const RuleSet>(rules_of(arguments));
  const ImportedModel model = import_to_rewrite(
      arguments.model, with_extents(arguments.extents, arguments.given), arguments.fix_shapes);
  RewriteState state(model.graph, rules, make_cost_model("roofline:cpu"));
  const Applied applied = apply_everywhere(state, arguments.limits);
  tell_end(applied, arguments.limits);
  if (!arguments.out.empty()) verify_and_write(arguments, model, state.graph());
  print(*rules, applied, arguments);
}

}  // namespace

void register_rules_apply(CLI::App& group) {
  const auto arguments = std::make_shared<ApplyRulesArguments>();
  arguments->verify.inputs = 1;
  CLI::App* command = group.add_subcommand(
      "apply",
      with_examples(
          "Apply rules to a model wherever they match, whatever that costs, until none does",
          {"rules apply model.onnx conv_relu -o new.onnx"}));
  takes_standard_input(
      command->add_option("MODEL", arguments->model, "ONNX model; -: standard input")->required());
  command->add_option("NAME", arguments->names, "Rules, in this order; without names all");
  add_repeated(
      *command, "--rules", arguments->files, "FILE",
      "Rule file, 'builtin' or 'generated', instead of the built-in rules; may be repeated");
  add_extent_options(*command, arguments->extents);
  takes_standard_output(command->add_option(
      "-o,--out", arguments->out,
      "Where to write the result, which must agree with the model; -: standard output"));
  command->add_flag("--fix-shapes", arguments->fix_shapes,
                    "Write it too where a symbolic dimension is replaced by its extent");
  add_input_options(*command, arguments->given);
  command->add_option("--sets", arguments->verify.inputs, "Sets of random inputs on which it must")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--rounds", arguments->limits.rounds, "End after so many rounds")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--max-nodes", arguments->limits.nodes, "End when the graph has more nodes")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "One line of JSON");
  command->callback([arguments] { apply(*arguments); });
}

}  // namespace reverie
