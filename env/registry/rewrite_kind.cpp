#include "env/registry/rewrite_kind.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "core/base/error.h"
#include "core/cost/relative_times.h"
#include "core/onnx/import.h"
#include "core/search/written_costs.h"
#include "env/registry/rewrite_evaluation.h"

namespace reverie {
namespace {

MadeEnvironment make_rewriting(const EnvironmentConfig& config, MeasureGraph measure) {
  const RewriteConfig& rewrite = config.rewrite;
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

class RewriteKind : public EnvironmentKind {
 public:
  std::string_view name() const override { return "rewrite"; }
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
    other.rewrite.cost = source;
    return make(other);
  }

  /// Where whole graphs are measured (measured_every_k) their times alone are replaced, by sums of
  /// costs, and after every step; the costs that states show stay, unless they are measured too.
  MadeEnvironment make_surrogate(const EnvironmentConfig& config,
                                 const std::string& source) const override {
    if (source.empty())
      throw InputError(
          "a surrogate needs costs: name their source, such as fitted:FILE, by "
          "dream.surrogate_source");
    const std::shared_ptr<CostModel> costs = make_cost_model(source);
    if (!costs->deterministic())
      throw InputError(
          "the cost source '{}' measures, which a surrogate must not; fit one to "
          "measurements (optimize --fit-out) or take roofline:<device>",
          source);
    EnvironmentConfig other = config;
    const bool measured_states = !make_cost_model(config.rewrite.cost)->deterministic();
    if (config.rewrite.environment.reward != RewardKind::kMeasuredEveryK || measured_states)
      other.rewrite.cost = source;
    other.rewrite.environment.measure_every = 1;
    return make_rewriting(other, [costs](const Graph& original, const Graph& graph) {
      const double before = running_cost(*costs, original).runtime.seconds();
      const double after = running_cost(*costs, graph).runtime.seconds();
      return RelativeTime{before > 0 ? after / before : 1, 0};
    });
  }

  std::unique_ptr<EvaluationCases> evaluation(const EnvironmentConfig& config,
                                              const KindEvaluationConfig& how,
                                              const EvaluationPlan& plan) const override {
    return rewrite_cases(config, how.rewrite, plan);
  }

  std::string measured_on(const EnvironmentConfig& config,
                          const std::string& source) const override {
    return machine_name_beside(config.rewrite.measure.machine, source);
  }
};

}  // namespace

MeasureGraph measure_graphs(const MeasureConfig& config, const std::string& cost_source) {
  struct Shared {
    std::mutex alone;
    std::optional<RelativeTimes> times;
  };
  return [config, cost_source, shared = std::make_shared<Shared>()](const Graph& original,
                                                                    const Graph& graph) {
    const std::lock_guard lock(shared->alone);
    if (!shared->times)
      shared->times.emplace(EndToEndOptions{config.repeats, config.min_seconds,
                                            machine_beside(config.machine, cost_source)});
    return shared->times->of(original, graph);
  };
}

const EnvironmentKind& rewrite_kind() {
  static const RewriteKind kind;
  return kind;
}

}  // namespace reverie
