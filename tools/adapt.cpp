#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/stopwatch.h"
#include "env/adapt/features.h"
#include "env/adapt/record.h"
#include "env/adapt/search.h"
#include "env/adapt/standing.h"
#include "env/registry/adapt_evaluation.h"
#include "tools/command.h"
#include "tools/common.h"
#include "tools/interrupt.h"
#ifdef REVERIE_LEARNING
#include "env/adapt/train/published_agent.h"
#endif

namespace reverie {
namespace {

constexpr int64_t kMostSequences = 10'000;
constexpr char kFixed[] = "fixed:", kGoOn[] = "go on";

struct Config {
  uint64_t seed = 1;
  AdaptConfig adapt;

  template <class V>
  void fields(V& v) {
    v.field("seed", seed, "Seed of all randomness");
    v.section("adapt", adapt, "The scenario");
  }
};

struct Options {
  std::string source;
  std::string method;
  int episodes = 5000;
  std::string table;  // to record into
  int runs = 1;
  std::vector<std::string> config_files;
  std::vector<std::string> overrides;
  std::string seed;
  bool json = false;
  bool quiet = false;
};

struct Scenario {
  AdaptStart start;
  std::unique_ptr<EvaluationCases> cases;
  const EvaluationCase& only() const { return *cases->cases().front(); }
};

/// "deepen conv1,go on" as AdaptEvaluationConfig::fixed has it.
std::vector<std::string> fixed_decisions(const std::string& text) {
  std::vector<std::string> decisions = CLI::detail::split(text, ',');
  for (std::string& decision : decisions) {
    CLI::detail::trim(decision);
    const size_t space = decision.rfind(' ');
    if (decision != kGoOn && space != std::string::npos) decision.insert(space, ":");
  }
  return decisions;
}

Scenario scenario_of(const Options& options, const Config& config) {
  EnvironmentConfig environment;
  environment.kind = "adapt";
  environment.inputs = {options.source};
  environment.adapt = config.adapt;
  AdaptEvaluationConfig how;
  if (options.method.starts_with(kFixed))
    how.fixed = fixed_decisions(options.method.substr(sizeof(kFixed) - 1));
  MadeEnvironment made = make_environment(environment);
  AdaptStart start = dynamic_cast<const AdaptEnvironment&>(*made.environment).starts().front();
  return {std::move(start), adapt_cases(std::move(made), how)};
}

/// A method that plays many jobs before the one that counts.
struct LearningMethod {
  const char* name;
  const char* what;
  MethodResult (*run)(const LearningMethod&, const Scenario&, const Options&, uint64_t seed);
};

MethodResult learned(const TrainingJob& job, int episodes, const Stopwatch& watch) {
  MethodResult result;
  result.solution = std::make_shared<AdaptSolution>(job.state());
  result.candidates = episodes;
  result.seconds = watch.seconds();
  return result;
}

template <auto kSearch>
MethodResult search(const LearningMethod&, const Scenario& scenario, const Options& options,
                    uint64_t seed) {
  const Stopwatch watch;
  return learned(*kSearch(scenario.start, options.episodes, seed), options.episodes, watch);
}

#ifdef REVERIE_LEARNING
PublishedAgentConfig published_config(const std::string& name) {
  PublishedAgentConfig config;
  if (name.starts_with("mended")) config.kind = PublishedKind::kMended;
  config.baseline = name == "mended" || name == "published_with_baseline";
  return config;
}

MethodResult learn_published(const LearningMethod& method, const Scenario& scenario, const Options& options,
                             uint64_t seed) {
  const Stopwatch watch;
  PublishedAgentConfig config = published_config(method.name);
  config.episodes = options.episodes;
  config.seed = seed;
  PublishedAgent agent({scenario.start.source->start(seed)->state().network}, config);
  {
    Progress progress(method.name, config.episodes, "episodes", progress_style(options.quiet));
    agent.learn(scenario.start, [&](int episode, const JobState&) { progress.update(episode); });
  }
  return learned(*agent.play(scenario.start, seed), config.episodes, watch);
}
#endif

constexpr LearningMethod kLearning[] = {
    {"random_best", "the best of sequences that are drawn", search<random_best>},
    {"halving", "successive halving of such by their learning curves", search<successive_halving>},
    {"thompson", "Thompson sampling, with a linear model of what decisions add", search<thompson>},
#ifdef REVERIE_LEARNING
    {"published", "the agent of Lamelas (2023), REINFORCE; then its likeliest decisions", learn_published},
    {"published_with_baseline", "with rewards above their moving average", learn_published},
    {"mended", "with that, and with time, temperature and layers as they should be", learn_published},
    {"mended_without_baseline", "with time, temperature and layers alone", learn_published},
#endif
};

std::string method_table() {
  std::string table =
      "Methods:\n"
      "  nothing            no change\n"
      "  early              a change at every decision, of blocks in turn\n"
      "  random             every decision equally likely\n"
      "  fixed:DECISIONS    such as 'fixed:deepen conv1,go on,widen conv2'\n"
      "  exhaustive         tables: each sequence once, and the best of them\n";
  for (const LearningMethod& method : kLearning)
    table += fmt::format("  {:<18} {}\n", method.name, method.what);
  return table;
}

MethodResult play(const Scenario& scenario, const Options& options, uint64_t seed) {
  const std::string name = options.method.starts_with(kFixed) ? "fixed" : options.method;
  for (const LearningMethod& method : kLearning)
    if (name == method.name) return method.run(method, scenario, options, seed);
  for (const EvaluationMethod& method : scenario.only().baselines())
    if (name == method.name) return method.run({.seed = seed});
  throw InputError("no method '{}' for this source; reverie adapt --help lists them", options.method);
}

/// Where the result stands in a table; null of other sources.
std::optional<Standing> standing_of(const Options& options, const AdaptStart& start, const JobState& job) {
  if (start.source->name() != "table") return std::nullopt;
  return standing(read_table(options.source), job.decisions, start.final_epochs);
}

Json to_json(const Options& options, const Scenario& scenario, const MethodResult& result,
             const std::string& decisions, const JobState& job, const std::optional<Standing>& standing) {
  Json json{{"model", scenario.start.source->scenario()},
            {"method", options.method},
            {"decisions", decisions},
            {"parameters", job.network.parameters()},
            {"episodes", std::max<int64_t>(1, result.candidates)},
            {"seconds", result.seconds}};
  if (!standing) {
    json["accuracy"] = 100 * mean_accuracy(job.curve, scenario.start.final_epochs);
    return json;
  }
  json["accuracy"] = standing->accuracy;
  json["rank"] = standing->rank;
  json["sequences"] = standing->sequences;
  json["regret"] = standing->best - standing->accuracy;
  json["mean_accuracy"] = standing->mean;
  return json;
}

AdaptTable table_of(const Options& options, const AdaptStart& start, const TrainingConfig& train) {
  if (file_exists(options.table)) return read_table(options.table);
  AdaptTable table;
  table.scenario = start.source->scenario();
  table.rates = start.source->rates();
  table.final_epochs = start.final_epochs;
  table.budget = train.unit == BudgetUnit::kSeconds
                     ? fmt::format("{} s", train.budget)
                     : fmt::format("{} epochs of the starting network", train.budget);
  return table;
}

/// Whether all sequences were trained with the seed.
bool is_recorded(const AdaptTable& table, uint64_t seed) {
  return !table.sequences.empty() && std::ranges::all_of(table.sequences, [&](const auto& sequence) {
    return std::ranges::any_of(sequence.runs, [&](const auto& run) { return run.seed == seed; });
  });
}

void record(const Options& options, const Config& config) {
  const AdaptStart start = scenario_of(options, config).start;
  if (start.source->name() == "table") throw InputError("{}: is a table already", options.source);
  AdaptTable table = table_of(options, start, config.adapt.train);
  const int64_t sequences = count_sequences(*start.source, start.source->start(config.seed)->state());
  if (sequences > kMostSequences)
    throw InputError("{}: {} sequences of decisions for each seed are too many to record; give fewer "
                     "decisions or rates (adapt.train)", options.source, sequences);
  Progress progress("record", options.runs * sequences, "sequences", progress_style(options.quiet));
  const StopToken stop = stop_on_interrupt();
  for (int run = 0; run < options.runs; ++run) {
    const uint64_t seed = config.seed + static_cast<uint64_t>(run);
    if (!is_recorded(table, seed)) {
      record_sequences(*start.source, seed, table, [&](int64_t done) {
        progress.update(run * sequences + done);
        if (stop.requested())
          throw Interrupted("interrupted; the same command goes on at seed {}", seed);
      });
      write_table(options.table, table);
    }
    progress.update((run + 1) * sequences);
  }
  fmt::print("{}: {} sequences, {} runs of each\n", options.table, sequences, options.runs);
}

void run(const Options& options) {
  Config config;
  ConfigFields fields(config);
  for (const std::string& file : options.config_files) fields.load_file(file);
  for (const std::string& assignment : options.overrides) fields.set(assignment);
  if (!options.seed.empty()) fields.set_value("seed", options.seed);
  if (options.method.empty() == options.table.empty())
    throw InputError("give either --method, to train by it, or --record, to try all sequences");
  if (!options.table.empty()) return record(options, config);
  const Scenario scenario = scenario_of(options, config);
  const MethodResult result = play(scenario, options, config.seed);
  const JobState& job = dynamic_cast<const AdaptSolution&>(*result.solution).job;
  const FinishedMethod finished{options.method, result.solution, {}};
  const auto decisions =
      scenario.only().describe(std::span(&finished, 1)).details.front().at("decisions").get<std::string>();
  const auto standing = standing_of(options, scenario.start, job);
  Json json = to_json(options, scenario, result, decisions, job, standing);
  json["seed"] = config.seed;
  fmt::print("{}: {}: {:.2f} %", json.at("model").get<std::string>(), decisions,
             json.at("accuracy").get<double>());
  if (standing)
    fmt::print(", rank {} of {}, {:.2f} points below the best", standing->rank, standing->sequences,
               standing->best - standing->accuracy);
  fmt::print("\n");
  if (options.json) fmt::print("{}\n", json.dump());
}

}  // namespace

void register_adapt(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("adapt", "Train a network under a budget, and let it grow on the way");
  command->add_option("SOURCE", options->source, "A network (NAME.yaml, NAME.onnx), or a table (NAME.json)")
      ->required();
  command->add_option("--method", options->method, "How to decide; see below");
  command->add_option("--record", options->table,
                      "Instead: train every sequence of decisions, and write or complete this table")
      ->type_name("TABLE");
  command->add_option("--runs", options->runs, "Trainings of each sequence, from the seed on")
      ->check(CLI::PositiveNumber);
  command->add_option("--episodes", options->episodes, "Jobs that a method learns from")
      ->check(CLI::PositiveNumber);
  command->add_option("--config", options->config_files, "YAML file with settings; may be repeated")
      ->type_name("FILE")->expected(1)->take_all();
  command->add_option("--set", options->overrides, "One setting, dotted: a.b=c; may be repeated")
      ->type_name("KEY=VALUE")->expected(1)->take_all();
  command->add_option("--seed", options->seed, "Seed of all randomness");
  command->add_flag("--json", options->json, "Print the result as one line of JSON at the end");
  command->add_flag("--quiet", options->quiet, "No progress");
  command->footer([] {
    Config defaults;
    return method_table() + "Keys for --config and --set:\n" + ConfigFields(defaults).help();
  });
  command->callback([options] { run(*options); });
}

}  // namespace reverie
