#include <fmt/format.h>
#include <torch/version.h>

#include <filesystem>
#include <memory>

#include "controller/evaluate/report.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/metrics.h"
#include "core/base/run_directory.h"
#include "env/kind.h"
#include "env/solver.h"
#include "env/translated.h"
#include "tools/command.h"
#include "tools/common.h"
#include "tools/environment_options.h"
#include "tools/help.h"
#include "tools/learning.h"
#include "tools/policy/guided_solver.h"
#include "tools/policy_search.h"
#include "tools/training.h"

namespace reverie {
namespace {

constexpr char kUsual[] = "usual";

struct ComparisonConfig : EvaluationConfig {
  std::vector<std::string> solvers = {kUsual};
  bool guided = false;
  GuideOptions guide;
  TaskConfig tasks;
  SolverSettings settings;

  explicit ComparisonConfig(const std::string& environment) : settings(environment) {}

  template <class V>
  void fields(V& v) {
    EvaluationConfig::fields(v);
    v.field("solvers", solvers,
            "What the policy is compared with: NAME or NAME:BUDGET each, or usual for the strong "
            "ones of the environment");
    v.field("guided", guided, "The policy also guides beam search (rewrite)");
    v.section("guide", guide, "How it guides it");
    tasks.fields(v);
    settings.fields(v);
  }
};

/// Settings of the step evaluate.
struct EvaluateStepConfig {
  uint64_t seed = 0;
  EnvironmentConfig env;
  ComparisonConfig evaluate;

  explicit EvaluateStepConfig(EnvironmentConfig environment = {})
      : env(std::move(environment)), evaluate(env.kind) {}

