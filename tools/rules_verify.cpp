#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/json.h"
#include "core/base/stopwatch.h"
#include "core/base/words.h"
#include "core/rulekit/prove/prove.h"
#include "core/rulekit/verify/example_check.h"
#include "core/rulekit/verify/write_proofs.h"
#include "core/rules/rule.h"
#include "tools/command.h"
#include "tools/help.h"

namespace reverie {
namespace {

struct VerifyRulesArguments {
  std::string file;
  ProofOptions proof;
  int draws = 3;
  uint64_t seed = 1;
  bool write = false;
  bool json = false;
};

/// What was found out about a rule.
struct Verification {
  RuleCheck check;
  ProofReport report;
  std::string unconfirmed;  ///< of the proof that its text states
  double seconds = 0;

  /// What speaks against the rule; empty where nothing does.
  std::string failure() const {
    if (check.examples == 0) return "it states no example";
    if (!report.refutation().empty()) return report.refutation();
    if (!check.failure.empty()) return check.failure;
    return unconfirmed.empty() ? "" : "its stated proof is not confirmed: " + unconfirmed;
  }
};

Verification verified(const Rule& rule, const VerifyRulesArguments& arguments) {
  const Stopwatch watch;
  Verification result;
  result.check = check_examples(rule, arguments.draws, arguments.seed);
  result.report = prove_rule(rule, arguments.proof);
  if (!arguments.write) {
    RuleProof stated = rule.pattern().proof;
    if (!arguments.proof.with_axioms) stated.axioms.reset();
    result.unconfirmed = unconfirmed(stated, result.report.proof);
  }
  result.seconds = watch.seconds();
  return result;
}

Json json_of(const Rule& rule, const Verification& v) {
  const FieldProof& field = v.report.field;
  const AxiomProof& axioms = v.report.axioms;
  return {{"name", rule.name()},
          {"passed", v.failure().empty()},
          {"failure", v.failure()},
          {"examples", v.check.examples},
          {"compared", v.check.compared},
          {"max_relative_error", v.check.max_error},
          {"stated", !rule.pattern().proof.empty()},
          {"field",
           {{"proved", field.proved()},
            {"assignments", field.assignments.size()},
            {"compared", field.compared},
            {"ranks", field.ranks},
            {"degree", field.degree},
            {"error", field.error},
            {"not_covered", field.not_covered}}},
          {"axioms",
           {{"proved", axioms.proved()},
            {"ranks", axioms.ranks},
            {"forms", axioms.forms},
            {"followed", axioms.followed},
            {"used", axioms.used},
            {"not_covered", axioms.not_covered}}},
          {"seconds", v.seconds}};
}

struct Totals {
  int rules = 0, failed = 0, field = 0, axioms = 0;
  double error = 0;

  void add(const Verification& v) {
    ++rules;
    failed += !v.failure().empty();
    field += v.report.field.proved();
    axioms += v.report.axioms.proved();
    error = std::max(error, v.report.field.error);
  }
};

void print(const Rule& rule, const Verification& v, const VerifyRulesArguments& arguments) {
  if (!v.failure().empty())
    fmt::print("failed    {}: {}, seed {}\n", rule.name(), v.failure(), arguments.seed);
  if (!v.report.field.not_covered.empty())
    fmt::print("unproved  {}: {}\n", rule.name(), v.report.field.not_covered);
}

void print(const Totals& totals) {
  fmt::print(
      "{} of {} rules agree with their examples; {} proved over the prime field, each with "
      "an error of at most {:.2g}, {} by axioms\n",
      totals.rules - totals.failed, totals.rules, totals.field, totals.error, totals.axioms);
}

void verify(const VerifyRulesArguments& arguments) {
  const bool builtin = arguments.file.empty();
  if (arguments.write && builtin)
    throw InputError(
        "--write needs a rule file (the built-in ones are core/rules/library/*.rules)");
  const RuleSet rules = builtin ? RuleSet::builtin() : RuleSet::load(arguments.file);
  Json::Array list;
  Totals totals;
  std::map<std::string, RuleProof> proofs;
  for (int i = 0; i < rules.size(); ++i) {
    const Verification result = verified(rules[i], arguments);
    totals.add(result);
    proofs[rules.name(i)] = result.report.proof;
    if (arguments.json)
      list.push_back(json_of(rules[i], result));
    else
      print(rules[i], result, arguments);
  }
  if (arguments.json)
    fmt::print("{}\n", Json{{"total", totals.rules},
                            {"failed", totals.failed},
                            {"field", totals.field},
                            {"error", totals.error},
                            {"axioms", totals.axioms},
                            {"rules", list}}
                           .dump());
  else
    print(totals);
  if (totals.failed > 0)
    throw InputError("{} of {} failed", totals.failed, counted(totals.rules, "rule"));
  if (arguments.write)
    write_file(arguments.file, with_proofs(read_file(arguments.file), arguments.file, proofs));
}

}  // namespace

void register_rules_verify(CLI::App& group) {
  const auto arguments = std::make_shared<VerifyRulesArguments>();
  CLI::App* command = group.add_subcommand(
      "verify", with_examples("Run both sides of rules, prove them and check stated proofs",
                              {"rules verify my.rules"}));
  command->add_option("FILE", arguments->file, "Rule file; without it the built-in rules");
  command->add_option("--draws", arguments->draws, "Sets of random inputs for each example")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "Seed of these inputs");
  command
      ->add_option("--points", arguments->proof.field.points,
                   "Points of the prime field for each assignment of shapes")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--variations", arguments->proof.field.variations,
                   "Assignments of shapes besides each example")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command->add_flag("!--no-axioms", arguments->proof.with_axioms, "Leave out proofs by axioms");
  command->add_flag("--write", arguments->write, "Write the proofs found into FILE");
  command->add_flag("--json", arguments->json, "One line of JSON");
  command->callback([arguments] { verify(*arguments); });
}

}  // namespace reverie
