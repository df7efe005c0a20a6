#include <fmt/format.h>

#include <memory>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/json.h"
#include "core/base/words.h"
#include "core/rulekit/prove/prove.h"
#include "core/rulekit/taso/export.h"
#include "core/rulekit/taso/import.h"
#include "core/rules/pattern.h"
#include "core/rules/rule.h"
#include "tools/command.h"
#include "tools/help.h"

namespace reverie {
namespace {

struct RulesArguments {
  std::string file;
  std::string name;
  std::string out;
  TasoImportOptions import;
  uint64_t seed = 1;
  bool json = false;
};

RuleSet rules_of(const std::string& file) {
  return file.empty() ? RuleSet::builtin() : RuleSet::load(file);
}

// --- import
// -----------------------------------------------------------------------------------------

struct ImportTotals {
  int accepted = 0, narrowed = 0, refused = 0, repeated = 0;
};

ImportTotals totals_of(const std::vector<TasoOutcome>& outcomes) {
  ImportTotals totals;
  for (const TasoOutcome& outcome : outcomes) {
    ++(outcome.accepted() ? totals.accepted : totals.refused);
    totals.narrowed += !outcome.narrowing.empty();
    totals.repeated += !outcome.remark.empty();
  }
  return totals;
}

void print_import(const std::vector<TasoOutcome>& outcomes, const std::string& out) {
  for (const TasoOutcome& outcome : outcomes) {
    if (!outcome.accepted()) fmt::print("refused   {}: {}\n", outcome.name, outcome.refusal);
    if (!outcome.narrowing.empty())
      fmt::print("narrowed  {}: holds for {}\n", outcome.name, outcome.narrowing);
    if (!outcome.counterexample.empty()) fmt::print("          {}\n", outcome.counterexample);
    if (!outcome.remark.empty()) fmt::print("repeated  {}: {}\n", outcome.name, outcome.remark);
  }
  const ImportTotals totals = totals_of(outcomes);
  fmt::print(
      "{} rules: {} written to {}, each with both sides compared on drawn shapes ({} only "
      "under a condition that the file lacks); {} refused; {} trivial or repetitions\n",
      outcomes.size(), totals.accepted, out, totals.narrowed, totals.refused, totals.repeated);
}

void print_import_json(const std::vector<TasoOutcome>& outcomes, const std::string& out) {
  Json::Array rules;
  for (const TasoOutcome& outcome : outcomes)
    rules.push_back({{"name", outcome.name},
                     {"accepted", outcome.accepted()},
                     {"refusal", outcome.refusal},
                     {"counterexample", outcome.counterexample},
                     {"condition", outcome.narrowing},
                     {"remark", outcome.remark},
                     {"shapes", outcome.shapes},
                     {"compared", outcome.compared},
                     {"max_relative_error", outcome.max_error}});
  const ImportTotals totals = totals_of(outcomes);
  fmt::print("{}\n", Json{{"out", out},
                          {"total", outcomes.size()},
                          {"accepted", totals.accepted},
                          {"narrowed", totals.narrowed},
                          {"refused", totals.refused},
                          {"repeated", totals.repeated},
                          {"rules", rules}}
                         .dump());
}

void import_rules(const RulesArguments& arguments) {
  TasoImportOptions options = arguments.import;
  options.seed = arguments.seed;
  const auto outcomes = import_taso_rules(read_taso_rules(arguments.file), options);
  if (totals_of(outcomes).accepted > 0)
    write_file(arguments.out, proved_file(rule_file_text(outcomes, arguments.file), arguments.out));
  if (arguments.json)
    print_import_json(outcomes, arguments.out);
  else
    print_import(outcomes, arguments.out);
  if (totals_of(outcomes).accepted == 0)
    throw InputError("{}: every rule is refused; '{}' is not written", arguments.file,
                     arguments.out);
}

// --- export
// -----------------------------------------------------------------------------------------

void export_rules(const RulesArguments& arguments) {
  const TasoExport result = export_taso_rules(rules_of(arguments.file));
  if (!result.rules.empty()) write_taso_rules(result.rules, arguments.out);
  if (arguments.json) {
    Json left_out = Json::Object();
    for (const auto& [name, reason] : result.left_out) left_out[name] = reason;
    const Json line = {{"out", arguments.out}, {"exported", result.names}, {"left_out", left_out}};
    fmt::print("{}\n", line.dump());
  } else {
    for (const auto& [name, reason] : result.left_out)
      fmt::print("left out  {}: {}\n", name, reason);
    fmt::print("{} written to {}, {} that the format cannot express left out\n",
               counted(result.rules.size(), "rule"), arguments.out, result.left_out.size());
  }
  if (result.rules.empty())
    throw InputError("the format can express none of the rules; '{}' is not written",
                     arguments.out);
}

// --- list, show
// -------------------------------------------------------------------------------------

void list_rules(const RulesArguments& arguments) {
  const RuleSet rules = rules_of(arguments.file);
  Json::Array list;
  for (int i = 0; i < rules.size(); ++i) {
    const RulePattern& pattern = rules[i].pattern();
    const Json line = {{"name", rules.name(i)},
                       {"origin", rules[i].origin()},
                       {"source_operators", pattern.source.size()},
                       {"outputs", pattern.outputs.size()},
                       {"examples", pattern.examples.size()}};
    if (arguments.json)
      list.push_back(line);
    else
      fmt::print("{:<32} {}, {}, {}  {}\n", rules.name(i),
                 counted(pattern.source.size(), "operator"),
                 counted(pattern.outputs.size(), "output"),
                 counted(pattern.examples.size(), "example"), rules[i].origin());
  }
  if (arguments.json) fmt::print("{}\n", Json(list).dump());
}

void show_rule(const RulesArguments& arguments) {
  const RuleSet rules = rules_of(arguments.file);
  const int rule = rules.find(arguments.name);
  if (rule < 0)
    throw InputError("there is no rule '{}' (see reverie rules list{})", arguments.name,
                     arguments.file.empty() ? "" : " " + arguments.file);
  fmt::print("{}\n", rules[rule].text());
}

CLI::App* add_command(CLI::App& group, const char* name, const std::string& help,
                      const std::shared_ptr<RulesArguments>& arguments,
                      void (*run)(const RulesArguments&)) {
  CLI::App* command = group.add_subcommand(name, help);
  command->callback([arguments, run] { run(*arguments); });
  return command;
}

void add_rule_file(CLI::App& command, RulesArguments& arguments) {
  command.add_option("FILE", arguments.file,
                     "Rule file, or 'generated'; without it the built-in rules");
}

}  // namespace

void register_rules(CLI::App& app) {
  CLI::App* group = app.add_subcommand(
      "rules",
      with_examples("Import, generate, compare, list, show, apply, verify and export substitutions",
                    {"rules list", "rules show conv_batchnorm", "help rules apply"}));
  group->require_subcommand(1);
  const auto arguments = std::make_shared<RulesArguments>();

  CLI::App* import = add_command(*group, "import",
                                 with_examples("Read TASO's protobuf rules, verify and write them",
                                               {"rules import graph_subst.pb -o taso.rules"}),
                                 arguments, import_rules);
  import->add_option("FILE", arguments->file, "File in TASO's format (graph_subst.pb)")->required();
  import->add_option("-o,--out", arguments->out, "Rule file to write")->required();
  import->add_option("--prefix", arguments->import.prefix, "Of the rules' names")
      ->capture_default_str();
  import->add_option("--shapes", arguments->import.shapes, "Assignments of shapes to compare on")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  import->add_option("--seed", arguments->seed, "Seed of shapes and inputs");
  import->add_flag("--strict", arguments->import.strict,
                   "Refuse what holds only under a condition that the file does not state");

  CLI::App* exporting = add_command(*group, "export",
                                    with_examples("Write rules in TASO's protobuf format",
                                                  {"rules export taso.rules -o rules.pb"}),
                                    arguments, export_rules);
  add_rule_file(*exporting, *arguments);
  exporting->add_option("-o,--out", arguments->out, "File to write")->required();

  register_rules_generate(*group);
  register_rules_verify(*group);
  register_rules_compare(*group);
  register_rules_apply(*group);

  CLI::App* list =
      add_command(*group, "list",
                  with_examples("Names and sizes of rules", {"rules list", "rules list my.rules"}),
                  arguments, list_rules);
  add_rule_file(*list, *arguments);

  CLI::App* show = add_command(*group, "show",
                               with_examples("The text of a rule", {"rules show conv_batchnorm"}),
                               arguments, show_rule);
  show->add_option("NAME", arguments->name, "The rule")->required();
  add_rule_file(*show, *arguments);

  for (CLI::App* command : {import, exporting, list})
    command->add_flag("--json", arguments->json, "One line of JSON");
}

}  // namespace reverie
