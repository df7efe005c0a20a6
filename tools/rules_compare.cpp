#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <optional>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/progress.h"
#include "core/base/words.h"
#include "core/rulekit/taso/compare.h"
#include "core/rules/rule.h"
#include "tools/command.h"
#include "tools/help.h"

namespace reverie {
namespace {

struct CompareRulesArguments {
  std::string file;
  std::vector<std::string> libraries;
  CompareRulesOptions options;
  bool require = false, json = false, quiet = false;
};

std::string text_of(const taso::DerivationStep& step) {
  return fmt::format("{}{} at {} ({})", step.backward ? "back " : "", step.rule, step.location,
                     fmt::join(step.operators, ", "));
}

Json json_of(const CompareOutcome& outcome) {
  Json::Array chain;
  for (const taso::DerivationStep& step : outcome.chain)
    chain.push_back({{"rule", step.rule},
                     {"location", step.location},
                     {"operators", step.operators},
                     {"backward", step.backward}});
  return {{"name", outcome.name},
          {"status", name_of(outcome.status)},
          {"rule", outcome.library_rule},
          {"reversed", outcome.reversed},
          {"chain", chain},
          {"states", outcome.states},
          {"condition", outcome.condition},
          {"remark", outcome.remark},
          {"refusal", outcome.refusal}};
}

void print_outcome(const CompareOutcome& outcome) {
  std::string line = fmt::format("{:<10} {}", name_of(outcome.status), outcome.name);
  if (outcome.status == CompareStatus::kContained)
    line += fmt::format(": {}{}", outcome.library_rule,
                        outcome.reversed ? ", the other way round" : "");
  if (outcome.status == CompareStatus::kRefused) line += ": " + outcome.refusal;
  if (outcome.status == CompareStatus::kDerived && outcome.chain.empty())
    line += ": both sides are the same";
  const char* separator = ": ";
  for (const taso::DerivationStep& step : outcome.chain)
    line += std::exchange(separator, "; ") + text_of(step);
  if (!outcome.condition.empty()) line += fmt::format("; for {}", outcome.condition);
  fmt::print("{}\n", line);
}

void compare(const CompareRulesArguments& arguments) {
  const std::vector<TasoRule> rules = read_taso_rules(arguments.file);
  const auto library = std::make_shared<const RuleSet>(RuleSet::load_all(arguments.libraries));
  std::optional<Progress> bar;
  bar.emplace("comparing", static_cast<int64_t>(rules.size()), "rules",
              progress_style(arguments.quiet));
  const auto outcomes = compare_rules(rules, library, arguments.options, [&](size_t done) {
    bar->update(static_cast<int64_t>(done));
  });
  bar.reset();
  std::map<CompareStatus, int> count;
  Json::Array list;
  for (const CompareOutcome& outcome : outcomes) {
    ++count[outcome.status];
    if (arguments.json)
      list.push_back(json_of(outcome));
    else
      print_outcome(outcome);
  }
  const Json totals = {{"total", outcomes.size()},
                       {"contained", count[CompareStatus::kContained]},
                       {"derived", count[CompareStatus::kDerived]},
                       {"missing", count[CompareStatus::kMissing]},
                       {"refused", count[CompareStatus::kRefused]}};
  if (arguments.json) {
    Json line = totals;
    line["rules"] = list;
    fmt::print("{}\n", line.dump());
  } else {
    fmt::print("{} against a library of {}: {} contained, {} derived, {} missing, {} refused\n",
               counted(outcomes.size(), "rule"), library->size(), count[CompareStatus::kContained],
               count[CompareStatus::kDerived], count[CompareStatus::kMissing],
               count[CompareStatus::kRefused]);
  }
  if (arguments.require && count[CompareStatus::kMissing] > 0)
    throw InputError("{} rules of {} are neither in the library nor found to follow from it",
                     count[CompareStatus::kMissing], arguments.file);
}

}  // namespace

void register_rules_compare(CLI::App& group) {
  const auto arguments = std::make_shared<CompareRulesArguments>();
  CLI::App* command = group.add_subcommand(
      "compare",
      with_examples(
          "Which of TASO's protobuf rules a library holds, or leads to, by a stated chain",
          {"rules compare graph_subst.pb --rules generated"}));
  CompareRulesOptions& options = arguments->options;
  command->add_option("FILE", arguments->file, "File in TASO's format (graph_subst.pb)")
      ->required();
  arguments->libraries = {"builtin"};
  command
      ->add_option("--rules", arguments->libraries,
                   "Rule file, 'builtin' or 'generated'; may be repeated")
      ->capture_default_str();
  command->add_option("--steps", options.limits.steps, "Longest chain")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--states", options.limits.states, "Most graphs visited for a rule")
      ->check(CLI::Range(2, 100000000))
      ->capture_default_str();
  command
      ->add_option("--nodes", options.limits.more_nodes,
                   "Nodes that a graph on the way may have beyond both ends")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command->add_option("--seed", options.import.seed, "Seed of shapes and inputs");
  command
      ->add_option("--threads", options.workers, "Threads; the result is the same for any number")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_flag("--require", arguments->require, "Fail where a rule is missing");
  command->add_flag("--json", arguments->json, "One line of JSON");
  command->add_flag("--quiet", arguments->quiet, "No progress");
  command->callback([arguments] { compare(*arguments); });
}

}  // namespace reverie
