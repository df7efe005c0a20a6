#include "env/kind.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/onnx/import.h"
#include "env/rewrite/measure_graphs.h"
#include "env/rewrite/optimize/written_costs.h"
#include "env/rewrite/rewrite_task.h"

namespace reverie {
namespace {

MadeEnvironment make_rewriting(const EnvironmentConfig& config, MeasureGraph measure) {
  const RewriteConfig& rewrite = config.of<RewriteConfig>();
  if (config.inputs.empty()) throw InputError("no model: name at least one ONNX file");
  const auto rules = std::make_shared<const RuleSet>(RuleSet::load_all(rewrite.rules));
  const auto cost = make_cost_model(rewrite.cost);
  if (!measure) {
    measure = measure_graphs(rewrite.measure, rewrite.cost);
    if (rewrite.environment.reward == RewardKind::kMeasuredEveryK)
      machine_beside(rewrite.measure.machine, rewrite.cost);  // refused before anything is done
  }
  MadeEnvironment made;
  std::vector<StartGraph> starts;
  std::vector<std::string> names;
  int newest = kNewestOpset;
  for (const std::string& path : config.inputs) {
    ImportedModel model = import_onnx(
        path,
        {.shapes = rewrite.shapes, .dims = rewrite.dims, .carried = ImportOptions::Carried::kAll});
    for (const std::string& warning : model.warnings)
      made.warnings.push_back(fmt::format("{}: {}", path, warning));
    newest = std::min(newest, newest_opset(model));
    names.push_back(graph_name(path, names));
    starts.push_back({names.back(), std::move(model.graph)});
  }
  RewriteEnvConfig environment = rewrite.environment;
  environment.horizon = config.horizon;
  const std::string machine = machine_name_beside(rewrite.measure.machine, rewrite.cost);
  environment.measures_opaque_nodes = is_machine(machine) && machine_runs_files(machine);
  made.environment =
      std::make_unique<RewriteEnvironment>(std::move(starts), rules, costs_as_written(cost, newest),
                                           std::move(environment), std::move(measure));
  return made;
}

class RewriteTasks : public Tasks {
 public:
  RewriteTasks(const EnvironmentConfig& config, const RewriteTaskConfig& how, const TaskPlan& plan);

  const EnvSpec& spec() const override { return spec_; }
  std::vector<std::string> warnings() const override { return warnings_; }
  const std::vector<std::unique_ptr<Task>>& tasks() const override { return tasks_; }
  std::vector<std::string> usual_solvers() const override {
    return {"random", "greedy", "rulelist", "taso", "saturation_ilp"};
  }
  std::string estimated_by() const override { return context_->cost->name(); }
  std::string measured_with() const override { return machine_ ? machine_->library : ""; }
  std::vector<std::string> sentences() const override;

 private:
  std::shared_ptr<RewriteTaskContext> context_;
  std::optional<MachineInfo> machine_;
  EnvSpec spec_;
  std::vector<std::string> warnings_;
  std::vector<std::unique_ptr<Task>> tasks_;
};

RewriteTasks::RewriteTasks(const EnvironmentConfig& config, const RewriteTaskConfig& how,
                           const TaskPlan& plan) {
  if (config.inputs.empty()) throw InputError("no model: name at least one ONNX file");
  const RewriteConfig& rewrite = config.of<RewriteConfig>();
  context_ = std::make_shared<RewriteTaskContext>();
  context_->rules = std::make_shared<const RuleSet>(RuleSet::load_all(rewrite.rules));
  context_->cost = make_cost_model(rewrite.cost);
  context_->environment = rewrite.environment;
  context_->environment.horizon = config.horizon;
  context_->how = how;
  context_->plan = plan;
  if (rewrite.environment.reward == RewardKind::kMeasuredEveryK) {
    context_->environment.reward = RewardKind::kRuntime;
    if (plan.measure == Measuring::kAuto) context_->plan.measure = Measuring::kAlways;
  }
  if (context_->unmeasured().empty())
    machine_ = machine_beside(how.machine, context_->cost->name())->info();
  std::vector<std::string> names;
  std::vector<StartState> starts;
  for (const std::string& path : config.inputs) {
    ImportedModel model = import_onnx(
        path,
        {.shapes = rewrite.shapes, .dims = rewrite.dims, .carried = ImportOptions::Carried::kAll});
    for (const std::string& warning : model.warnings)
      warnings_.push_back(fmt::format("{}: {}", path, warning));
    names.push_back(graph_name(path, names));
    tasks_.push_back(std::make_unique<RewriteTask>(path, names.back(), std::move(model), context_));
    spec_ = tasks_.back()->environment()->spec();
    starts.push_back(spec_.starts.front());
  }
  spec_.starts = starts;
}

std::vector<std::string> RewriteTasks::sentences() const {
  const CostModel::Counters counters = context_->cost->counters();
  std::string costs = "Estimated costs are by " + context_->cost->name();
  if (counters.estimates > 0)
    costs +=
        fmt::format(", which does not know {} of the {} operators asked for and estimates them",
                    counters.estimates, counters.operators);
  std::vector<std::string> all = {costs + "."};
  if (machine_)
    all.push_back(
        fmt::format("Measured times are end to end on {} ({}), in interleaved rounds; a "
                    "gain is paired with the original of the same round.",
                    machine_->device, machine_->library));
  else
    all.push_back(fmt::format("No graph was timed as a whole: {}.", context_->unmeasured()));
  all.push_back("Every result was compared with the original on random inputs.");
  return all;
}

class RewriteKind : public EnvironmentKind {
 public:
  std::string_view name() const override { return RewriteConfig::kKind; }
  void declare(ConfigSections& environment, ConfigSections& task) const override {
    environment.add<RewriteConfig>(RewriteConfig::kKind, "Rewriting of tensor graphs");
    task.add<RewriteTaskConfig>(RewriteTaskConfig::kKind, "Checks and measurements in rewriting");
  }
  std::string_view inputs() const override { return "ONNX files"; }

