#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/base/json.h"
#include "env/adapt/adapt_task.h"
#include "env/adapt/standing.h"
#include "tools/adapt_methods.h"
#include "tools/adapt_record.h"
#include "tools/adapt_run.h"
#include "tools/command.h"
#include "tools/help.h"
#include "tools/learning.h"

namespace reverie {
namespace {

/// What the table has for no change; nothing where that was not recorded.
std::optional<double> unchanged_accuracy(const AdaptOptions& options, const AdaptStart& start) {
  const Decisions none(static_cast<size_t>(start.source->decisions()));
  try {
    return standing(read_table(options.source), none, start.final_epochs).accuracy;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Plays on a table, and tells where the result stands in it.
void look_up(const AdaptOptions& options, const AdaptCommandConfig& config,
             const AdaptStart& start) {
  for (const auto& [flag, given] : {std::pair{"--data", !options.data.empty()},
                                    {"--budget", !options.budget.empty()},
                                    {"--out", !options.common.out.empty()},
                                    {"--resume", options.common.resume}})
    if (given)
      throw InputError("{}: is a table, where nothing is trained: leave out {}", options.source,
                       flag);
  const Result result = adapt_player(options, config, {start, start})();
  const JobState& job = dynamic_cast<const AdaptSolution&>(*result.solution).job;
  const Standing place = standing(read_table(options.source), job.decisions, start.final_epochs);
  const std::string decisions = decisions_text(job, start.source->rates().size() > 1);
  fmt::print("{}: {}: {:.2f} %, rank {} of {}, {:.2f} points below the best\n",
             start.source->scenario(), decisions, place.accuracy, place.rank, place.sequences,
             place.best - place.accuracy);
  const std::optional<double> unchanged = unchanged_accuracy(options, start);
  if (unchanged) fmt::print("without a change: {:.2f} %\n", *unchanged);
  if (!options.common.json) return;
  const Json json{{"model", start.source->scenario()},
                  {"method", options.policy.empty() ? options.method : adapt_decider(options)},
                  {"decisions", decisions},
                  {"parameters", job.network.parameters()},
                  {"episodes", options.policy.empty() ? std::max<int64_t>(1, result.candidates)
                                                      : adapt_episodes(options)},
                  {"seconds", result.seconds},
                  {"accuracy", place.accuracy},
                  {"rank", place.rank},
                  {"sequences", place.sequences},
                  {"regret", place.best - place.accuracy},
                  {"mean_accuracy", place.mean},
                  {"unchanged_accuracy", unchanged ? Json(*unchanged) : Json()},
                  {"seed", config.seed}};
  fmt::print("{}\n", json.dump());
}

void run(const AdaptOptions& options) {
  const bool decides = !options.method.empty() || !options.policy.empty();
  if (decides == !options.table.empty())
    throw InputError(
        "give either --method or --policy, to train by it, or --record, to try all sequences");
  if (has_learning_program() && !options.source.ends_with(".json"))
    leave_to_learning_program("training a network");
  const AdaptCommandConfig config = resolve_adapt(options);
  if (!decides) return record_adapt(options, config);
  const AdaptStart start = adapt_start(options, config);
  const auto source = std::dynamic_pointer_cast<const TrainingSource>(start.source);
  if (source == nullptr) return look_up(options, config, start);
  if (options.common.out.empty())
    throw InputError("{}: give --out, the folder for the trained network", options.source);
  train_adapt(options, config, source, start.final_epochs);
}

}  // namespace

void register_adapt(CLI::App& app) {
  auto options = std::make_shared<AdaptOptions>();
  CLI::App* command = app.add_subcommand(
      "adapt", with_examples("Train a network under a budget, and let it grow on the way",
                             {"adapt network.yaml --data DIR --budget 30 --method early -o run",
                              "adapt network.yaml --data DIR --budget 300s --method 'fixed:deepen "
                              "second,go on' -o run",
                              "adapt network.yaml --record table.json --runs 5",
                              "adapt table.json --method published"}));
  command
      ->add_option("SOURCE", options->source,
                   "A network (NAME.yaml, NAME.onnx), or a table (NAME.json)")
      ->required();
  command->add_option("--data", options->data, "Folder with images and labels (adapt.train.data)")
      ->type_name("DIR");
  command->add_option("--budget", options->budget,
                      "Seconds (300s), or epochs of the starting network (40)");
  auto* method = command->add_option("--method", options->method, "How to decide; see below");
  command->add_option("--policy", options->policy, "policy.pt of dream_train, which decides")
      ->type_name("FILE")
      ->excludes(method);
  command
      ->add_option("--record", options->table,
                   "Instead: train every sequence of decisions, and write or complete this table")
      ->type_name("TABLE");
  command->add_option("--runs", options->runs, "Trainings of each sequence, from the seed on")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--episodes", options->episodes,
                   "Jobs that a method learns from, or that a policy tries first")
      ->check(CLI::PositiveNumber);
  command->add_flag(
      "!--no-baseline", options->baseline,
      "Do not train again without a change, which tells what that would have reached");
  add_common_options(*command, options->common);
  command->get_option("--out")->required(false);
  command->footer([] {
    AdaptCommandConfig defaults;
    return adapt_methods() + kRareText + settings_text(defaults);
  });
  command->callback([options] { run(*options); });
}

}  // namespace reverie
