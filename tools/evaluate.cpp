#include <fmt/format.h>
#include <torch/version.h>

#include <filesystem>
#include <memory>

#include "controller/evaluate/report.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/metrics.h"
#include "core/base/run_directory.h"
#include "env/registry/registry.h"
#include "env/translated.h"
#include "tools/command.h"
#include "tools/common.h"
#include "tools/environment_options.h"
#include "tools/help.h"
#include "tools/learning.h"
#include "tools/policy/guided_methods.h"
#include "tools/policy_search.h"
#include "tools/training.h"

namespace reverie {
namespace {

struct ComparisonConfig : EvaluationConfig {
  bool guided = false;
  GuideOptions guide;
  KindEvaluationConfig kinds;

  template <class V>
  void fields(V& v) {
    EvaluationConfig::fields(v);
    v.field("guided", guided,
            "The policy also guides beam search, with as many expansions as taso (rewrite)");
    v.section("guide", guide, "How it guides it");
    kinds.fields(v);
  }
};

/// Settings of the step evaluate.
struct EvaluateStepConfig {
  uint64_t seed = 0;
  EnvironmentConfig env;
  ComparisonConfig evaluate;

  template <class V>
  void fields(V& v) {
    v.field("seed", seed, "Seed of all randomness");
    v.section("env", env, "The environment");
    v.section("evaluate", evaluate, "What the policy is compared with");
  }
};

struct Options {
  CommonOptions common;
  std::shared_ptr<EnvironmentOptions> environment = std::make_shared<EnvironmentOptions>();
  std::string policy;
  std::string device = "cpu";
};

/// The environment is the one that the policy was trained for, where nothing else is said. Other
/// inputs have another horizon.
EvaluateStepConfig resolve(const Options& options, const TrainedPolicy& policy) {
  EvaluateStepConfig config;
  config.env = environment_from(policy.environment);
  config.env.inputs.clear();
  if (!environment_kind(config.env.kind).inputs().empty()) config.env.horizon = 0;
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

/// Each one line: what a person should know before the policy plays here.
std::vector<std::string> warnings_of(const EvaluationCases& cases, const TrainedPolicy& policy,
                                     const std::string& file) {
  std::vector<std::string> lines;
  for (const std::string& warning : cases.warnings()) lines.push_back("warning: " + warning);
  const std::string source = warning_of_costs(file, policy.spec().source, cases.spec().source);
  if (!source.empty()) lines.push_back(source);
  const std::string unknown = unknown_actions(policy.spec(), cases.spec());
  if (!unknown.empty()) lines.push_back(file + ": " + unknown);
  return lines;
}

/// What a report says beside the start states.
EvaluationReport report_on(const std::string& policy, const EvaluateStepConfig& config,
                           const EvaluationCases& cases) {
  EvaluationReport report;
  report.policy_file = policy;
  report.seed = config.seed;
  report.versions = {kVersion, "LibTorch " TORCH_VERSION};
  if (const std::string library = cases.measured_with(); !library.empty())
    report.versions.push_back(library);
  report.spec = cases.spec();
  report.estimated_by = cases.estimated_by();
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

void run(const Options& options) {
  const TrainedPolicy policy = load_trained_policy(options.policy, device_named(options.device));
  const EvaluateStepConfig config = resolve(options, policy);
  const ComparisonConfig& how = config.evaluate;
  const std::unique_ptr<EvaluationCases> cases =
      environment_kind(config.env.kind)
          .evaluation(config.env, how.kinds, {config.seed, how.measure, how.horizons});
  with_context(options.policy, [&] { require_names(policy.spec(), cases->spec()); });
  if (!options.common.quiet)
    for (const std::string& line : warnings_of(*cases, policy, options.policy))
      fmt::print(stderr, "{}\n", line);
  std::vector<std::vector<EvaluationMethod>> guided(cases->cases().size());
  for (size_t i = 0; how.guided && i < guided.size(); ++i)
    guided[i] = guided_methods(*cases->cases()[i], policy, how.guide);
  const std::string& directory = options.common.out;
  const RunDirectory run_directory(directory, dump_config(config) + policy_line(options.policy),
                                   options.common.resume);

  EvaluationReport report = report_on(options.policy, config, *cases);
  Progress progress("evaluate", std::ssize(guided), "starts", options.common.progress());
  const EvaluationInputs inputs{policy, directory, config.seed,
                                [&](const std::string& what) { progress.say(what); }};
  for (size_t i = 0; i < guided.size(); ++i) {
    report.starts.push_back(evaluate_start(*cases->cases()[i], guided[i], inputs, how));
    progress.update(static_cast<int64_t>(i) + 1);
  }
  report.sentences = cases->sentences();
  write_report(report, directory);
  tell(report, options.common);
}

}  // namespace

void register_evaluate(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "evaluate", with_examples(what_of("evaluate"),
                                {"evaluate model.onnx --policy policy/policy.pt -o report"}));
  add_common_options<EvaluateStepConfig>(*command, options->common);
  add_environment_options(*command, options->environment);
  command->add_option("--policy", options->policy, "policy.pt, as `dream_train` wrote it")
      ->type_name("FILE")
      ->required();
  add_threads_option(*command);
  command->add_option("--device", options->device, "Where LibTorch computes: cpu or cuda");
  command->callback([options] { run(*options); });
}

}  // namespace reverie