  std::vector<CommandOption> options() const override {
    return {{"--cost", "env.rewrite.cost", "SOURCE", "Cost source: " + known_cost_sources()},
            {"--shape", "env.rewrite.shapes", "NAME=EXTENTS",
             "Extents of an input with symbolic dimensions: name=1,3,224,224", true},
            {"--dim", "env.rewrite.dims", "NAME=EXTENT",
             "Extents of symbolic dimensions by name: batch=1,seq=128", true},
            {"--rules", "env.rewrite.rules", "FILE",
             "Rule file, or 'generated', instead of the built-in rules", true}};
  }

  MadeEnvironment make(const EnvironmentConfig& config) const override {
    return make_rewriting(config, nullptr);
  }

  MadeEnvironment make_by(const EnvironmentConfig& config,
                          const std::string& source) const override {
    EnvironmentConfig other = config;
    other.of<RewriteConfig>().cost = source;
    return make(other);
  }

  /// Where whole graphs are measured (measured_every_k) their times alone are replaced, by sums of
  /// costs, and after every step; the costs that states show stay, unless they are measured too.
  MadeEnvironment make_known(const EnvironmentConfig& config,
                             const std::string& source) const override {
    if (source.empty()) return make(config);
    const std::shared_ptr<CostModel> costs = make_cost_model(source);
    if (!costs->deterministic())
      throw InputError(
          "the cost source '{}' measures, so that rewards are not known before a step; fit one to "
          "measurements (optimize --fit-out) or take roofline:<device>",
          source);
    EnvironmentConfig other = config;
    const RewriteConfig& given = config.of<RewriteConfig>();
    const bool measured_states = !make_cost_model(given.cost)->deterministic();
    if (given.environment.reward != RewardKind::kMeasuredEveryK || measured_states)
      other.of<RewriteConfig>().cost = source;
    other.of<RewriteConfig>().environment.measure_every = 1;
    other.of<RewriteConfig>().environment.computes_measurements = true;
    return make_rewriting(other, [costs](const Graph& original, const Graph& graph, bool) {
      const double before = running_cost(*costs, original).runtime.seconds();
      const double after = running_cost(*costs, graph).runtime.seconds();
      return RelativeTime{before > 0 ? after / before : 1, 0};
    });
  }

  std::unique_ptr<Tasks> tasks(const EnvironmentConfig& config, const TaskConfig& how,
                               const TaskPlan& plan) const override {
    return std::make_unique<RewriteTasks>(config, how.of<RewriteTaskConfig>(), plan);
  }

  std::string measured_on(const EnvironmentConfig& config,
                          const std::string& source) const override {
    return machine_name_beside(config.of<RewriteConfig>().measure.machine, source);
  }

  void change_files(EnvironmentConfig& config,
                    const std::function<std::string(const std::string&)>& change) const override {
    for (std::string& rules : config.of<RewriteConfig>().rules) rules = change(rules);
  }
};

const bool kRegistered = register_kind(std::make_unique<RewriteKind>());

}  // namespace
}  // namespace reverie