  template <class V>
  void fields(V& v) {
    v.field("seed", seed, "Seed of all randomness");
    v.section("env", env, "The environment");
    v.section("evaluate", evaluate, "What the policy is compared with");
  }
};

struct EvaluateArguments {
  CommonOptions common;
  std::shared_ptr<EnvironmentOptions> environment = std::make_shared<EnvironmentOptions>();
  std::string policy;
  std::string device = "cpu";
  std::vector<std::string> solvers;
};

/// The environment is the one that the policy was trained for, where nothing else is said. Other
/// inputs have another horizon.
EvaluateStepConfig resolve(const EvaluateArguments& options, const TrainedPolicy& policy) {
  EnvironmentConfig env = environment_from(policy.environment);
  env.inputs.clear();
  if (!environment_kind(env.kind).inputs().empty()) env.horizon = 0;
  EvaluateStepConfig config = with_environment(
      *options.environment, resolve_config(options.common, EvaluateStepConfig(std::move(env))));
  if (!options.solvers.empty()) config.evaluate.solvers = options.solvers;
  return config;
}

/// Those that are named, which must suit each task, and the usual ones, which are passed over where
/// they do not.
std::vector<ChosenSolver> solvers_of(const ComparisonConfig& how, const Tasks& tasks) {
  const std::string& environment = tasks.spec().name;
  std::vector<ChosenSolver> all;
  for (const std::string& name : how.solvers) {
    const bool usual = name == kUsual;
    for (const ChosenSolver& chosen :
         chosen_solvers(usual ? tasks.usual_solvers() : std::vector{name}, environment)) {
      for (const auto& task : tasks.tasks())
        if (const std::string why = chosen.solver->unsuited(*task); !usual && !why.empty())
          throw InputError("--solvers {}: {} {}; leave it out", name, chosen.solver->name(), why);
      all.push_back(chosen);
    }
  }
  for (const ChosenSolver& chosen : all)
    for (const auto& task : tasks.tasks())
      if (chosen.solver->unsuited(*task).empty()) chosen.solver->check(*task, how.settings);
  std::vector<const Solver*> used;
  for (const ChosenSolver& chosen : all) used.push_back(chosen.solver);
  how.settings.require_read_by(used, "this evaluation");
  return all;
}

/// A comment behind the configuration, by which a report of another policy is told apart.
std::string policy_line(const std::string& policy) {
  return fmt::format("# policy {}, checksum {:016x}\n", policy, hash_string(read_file(policy)));
}

/// The metrics of the run that trained the policy, where they lie beside it.
std::vector<LearningRow> learning_curves(const std::string& policy) {
  const auto path = std::filesystem::path(policy).parent_path() / "metrics.jsonl";
  std::vector<LearningRow> rows;
  if (!file_exists(path.string())) return rows;
  for (MetricsRow& row : read_metrics(path.string()))
    rows.push_back({row.step, std::move(row.values)});
  return rows;
}

/// Each one line: what a person should know before the policy plays here.
std::vector<std::string> warnings_of(const Tasks& tasks, const TrainedPolicy& policy,
                                     const std::string& file) {
  std::vector<std::string> lines;
  for (const std::string& warning : tasks.warnings()) lines.push_back("warning: " + warning);
  const std::string source = warning_of_costs(file, policy.spec().source, tasks.spec().source);
  if (!source.empty()) lines.push_back(source);
  const std::string unknown = unknown_actions(policy.spec(), tasks.spec());
  if (!unknown.empty()) lines.push_back(file + ": " + unknown);
  return lines;
}

/// What a report says beside the start states.
EvaluationReport report_on(const std::string& policy, const EvaluateStepConfig& config,
                           const Tasks& tasks) {
  EvaluationReport report;
  report.policy_file = policy;
  report.seed = config.seed;
  report.versions = {kVersion, "LibTorch " TORCH_VERSION};
  if (const std::string library = tasks.measured_with(); !library.empty())
    report.versions.push_back(library);
  report.spec = tasks.spec();
  report.estimated_by = tasks.estimated_by();
  report.config = config.evaluate;
  add_policy_record(report, load_checkpoint(policy, "policy"), history_beside(policy));
  report.learning = learning_curves(policy);
  return report;
}

void tell(const EvaluationReport& report, const CommonOptions& common) {
  if (common.json)
    fmt::print("{}\n", report_summary_json(report));
  else
    fmt::print("{}\nreport: {}/report.html\n\n{}", report_markdown(report), common.out,
               verdicts(report));
}

void run(const EvaluateArguments& options) {
  const TrainedPolicy policy = load_trained_policy(options.policy, device_named(options.device));
  const EvaluateStepConfig config = resolve(options, policy);
  const ComparisonConfig& how = config.evaluate;
  const std::unique_ptr<Tasks> tasks =
      environment_kind(config.env.kind)
          .tasks(config.env, how.tasks, {config.seed, how.measure, how.horizons});
  with_context(options.policy, [&] { require_names(policy.spec(), tasks->spec()); });
  if (!options.common.quiet)
    for (const std::string& line : warnings_of(*tasks, policy, options.policy))
      fmt::print(stderr, "{}\n", line);
  const GuidedSolver guided(policy, how.guide);
  std::vector<ChosenSolver> solvers = solvers_of(how, *tasks);
  if (how.guided) {
    if (const std::string why = guided.unsuited(*tasks->tasks().front()); !why.empty())
      throw InputError("evaluate.guided: a policy {}", why);
    solvers.insert(solvers.begin(), {&guided, guided.usual_budget()});
  }
  const std::string& directory = options.common.out;
  const RunDirectory run_directory(directory, dump_config(config) + policy_line(options.policy),
                                   options.common.resume);

  EvaluationReport report = report_on(options.policy, config, *tasks);
  Progress progress("evaluate", std::ssize(tasks->tasks()), "starts", options.common.progress());
  const EvaluationInputs inputs{policy, directory, config.seed, how.settings,
                                [&](const std::string& what) { progress.say(what); }};
  for (const std::unique_ptr<Task>& task : tasks->tasks()) {
    report.starts.push_back(evaluate_start(*task, solvers, inputs, how));
    progress.update(std::ssize(report.starts));
  }
  report.sentences = tasks->sentences();
  write_report(report, directory);
  tell(report, options.common);
}

void add_evaluate(CLI::App& app) {
  const auto options = std::make_shared<EvaluateArguments>();
  CLI::App* command = app.add_subcommand(
      "evaluate", with_examples(what_of("evaluate"),
                                {"evaluate model.onnx --policy policy/policy.pt -o report"}));
  add_common_options<EvaluateStepConfig>(*command, options->common);
  add_environment_options(*command, options->environment);
  command->add_option("--policy", options->policy, "policy.pt, as `dream_train` wrote it")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--solvers", options->solvers,
                   "What to compare with, with commas between: NAME, NAME:BUDGET or usual")
      ->delimiter(',');
  add_threads_option(*command);
  command->add_option("--device", options->device, "Where LibTorch computes: cpu or cuda");
  command->callback([options] { run(*options); });
}

const bool kEvaluateAdded = add_learning_command("evaluate", add_evaluate);

}  // namespace
}  // namespace reverie
