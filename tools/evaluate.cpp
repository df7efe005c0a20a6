#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "controller/report/report.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/metrics.h"
#include "core/base/run_directory.h"
#include "core/search/written_costs.h"
#include "env/registry/registry.h"
#include "tools/command.h"
#include "tools/common.h"
#include "tools/environment_options.h"
#include "tools/policy_search.h"
#include "tools/training.h"

namespace reverie {
namespace {

/// Settings of the step evaluate.
struct EvaluateStepConfig {
  uint64_t seed = 0;
  EnvironmentConfig env;
  EvaluationConfig evaluate;

  template <class V> void fields(V& v) {
    v.field("seed", seed, "Seed of all randomness");
    v.section("env", env, "The environment");
    v.section("evaluate", evaluate, "What the policy is held against");
  }
};

struct Options {
  CommonOptions common;
  std::shared_ptr<EnvironmentOptions> environment = std::make_shared<EnvironmentOptions>();
  std::string policy;
  std::string device = "cpu";
};

/// The environment is the one that the policy was trained for, where nothing else is said.
EvaluateStepConfig resolve(const Options& options, const TrainedPolicy& policy,
                           const std::string& trained_cost) {
  EvaluateStepConfig config;
  config.env = policy.environment;
  config.env.inputs.clear();
  config.env.horizon = 0;
  config.env.rewrite.cost = trained_cost;
  RewardKind& reward = config.env.rewrite.environment.reward;
  if (reward == RewardKind::kMeasuredEveryK) reward = RewardKind::kRuntime;
  return with_environment(*options.environment, resolve_config(options.common, std::move(config)));
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

std::vector<ImportedModel> import_models(const EnvironmentConfig& env) {
  if (env.inputs.empty()) throw InputError("evaluate: name at least one ONNX file");
  std::vector<ImportedModel> models;
  for (const std::string& path : env.inputs)
    models.push_back(import_onnx(path, {env.rewrite.shapes, env.rewrite.dims}));
  return models;
}

/// What a report says beside the models.
EvaluationReport report_on(const std::string& policy, const EvaluationConfig& config, const RuleSet& rules,
                           const std::string& cost) {
  EvaluationReport report;
  report.policy_file = policy;
  report.cost_source = cost;
  report.config = config;
  if (config.measure) report.machine = machine_beside(config.machine, cost)->info();
  report.policy_counters = load_checkpoint(policy, "policy").counters;
  report.learning = learning_curves(policy);
  for (int rule = 0; rule < rules.size(); ++rule) report.rules.push_back(rules.name(rule));
  return report;
}

void tell(const EvaluationReport& report, const CommonOptions& common) {
  if (common.json)
    fmt::print("{}\n", report_summary_json(report));
  else
    fmt::print("{}\nreport: {}/report.html\n\n{}", report_markdown(report), common.out, verdicts(report));
}

void run(const Options& options) {
  const TrainedPolicy policy = load_trained_policy(options.policy, device_named(options.device));
  const std::string trained_cost = cost_source_of_policy(options.policy);
  const EvaluateStepConfig config = resolve(options, policy, trained_cost);
  const std::vector<ImportedModel> models = import_models(config.env);
  const auto rules = std::make_shared<const RuleSet>(RuleSet::load_all(config.env.rewrite.rules));
  const auto cost = make_cost_model(config.env.rewrite.cost);
  const std::string warning = warning_of_costs(options.policy, trained_cost, cost->name());
  if (!warning.empty() && !options.common.quiet) fmt::print(stderr, "{}\n", warning);
  const std::string& directory = options.common.out;
  const RunDirectory run_directory(directory, dump_config(config) + policy_line(options.policy),
                                   options.common.resume);
  create_directory(directory + "/models");

  EvaluationReport report = report_on(options.policy, config.evaluate, *rules, cost->name());
  Progress progress("evaluate", static_cast<int64_t>(models.size()), "models",
                    options.common.progress());
  std::vector<std::string> names;
  for (size_t i = 0; i < models.size(); ++i) {
    names.push_back(graph_name(config.env.inputs[i], names));
    if (!options.common.quiet)
      for (const std::string& of_model : models[i].warnings)
        fmt::print(stderr, "warning: {}: {}\n", config.env.inputs[i], of_model);
    const EvaluationInputs inputs{config.env.inputs[i], names.back(), models[i], rules,
                                  costs_as_written(cost, newest_opset(models[i])), policy,
                                  config.env.rewrite.environment, directory, config.seed,
                                  [&](const std::string& what) { progress.say(what); }};
    report.models.push_back(evaluate_model(inputs, config.evaluate));
    progress.update(static_cast<int64_t>(i) + 1);
  }
  report.costs = cost->counters();
  write_report(report, directory);
  tell(report, options.common);
}

}  // namespace

void register_evaluate(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "evaluate", "Hold a policy against searches for real: INPUT..., policy.pt -> report");
  add_common_options<EvaluateStepConfig>(*command, options->common);
  add_environment_options(*command, options->environment);
  command->add_option("--policy", options->policy, "policy.pt, as `dream_train` wrote it")
      ->type_name("FILE")->required();
  add_threads_option(*command);
  command->add_option("--device", options->device, "Where LibTorch computes: cpu or cuda");
  command->callback([options] { run(*options); });
}

}  // namespace reverie
