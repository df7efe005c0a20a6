#include "env/factory/environment_factory.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>

#include "core/base/error.h"
#include "core/cost/relative_times.h"
#include "core/ir/text.h"
#include "core/onnx/import.h"
#include "core/search/written_costs.h"

namespace reverie {
namespace {

constexpr char kToy[] = "toy";

MadeEnvironment make_toy(const EnvironmentConfig& config) {
  ToyConfig toy = config.toy;
  if (config.rewrite.horizon > 0) toy.horizon = config.rewrite.horizon;
  MadeEnvironment made{std::make_unique<ToyEnvironment>(toy), {}, {}, {}};
  for (int start = 0; start < toy.start_states; ++start)
    made.graphs.push_back(fmt::format("toy-{}", start));
  return made;
}

}  // namespace

bool is_toy(const EnvironmentConfig& config) {
  return std::find(config.models.begin(), config.models.end(), kToy) != config.models.end();
}

std::string graph_name(const std::string& path, const std::vector<std::string>& taken) {
  const std::string stem = std::filesystem::path(path).stem().string();
  std::string name = stem;
  for (int i = 2; std::find(taken.begin(), taken.end(), name) != taken.end(); ++i)
    name = fmt::format("{}-{}", stem, i);
  return name;
}

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

MadeEnvironment make_environment(const EnvironmentConfig& config, MeasureGraph measure) {
  if (config.models.empty())
    throw InputError("no model: name at least one ONNX file (or toy, the environment for tests)");
  if (is_toy(config)) {
    if (config.models.size() > 1)
      throw InputError("toy is an environment of its own and cannot stand beside ONNX files");
    return make_toy(config);
  }
  const auto rules = std::make_shared<const RuleSet>(RuleSet::load_all(config.rules));
  const auto cost = make_cost_model(config.cost);
  if (!measure) {
    measure = measure_graphs(config.measure, config.cost);
    if (config.rewrite.reward == RewardKind::kMeasuredEveryK)
      machine_beside(config.measure.machine, config.cost);  // refused before anything is done
  }
  MadeEnvironment made;
  std::vector<StartGraph> starts;
  int newest = kNewestOpset;
  for (const std::string& path : config.models) {
    ImportedModel model = import_onnx(path, {config.shapes, config.dims});
    for (const std::string& warning : model.warnings)
      made.warnings.push_back(fmt::format("{}: {}", path, warning));
    newest = std::min(newest, newest_opset(model));
    made.graphs.push_back(graph_name(path, made.graphs));
    made.graph_texts.push_back(to_text(model.graph));
    starts.push_back({made.graphs.back(), std::move(model.graph)});
  }
  RewriteEnvConfig rewrite = config.rewrite;
  const std::string machine = machine_name_beside(config.measure.machine, config.cost);
  rewrite.measures_opaque_nodes = is_machine(machine) && machine_runs_files(machine);
  made.environment = std::make_unique<RewriteEnvironment>(std::move(starts), rules,
                                                          costs_as_written(cost, newest),
                                                          std::move(rewrite), std::move(measure));
  return made;
}

MadeEnvironment make_symbolic_environment(EnvironmentConfig config, const std::string& cost) {
  if (cost.empty())
    throw InputError("a symbolic dream needs costs: name their source, such as fitted:FILE, by "
                     "dream.symbolic_cost");
  if (is_toy(config))
    throw InputError("toy has no costs that could come from '{}': it cannot be dreamed symbolically", cost);
  const std::shared_ptr<CostModel> costs = make_cost_model(cost);
  if (!costs->deterministic())
    throw InputError("the cost source '{}' measures, which a symbolic dream must not; fit one to "
                     "measurements (optimize --fit-out) or take roofline:<device>", cost);
  const bool measured_states = !make_cost_model(config.cost)->deterministic();
  if (config.rewrite.reward != RewardKind::kMeasuredEveryK || measured_states) config.cost = cost;
  config.rewrite.measure_every = 1;
  return make_environment(config, [costs](const Graph& original, const Graph& graph) {
    const double before = graph_cost(*costs, original).runtime.seconds();
    const double after = graph_cost(*costs, graph).runtime.seconds();
    return RelativeTime{before > 0 ? after / before : 1, 0};
  });
}

}  // namespace reverie
