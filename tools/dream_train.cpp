#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "controller/rounds/iterate.h"
#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/run_directory.h"
#include "core/base/words.h"
#include "datasets/collect.h"
#include "datasets/rollouts.h"
#include "env/named_files.h"
#include "env/selected_starts.h"
#include "env/translated.h"
#include "tools/collect_config.h"
#include "tools/command.h"
#include "tools/common.h"
#include "tools/help.h"
#include "tools/interrupt.h"
#include "tools/learning.h"
#include "tools/training.h"
#include "worldmodel/batch/rollout_episodes.h"

namespace reverie {
namespace {

struct DreamTrainArguments {
  CommonOptions common;
  std::string rollouts;
  std::string world;
  std::string policy;
  std::string inputs;  // empty: where the rollouts say
  std::string validate_source;
  std::string device = "cpu";
  int64_t iterate = 0;  // 0: as configured
};

struct IteratedDreamConfig : DreamStepConfig {
  IterateConfig iterate;

  template <class V>
  void fields(V& v) {
    DreamStepConfig::fields(v);
    v.section("iterate", iterate, "Rounds of collect, fit and dream");
  }
};

/// A collection, and its configuration with paths as they are found now.
struct Collected {
  RolloutInfo info;
  CollectStepConfig config;

  const EnvironmentKind& kind() const { return environment_kind(config.env.kind); }
};

Collected collected_in(const Rollouts& rollouts, const DreamTrainArguments& options) {
  Collected collected = {rollouts.info(), {}};
  ConfigFields(collected.config).load_text(collected.info.config, "configuration of the rollouts");
  collected.config.env = found_from(options.rollouts, options.inputs, collected.config.env);
  return collected;
}

/// The environment of the rollouts. Its horizon is theirs: a default may follow from the metrics.
EnvironmentConfig environment_config(const Collected& collected) {
  EnvironmentConfig env = collected.config.env;
  env.horizon = collected.info.spec.horizon;
  return env;
}

/// What was made again of the configuration that the rollouts hold, by the names that they know: a
/// later program may have more actions. InputError where its start states are other ones.
std::unique_ptr<Environment> checked(MadeEnvironment made, const RolloutInfo& info) {
  const std::vector<StartState>& now = made.environment->spec().starts;
  for (size_t i = 0; i < info.spec.starts.size(); ++i)
    if (i >= now.size() || !(now[i] == info.spec.starts[i]))
      throw InputError(
          "'{}' is no longer what the rollouts were collected on; give back the input, name the "
          "folder "
          "that holds it by --inputs, or collect anew",
          info.spec.starts[i].name);
  return translated(std::move(made.environment), info.spec);
}

/// The environment that the rollouts were collected in, perhaps with another source of metrics.
std::unique_ptr<Environment> environment_of(const Collected& collected, const std::string& source) {
  return with_context("the environment of the rollouts", [&] {
    const EnvironmentConfig env = environment_config(collected);
    return checked(source.empty() ? make_environment(env) : collected.kind().make_by(env, source),
                   collected.info);
  });
}

/// The same from the start graphs that are not held out for testing.
std::shared_ptr<Environment> to_train_on(std::unique_ptr<Environment> environment,
                                         const Collected& collected) {
  const int graphs = environment->spec().start_states();
  return select_starts(std::move(environment),
                       graphs_to_train_on(collected.config.collect, collected.info.seed, graphs));
}

/// Where a policy learns.
std::shared_ptr<Environment> place_to_learn(const Collected& collected,
                                            const DreamStepConfig& config) {
  if (config.environment != LearningPlace::kGreyBox)
    return to_train_on(environment_of(collected, ""), collected);
  const EnvironmentConfig env = environment_config(collected);
  return to_train_on(checked(collected.kind().make_known(env, config.known_source), collected.info),
                     collected);
}

Json counters_json(const EnvCounters& counters) {
  return {{"resets", counters.resets},
          {"steps", counters.steps},
          {"cost_lookups", counters.cost_lookups},
          {"measurements", counters.measurements}};
}

/// What the score is by: a source of metrics, the objective where it needs none, or the machine
/// that results were measured on.
std::string judged_by(const TrainingResult& result, const Collected& collected,
                      const EnvSpec& validation) {
  const bool measured =
      std::any_of(result.best_metrics.begin(), result.best_metrics.end(),
                  [](const auto& metric) { return metric.first == "greedy_measured"; });
  if (measured)
    return "end to end on " + collected.kind().measured_on(collected.config.env, validation.source);
  return validation.source == "none" ? validation.objective_metric().name : validation.source;
}

void print_json(const TrainingResult& result, const DreamTrainArguments& options,
                const IteratedDreamConfig& config, const std::string& judge) {
  Json line = {
      {"out", options.common.out},
      {"trainer", enum_names(TrainerKind{})[static_cast<size_t>(config.trainer.trainer)].second},
      {"updates", result.updates},
      {"best_update", result.best_update},
      {"found", result.best.found},
      {"score", result.best.average},
      {"judged_by", judge},
      {"seconds", result.seconds},
      {"training", counters_json(result.training)},
      {"computed_steps", result.computed_steps},
      {"validation", counters_json(result.validation)}};
  for (const auto& [name, value] : result.best_metrics) line[name] = value;
  fmt::print("{}\n", line.dump());
}

void print_text(const TrainingResult& result, const DreamTrainArguments& options,
                const std::string& judge, bool is_stochastic) {
  const std::string best =
      is_stochastic ? "" : fmt::format("its best episode finds {:.2f} %, ", result.best.found);
  fmt::print(
      "{}/policy.pt: the policy after {} of {} updates; for real, by {}, {}its score is {:.2f} "
      "(midway "
      "between its greedy and its mean sampled episode)\n",
      options.common.out, result.best_update, result.updates, judge, best, result.best.average);
  for (const auto& [name, value] : result.best_metrics)
    fmt::print("  {:<26} {:.4g}\n", name, value);
  fmt::print("real work: {} steps to learn, {} steps and {} measurements to validate; {} in all\n",
             result.training.steps, result.validation.steps, result.validation.measurements,
             duration_text(result.seconds));
  if (result.computed_steps > 0)
    fmt::print("computed steps: {}, by known dynamics\n", result.computed_steps);
}

/// Resets and steps of all these episodes, those that an interrupted run had collected too;
/// look-ups and measurements, of which files do not tell, are those of this run.
EnvCounters work_of(const EpisodeSource& collected, const CollectResult& result) {
  EnvCounters counters = result.counters;
  counters.resets = std::ssize(collected.episodes());
  counters.steps = 0;
  for (const Episode& episode : collected.episodes()) counters.steps += std::ssize(episode.steps);
  return counters;
}

/// The collection of a further round of `iterate`: with the seed of the first, so that the same
/// graphs and shares of the episodes are kept for testing.
CollectedRound collect_round(const Environment& environment, const Collected& first,
                             const CollectAgent& agent, int64_t episodes,
                             const std::string& directory, ProgressStyle progress) {
  CollectStepConfig collected = first.config;
  collected.env = relative_to(directory, collected.env);
  collected.collect.agent = "policy";
  collected.collect.episodes = static_cast<int>(episodes);
  CollectRun run;
  run.directory = directory;
  run.seed = first.info.seed;
  run.config = dump_config(collected);
  run.progress = progress;
  const RunDirectory run_directory(directory, run.config, true);
  const CollectResult result = collect(environment, agent, collected.collect, run);
  const auto collected_episodes = std::make_shared<RolloutEpisodes>(Rollouts::open(directory));
  return {collected_episodes, work_of(*collected_episodes, result)};
}

/// Of the rollouts, M, and the policy that it goes on from.
History history_before(const DreamTrainArguments& options) {
  History before = joined(read_history(options.rollouts), history_beside(options.world));
  return options.policy.empty() ? before : joined(before, history_beside(options.policy));
}

StepTaken taken(const TrainingResult& result, const IteratedDreamConfig& config) {
  return {.step = "dream_train",
          .done = counted(result.updates, "update"),
          .seed = config.seed,
          .seconds = result.seconds,
          .version = kVersion,
          .learning = result.training,
          .validation = result.validation};
}

void run(const DreamTrainArguments& options) {
  auto config = resolve_config<IteratedDreamConfig>(options.common);
  if (options.iterate > 0) config.iterate.rounds = options.iterate;
  if (!options.validate_source.empty()) config.validate_source = options.validate_source;
  config.plan.stop = stop_on_interrupt();
  const Processes processes = Processes::from_environment();
  if (processes.count() > 1 && config.iterate.rounds > 1)
    throw InputError("several processes train one round; leave --iterate out");
  require_fit(config, processes);  // this and what follows is refused before anything is written
  const Rollouts rollouts = Rollouts::open(options.rollouts);
  const Collected collected = collected_in(rollouts, options);
  load_checkpoint(options.world, "world");
  if (!options.policy.empty()) load_checkpoint(options.policy, "policy");
  DreamStepRun step;
  step.world = options.world;
  step.policy = options.policy;
  std::shared_ptr<Environment> environment;  // nothing real is done twice
  if (processes.is_first()) {
    step.training = place_to_learn(collected, config);
    step.validation = to_train_on(environment_of(collected, config.validate_source), collected);
    environment = environment_of(collected, "");
  }
  step.environment = dump_config(relative_to(options.common.out, collected.config.env));
  step.directory = options.common.out;
  step.resume = options.common.resume;
  step.processes = processes;
  step.progress = progress_of(options.common, processes);
  step.device = device_named(options.device);
  std::optional<RunDirectory> directory;
  if (processes.is_first()) directory.emplace(step.directory, dump_config(config), step.resume);
  const auto collect = [&](const CollectAgent& agent, int64_t episodes, const std::string& where) {
    return collect_round(*environment, collected, agent, episodes, where, step.progress);
  };
  const TrainingResult result = run_iterated(std::make_shared<RolloutEpisodes>(rollouts),
                                             config.iterate, config, step, collect);
  if (!processes.is_first()) return;
  write_history(step.directory, history_before(options), taken(result, config));
  const EnvSpec& judged = step.validation->spec();
  const std::string judge = judged_by(result, collected, judged);
  if (options.common.json)
    print_json(result, options, config, judge);
  else
    print_text(result, options, judge, judged.stochastic);
}

void add_dream_train(CLI::App& app) {
  const auto options = std::make_shared<DreamTrainArguments>();
  CLI::App* command = app.add_subcommand(
      "dream_train",
      with_examples(what_of("dream_train"),
                    {"dream_train rollouts --world world/world.pt -o policy --iterate 5"}));
  add_common_options<IteratedDreamConfig>(*command, options->common);
  command->add_option("rollouts", options->rollouts, "Directory that `collect` wrote")
      ->type_name("ROLLOUTS")
      ->required();
  command->add_option("--world", options->world, "world.pt, as `train_mdnrnn` wrote it")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--policy", options->policy,
                   "policy.pt to go on from, instead of imitating the best episodes first")
      ->type_name("FILE");
  command
      ->add_option("--inputs", options->inputs,
                   "Folder with the files that the rollouts were collected on, where they are no "
                   "longer where they were")
      ->type_name("FOLDER");
  command->add_option("--validate-source", options->validate_source,
                      "Source of the metrics in validation, such as one that measures");
  command
      ->add_option("--iterate", options->iterate,
                   "Rounds of collect, fit and dream; the first has the data and M given")
      ->check(CLI::Range(1, 1000));
  add_threads_option(*command);
  command->add_option("--device", options->device, "Where LibTorch computes: cpu or cuda");
  command->callback([options] { run(*options); });
}

const bool kDreamTrainAdded = add_learning_command("dream_train", add_dream_train);

}  // namespace
}  // namespace reverie
