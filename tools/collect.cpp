#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/json.h"
#include "core/base/run_directory.h"
#include "core/base/run_time.h"
#include "core/base/stopwatch.h"
#include "core/base/words.h"
#include "datasets/history.h"
#include "env/named_files.h"
#include "tools/collect_agents.h"
#include "tools/command.h"
#include "tools/common.h"
#include "tools/environment_options.h"
#include "tools/help.h"
#include "tools/learning.h"

namespace reverie {
namespace {

struct CollectOptions {
  CommonOptions common;
  std::shared_ptr<EnvironmentOptions> environment = std::make_shared<EnvironmentOptions>();
  int workers = 0;
  Part part;

  /// Where the run keeps what is not shared with other parts.
  std::string own_folder() const {
    return part.is_whole() ? common.out : common.out + "/" + part.folder_name();
  }
};

/// The rollouts keep the file, so that they can be gone on with by that agent alone.
void keep_agent(const std::string& file, const std::string& kept) {
  const std::string content = read_file(file);
  if (file_exists(kept) && read_file(kept) != content)
    throw InputError(
        "{} is another agent than {}, which played before; collect into another "
        "directory",
        file, kept);
  write_file(kept, content);
}

/// Whether collect.agent is a file of an agent, and can be read here.
bool is_file(const CollectConfig& config) {
  return agent_in_file.is_there() && config.agent.ends_with(".pt");
}

/// Who plays without learning before.
std::unique_ptr<CollectAgent> given_agent(const CollectConfig& config) {
  return is_file(config) ? agent_in_file(config.agent, config.agent) : make_collect_agent(config);
}

void print_json(const CollectResult& result, const Player& player, const EnvSpec& spec,
                const std::string& out) {
  const EnvCounters& training = player.training;
  const double seconds = std::max(result.seconds, 1e-9);
  Json line = {{"out", out},
               {"environment", spec.name},
               {"source", spec.source},
               {"episodes", result.episodes},
               {"resumed_episodes", result.resumed},
               {"steps", result.steps},
               {"bytes", result.bytes},
               {"seconds", result.seconds},
               {"steps_per_second", static_cast<double>(result.counters.steps) / seconds},
               {"mean_improvement_percent", result.mean_improvement_percent},
               {"best_improvement_percent", result.best_improvement_percent},
               {"cost_lookups", result.counters.cost_lookups},
               {"measurements", result.counters.measurements},
               {"capped_states", result.counters.capped_states},
               {"agent_training",
                {{"resets", training.resets},
                 {"steps", training.steps},
                 {"cost_lookups", training.cost_lookups},
                 {"measurements", training.measurements},
                 {"seconds", player.seconds}}}};
  fmt::print("{}\n", line.dump());
}

void print_text(const CollectResult& result, const EnvCounters& training, const EnvSpec& spec,
                const std::string& out) {
  fmt::print("{}: {}, {} ({} there); {}, {:.1f} MB written\n", out,
             counted(result.episodes, "episode"), counted(result.steps, "step"),
             counted(result.resumed, "episode was", "episodes were"), duration_text(result.seconds),
             static_cast<double>(result.bytes) * 1e-6);
  fmt::print(
      "improvement of an episode's best state over its start, by {}: {:.2f}% on average, "
      "{:.2f}% at most\n",
      spec.source, result.mean_improvement_percent, result.best_improvement_percent);
  if (training.resets > 0)
    fmt::print(
        "the agent was trained before: {} episodes, {} steps, {} cost look-ups, {} "
        "measurements\n",
        training.resets, training.steps, training.cost_lookups, training.measurements);
}

/// Measurements are not disturbed by other workers unless that is asked for.
int workers_for(const EnvSpec& spec, int wanted) {
  if (wanted > 0) return wanted;
  if (!spec.deterministic) return 1;
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

void warn_of_capped_states(const EnvCounters& counters, const EnvSpec& spec) {
  if (counters.capped_states == 0) return;
  fmt::print(stderr,
             "warning: {} of the states that were reached have more choices of an action than the "
             "{} that are offered\n",
             counters.capped_states, spec.max_choices);
}

/// What parts of the collection took that lie in the directory.
StepTaken taken_by_parts(const std::string& rollouts) {
  StepTaken all{.seconds = 0};
  for (const auto& entry : std::filesystem::directory_iterator(rollouts)) {
    if (!entry.is_directory() || !entry.path().filename().string().starts_with("part-")) continue;
    for (const StepTaken& step : read_history(entry.path().string())) {
      *all.seconds += step.seconds.value_or(0);
      all.learning += step.learning;
    }
  }
  return all;
}

/// Of episodes that were there, files do not tell look-ups and measurements; parts do.
StepTaken taken(const CollectResult& result, const Player& player, uint64_t seed, double seconds,
                const StepTaken& parts) {
  EnvCounters work = result.counters;
  work += parts.learning;
  work.resets = result.episodes;
  work.steps = result.steps;
  work += player.training;
  return {.step = "collect",
          .done = counted(result.episodes, "episode"),
          .seed = seed,
          .seconds = seconds + *parts.seconds,
          .version = kVersion,
          .learning = work};
}

void run(const CollectOptions& options) {
  const CollectStepConfig config =
      with_environment(*options.environment, resolve_config<CollectStepConfig>(options.common));
  const bool trained = agent_of_ppo.is_there() && config.collect.agent == "ppo";
  if (trained && !options.part.is_whole())
    throw InputError("--part {}: agent ppo learns before it plays, and each part would do so anew",
                     options.part.text());
  check_part(config.collect, options.part);
  Player player;
  if (!trained) player.agent = given_agent(config.collect);
  const MadeEnvironment made = make_environment(config.env);
  if (!options.common.quiet)
    for (const std::string& warning : made.warnings) fmt::print(stderr, "warning: {}\n", warning);
  if (!options.part.is_whole() && !made.environment->spec().deterministic)
    fmt::print(stderr,
               "warning: costs are measured, so that parts belong together only where they run on "
               "machines of one kind\n");
  CollectRun run;
  run.directory = options.common.out;
  run.part = options.part;
  run.metrics = options.own_folder();
  run.seed = config.seed;
  CollectStepConfig kept = config;
  kept.env = relative_to(run.directory, config.env);
  if (!trained) kept.agents = {};  // data are the same whichever program collects
  run.config = dump_config(kept);
  run.workers = workers_for(made.environment->spec(), options.workers);
  run.progress = options.common.progress();
  const RunDirectory directory(run.metrics, run.config, options.common.resume);
  if (is_file(config.collect)) keep_agent(config.collect.agent, run.directory + "/agent.pt");
  RunTime time(run.metrics);
  if (options.common.resume) time.resume();
  run.after_episode = [&](int episode) {
    if ((episode + 1) % config.collect.shard_episodes == 0) time.keep();
  };
  if (trained) player = agent_of_ppo("agent ppo", config, *made.environment, options.common);
  const CollectResult result = collect(*made.environment, *player.agent, config.collect, run);
  time.keep();
  write_history(run.metrics, {},
                taken(result, player, config.seed, time.seconds(), taken_by_parts(run.metrics)));
  const EnvSpec& spec = made.environment->spec();
  if (!options.common.quiet) warn_of_capped_states(result.counters, spec);
  if (options.common.json)
    print_json(result, player, spec, run.directory);
  else
    print_text(result, player.training, spec, run.directory);
}

void add_to(CLI::App& app) {
  const auto options = std::make_shared<CollectOptions>();
  CLI::App* command = app.add_subcommand(
      "collect",
      with_examples(what_of("collect"),
                    {"collect model.onnx -o rollouts --set collect.episodes=150",
                     "collect graph.json --env placement --devices 2xv100-nvlink -o rollouts"}));
  add_common_options<CollectStepConfig>(*command, options->common);
  add_environment_options(*command, options->environment);
  command
      ->add_option("--workers", options->workers,
                   "Threads that play (default: one per core, one alone where costs are "
                   "measured); the data do not depend on it")
      ->check(CLI::Range(0, 1024));
  command
      ->add_option_function<std::string>(
          "--part", [options](const std::string& text) { options->part = Part::parse(text); },
          "Collect the shards of this part alone, such as 3/16; several machines can write one "
          "folder, and the data do not depend on it. The same command with --resume instead makes "
          "what is missing then")
      ->type_name("K/N");
  command->callback([options] { run(*options); });
}

const bool kAdded = add_learning_command("collect", add_to);

}  // namespace
}  // namespace reverie
