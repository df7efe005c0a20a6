#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/json.h"
#include "core/base/parallel.h"
#include "core/base/words.h"
#include "core/rulekit/generate/generate.h"
#include "core/rulekit/taso/translate.h"
#include "tools/command.h"
#include "tools/common.h"
#include "tools/help.h"
#include "tools/interrupt.h"
#include "tools/rule_tester.h"

namespace reverie {
namespace {

struct GenerateRulesArguments {
  GenerateOptions options;
  std::string out;
  bool json = false, quiet = false;
};

/// Redraws one bar per stage.
class Stages {
 public:
  explicit Stages(ProgressStyle style) : style_(style) {}
  void update(const std::string& what, int64_t done, int64_t total) {
    if (!bar_ || what != what_) bar_.emplace(what_ = what, total, "steps", style_);
    bar_->update(done);
  }

 private:
  ProgressStyle style_;
  std::string what_;
  std::optional<Progress> bar_;
};

struct Written {
  size_t accepted = 0, refused = 0;
};

Written write_rules(const GenerateRulesArguments& arguments, const GenerateResult& result,
                    RuleTester& tester) {
  Progress bar("proofs", static_cast<int64_t>(result.rules.size()), "rules",
               progress_style(arguments.quiet));
  Written written;
  std::string refused, accepted;
  for (size_t i = 0; i < result.rules.size(); ++i) {
    const TestedRule& tested = tester.test(i);
    const bool is_refused = tested.text.empty();
    if (is_refused)
      refused += fmt::format("# Refused: generated_{:03}: {}\n#   {}\n", i, tested.refusal,
                             taso::canonical_form(result.rules[i]));
    else
      accepted += "\n" + tested.text;
    ++(is_refused ? written.refused : written.accepted);
    bar.update(static_cast<int64_t>(i) + 1);
  }
  write_file(arguments.out, description(arguments.options, result.counts) +
                                fmt::format("# {} rules follow, {} are refused.\n",
                                            written.accepted, written.refused) +
                                refused + accepted);
  return written;
}

void print_result(const GenerateRulesArguments& arguments, const GenerateCounts& counts,
                  size_t rules, const Written& written) {
  if (arguments.json) {
    const Json line = {{"out", arguments.out},
                       {"depth", arguments.options.depth},
                       {"operators", arguments.options.operators},
                       {"seed", arguments.options.seed},
                       {"graphs", counts.graphs},
                       {"values", counts.values},
                       {"pairs", counts.pairs},
                       {"renamed", counts.renamed},
                       {"follow", counts.follows},
                       {"unequal", counts.unequal},
                       {"repeated", counts.repeated},
                       {"identities", counts.identities},
                       {"narrow", counts.narrow},
                       {"rules", rules},
                       {"written", written.accepted},
                       {"refused", written.refused}};
    fmt::print("{}\n", line.dump());
    return;
  }
  fmt::print(
      "{} with {}; {}, of which {} renamed, {} follow, {} unequal "
      "elsewhere, {} repeated; {} kept\n",
      counted(counts.graphs, "graph"), counted(counts.values, "distinct value"),
      counted(counts.pairs, "pair"), counts.renamed, counts.follows, counts.unequal,
      counts.repeated, counted(counts.identities, "identity", "identities"));
  fmt::print("{}: {} written to {}, {} refused (listed there)\n", counted(rules, "rule"),
             written.accepted, arguments.out, written.refused);
}

void generate(const GenerateRulesArguments& arguments) {
  const StopToken stop = stop_on_interrupt();
  RuleTester tester(arguments.options.seed, arguments.options.threads);
  GenerateOptions options = arguments.options;
  options.found = [&](size_t number, const TasoRule& rule) { tester.announce(number, rule); };
  options.accepts = [&](size_t number, const TasoRule&) {
    const TestedRule& tested = tester.test(number);
    return !tested.text.empty() && !tested.narrowed;
  };
  std::optional<Stages> stages(progress_style(arguments.quiet));
  const GenerateResult result =
      generate_rules(options, stop, [&](const std::string& what, int64_t done, int64_t total) {
        stages->update(what, done, total);
      });
  stages.reset();
  if (!result.complete)
    throw Interrupted(
        "stopped before the end; '{}' is not written{}", arguments.out,
        arguments.options.checkpoint.empty()
            ? ""
            : fmt::format(" (the same command goes on from '{}')", arguments.options.checkpoint));
  const Written written = write_rules(arguments, result, tester);
  if (!arguments.options.checkpoint.empty()) std::filesystem::remove(arguments.options.checkpoint);
  print_result(arguments, result.counts, result.rules.size(), written);
}

}  // namespace

void register_rules_generate(CLI::App& group) {
  const auto arguments = std::make_shared<GenerateRulesArguments>();
  CLI::App* command = group.add_subcommand(
      "generate",
      with_examples("Find rules: enumerate small graphs and keep those that compute the same",
                    {"rules generate --depth 2 --operators taso -o found.rules"}));
  GenerateOptions& options = arguments->options;
  command->add_option("-o,--out", arguments->out, "Rule file to write")->required();
  command->add_option("--depth", options.depth, "Most operators of a graph, 1 to 4")
      ->capture_default_str();
  command
      ->add_option("--operators", options.operators,
                   "taso, all, or names separated by commas (matmul,concat,split)")
      ->capture_default_str();
  command->add_option("--seed", options.seed, "Seed of the random inputs")->capture_default_str();
  command
      ->add_option("--threads", options.threads, "Threads; the result is the same for any number")
      ->check(CLI::Range(1, kMostThreads))
      ->capture_default_str();
  command->add_option("--checkpoint", options.checkpoint,
                      "File that keeps the state, to go on from after an interrupt");
  command->add_flag("--json", arguments->json, "One line of JSON");
  command->add_flag("--quiet", arguments->quiet, "No progress");
  command->callback([arguments] { generate(*arguments); });
}

}  // namespace reverie
