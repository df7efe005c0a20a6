#include "env/registry/rewrite_evaluation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/words.h"
#include "core/cost/measured.h"
#include "core/exec/compare.h"
#include "core/ir/structural_hash.h"
#include "core/onnx/symbols.h"
#include "core/report/svg.h"
#include "core/search/file_cost.h"
#include "core/search/written_costs.h"

namespace reverie {
namespace {

constexpr char kFixedDimensions[] = "fixed_dimensions";

const RewriteSolution& rewritten(const Solution& solution) {
  return dynamic_cast<const RewriteSolution&>(solution);
}

std::vector<double> metrics_of(const Cost& cost) {
  return {cost.runtime.milliseconds(), static_cast<double>(cost.flops),
          static_cast<double>(cost.bytes), static_cast<double>(cost.launches)};
}

MethodResult result_of(SearchResult found) {
  MethodResult result;
  result.best = found.best_cost.runtime.milliseconds();
  result.metrics = metrics_of(found.best_cost);
  result.work.steps = found.steps;
  result.candidates = found.candidates;
  result.seconds = found.seconds;
  for (const SearchProgress& point : found.trace)
    result.trace.push_back({point.seconds, picoseconds(point.best).milliseconds()});
  result.solution = std::make_shared<RewriteSolution>(std::move(found.best), found.best_cost,
                                                      std::move(found.rewrites));
  return result;
}

Json cost_json(const Cost& cost) {
  return {{"runtime_ms", cost.runtime.milliseconds()},
          {"flops", cost.flops},
          {"bytes", cost.bytes},
          {"launches", cost.launches},
          {"estimated_share", estimated_share(cost)}};
}

Json rewrites_json(const std::vector<RewriteStep>& steps, const RuleSet& rules) {
  Json::Array rewrites;
  for (const RewriteStep& step : steps)
    rewrites.push_back({{"rule", rules.name(step.rule)}, {"location", step.location}});
  return rewrites;
}

Json verified_json(const Agreement& agreement) {
  return {{"inputs", agreement.inputs},
          {"max_abs_error", agreement.max_abs_error},
          {"max_rel_error", agreement.max_rel_error},
          {"unverified_nodes", agreement.unverified_nodes}};
}

std::string error_text(const Json& verified) {
  if (!verified.is_object()) return "-";
  return fmt::format("{:.1e}", verified.at("max_rel_error").get<double>());
}

Series line_of(const std::string& name, const std::vector<double>& values) {
  Series line{name, {}, false};
  for (size_t i = 0; i < values.size(); ++i)
    line.points.emplace_back(static_cast<double>(i), values[i]);
  return line;
}

MeasuredResult measured_result(const EndToEnd& time, const MedianInterval& ratio) {
  return {time.median.milliseconds(),
          time.low.milliseconds(),
          time.high.milliseconds(),
          100 * (1 - ratio.median),
          100 * (1 - ratio.high),
          100 * (1 - ratio.low),
          time.repeats};
}

/// Rewrites of each rule that some method used.
std::string rules_used(std::span<const FinishedMethod> methods, const RuleSet& rules) {
  std::set<int> used;
  std::vector<std::string> columns, rows;
  std::vector<const std::vector<RewriteStep>*> paths;
  for (const FinishedMethod& method : methods) {
    const std::vector<RewriteStep>& path = rewritten(*method.solution).rewrites;
    if (path.empty()) continue;
    columns.push_back(method.method);
    paths.push_back(&path);
    for (const RewriteStep& step : path) used.insert(step.rule);
  }
  std::vector<std::vector<double>> cells;
  for (const int rule : used) {
    rows.push_back(rules.name(rule));
    cells.emplace_back();
    for (const std::vector<RewriteStep>* path : paths)
      cells.back().push_back(
          static_cast<double>(std::ranges::count(*path, rule, &RewriteStep::rule)));
  }
  return heat_map("Rewrites of each rule in the best run", rows, columns, cells);
}

class RewriteCases : public EvaluationCases {
 public:
  RewriteCases(const EnvironmentConfig& config, const RewriteEvaluationConfig& how,
               const EvaluationPlan& plan);

  const EnvSpec& spec() const override { return spec_; }
  std::vector<std::string> warnings() const override { return warnings_; }
  const std::vector<std::unique_ptr<EvaluationCase>>& cases() const override { return cases_; }
  std::string estimated_by() const override { return context_->cost->name(); }
  std::string measured_with() const override { return machine_ ? machine_->library : ""; }
  std::vector<std::string> sentences() const override;

 private:
  std::shared_ptr<RewriteEvaluationContext> context_;
  std::optional<MachineInfo> machine_;
  EnvSpec spec_;
  std::vector<std::string> warnings_;
  std::vector<std::unique_ptr<EvaluationCase>> cases_;
};

RewriteCases::RewriteCases(const EnvironmentConfig& config, const RewriteEvaluationConfig& how,
                           const EvaluationPlan& plan) {
  if (config.inputs.empty()) throw InputError("no model: name at least one ONNX file");
  const RewriteConfig& rewrite = config.rewrite;
  context_ = std::make_shared<RewriteEvaluationContext>();
  context_->rules = std::make_shared<const RuleSet>(RuleSet::load_all(rewrite.rules));
  context_->cost = make_cost_model(rewrite.cost);
  context_->environment = rewrite.environment;
  context_->environment.horizon = config.horizon;
  if (rewrite.environment.reward == RewardKind::kMeasuredEveryK)
    context_->environment.reward = RewardKind::kRuntime;
  context_->how = how;
  context_->plan = plan;
  if (plan.measure) machine_ = machine_beside(how.machine, context_->cost->name())->info();
  std::vector<std::string> names;
  std::vector<StartState> starts;
  for (const std::string& path : config.inputs) {
    ImportedModel model = import_onnx(
        path,
        {.shapes = rewrite.shapes, .dims = rewrite.dims, .carried = ImportOptions::Carried::kAll});
    for (const std::string& warning : model.warnings)
      warnings_.push_back(fmt::format("{}: {}", path, warning));
    names.push_back(graph_name(path, names));
    cases_.push_back(std::make_unique<RewriteCase>(path, names.back(), std::move(model), context_));
    spec_ = cases_.back()->make()->spec();
    starts.push_back(spec_.starts.front());
  }
  spec_.starts = starts;
}

std::vector<std::string> RewriteCases::sentences() const {
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
  all.push_back("Every result was compared with the original on random inputs.");
  return all;
}

}  // namespace

RewriteSolution::RewriteSolution(Graph graph, const Cost& cost, std::vector<RewriteStep> rewrites)
    : graph(std::move(graph)),
      hash(StructuralHash(this->graph).value()),
      cost(cost),
      rewrites(std::move(rewrites)) {}

RewriteCase::RewriteCase(std::string path, std::string name, ImportedModel model,
                         std::shared_ptr<const RewriteEvaluationContext> context)
    : path_(std::move(path)),
      name_(std::move(name)),
      model_(std::move(model)),
      context_(std::move(context)),
      cost_(costs_as_written(context_->cost, newest_opset(model_))) {}

std::unique_ptr<Environment> RewriteCase::make() const {
  const auto with = [&](const RewriteEnvConfig& config) {
    std::vector<StartGraph> starts = {{name_, model_.graph}};
    return std::make_unique<RewriteEnvironment>(std::move(starts), context_->rules, cost_, config);
  };
  auto usual = with(context_->environment);
  if (context_->plan.horizons == 1) return usual;
  RewriteEnvConfig longer = context_->environment;
  longer.horizon = static_cast<int>(std::lround(context_->plan.horizons * usual->spec().horizon));
  return with(longer);
}

EvaluationMethod RewriteCase::method(const std::string& name, SearchMethod search,
                                     const SearchOptions& options,
                                     const std::string& budget) const {
  EvaluationMethod method;
  method.name = name;
  method.budget = budget;
  method.run = [this, search = std::move(search), options](const MethodLimits& limits) {
    SearchOptions with = options;
    with.seed = limits.seed;
    with.time_limit = limits.seconds;
    return result_of(search(fresh_start(), with));
  };
  return method;
}

std::vector<EvaluationMethod> RewriteCase::baselines() const {
  constexpr int64_t kUnlimited = int64_t{1} << 40;
  const auto options = [&](int64_t budget) {
    SearchOptions with;
    with.alpha = context_->how.alpha;
    with.budget = budget;
    return with;
  };
  const int64_t orders = context_->how.rule_orders, expansions = context_->how.taso_budget;
  EvaluationMethod random = method("random", random_search, options(kUnlimited), kEqualTime);
  random.draws = random.equal_time = true;
  EvaluationMethod list = method("rule list", rule_list_search, options(orders),
                                 fmt::format("the best of {}", counted(orders, "order")));
  list.draws = true;
  return {random, method("greedy", greedy_search, options(1), ""), list,
          method("taso", taso_search, options(expansions), counted(expansions, "expansion"))};
}

std::optional<EnvCounters> RewriteCase::shared_counters() const {
  const CostModel::Counters counters = cost_->counters();
  EnvCounters shared;
  shared.cost_lookups = counters.lookups;
  shared.measurements = counters.measurements;
  return shared;
}

std::shared_ptr<const Solution> RewriteCase::solution(const Environment& played) const {
  const auto& environment = dynamic_cast<const RewriteEnvironment&>(played.unwrapped());
  const RewriteState best = environment.best_state();
  return std::make_shared<RewriteSolution>(best.graph(), best.cost(), environment.best_path());
}

bool RewriteCase::equal(const Solution& a, const Solution& b) const {
  return rewritten(a).hash == rewritten(b).hash;
}

Artifact RewriteCase::write(const Solution& solution, const std::string& method,
                            const std::string& directory) const {
  CompareOptions options;
  options.inputs = static_cast<int>(context_->how.verify_inputs);
  options.seed = context_->plan.seed + 1;
  const Graph& graph = rewritten(solution).graph;
  const Agreement agreement = compare(model_.graph, graph, options);
  if (!agreement.agree && !agreement.disagree())
    throw InputError("{}: of what {} made of it {}", path_, method, agreement.reason);
  if (!agreement.agree)
    throw InputError(
        "{}: what {} made of it disagrees with the original ({}); this is an error of "
        "a rule, please report it",
        path_, method, agreement.reason);
  create_directory(directory + "/models");
  Artifact artifact;
  artifact.file = fmt::format("models/{}.{}.onnx", name_, file_word(method));
  artifact.verified = verified_json(agreement);
  const std::set<std::string> fixed =
      export_with_symbols(path_, model_, graph, directory + "/" + artifact.file, options);
  if (!fixed.empty())
    artifact.verified[kFixedDimensions] = Json(Json::Array(fixed.begin(), fixed.end()));
  return artifact;
}

Measurements RewriteCase::measure(std::span<const std::shared_ptr<const Solution>> solutions,
                                  int64_t rounds) const {
  const std::string machine = machine_name_beside(context_->how.machine, cost_->name());
  if (has_opaque_node(model_.graph) && !machine_runs_files(machine))
    return {{}, machine + " cannot run operators that are carried through untouched"};
  std::vector<Graph> graphs;
  for (const auto& solution : solutions) graphs.push_back(rewritten(*solution).graph);
  EndToEndOptions options;
  options.repeats = static_cast<int>(rounds);
  options.machine = machine_beside(context_->how.machine, cost_->name());
  const Interleaved times = measure_interleaved(graphs, options);
  Measurements measured;
  for (size_t i = 0; i < graphs.size(); ++i)
    measured.results.push_back(measured_result(times.graphs[i], times.ratio_to_first[i]));
  return measured;
}

std::vector<double> RewriteCase::run_times_along(const std::vector<RewriteStep>& path) const {
  RewriteState state = fresh_start();
  std::vector<double> times = {state.cost().runtime.milliseconds()};
  for (const RewriteStep& step : path) {
    state.commit(state.propose(state.location(step.rule, step.location)));
    times.push_back(state.cost().runtime.milliseconds());
  }
  return times;
}

/// Each with the methods whose files have it: "x[0]: greedy, taso".
std::map<std::string, std::string> fixed_dimensions(std::span<const FinishedMethod> methods) {
  std::map<std::string, std::string> fixed;
  for (const FinishedMethod& method : methods) {
    const Json& verified = method.artifact.verified;
    const Json* names = verified.is_object() ? verified.find(kFixedDimensions) : nullptr;
    if (names == nullptr) continue;
    for (const Json& name : names->array()) {
      std::string& known = fixed[name.get<std::string>()];
      known += (known.empty() ? "" : ", ") + method.method;
    }
  }
  return fixed;
}

/// Estimates elsewhere are sums over single operators.
std::string RewriteCase::running_costs(std::span<const FinishedMethod> methods) const {
  std::string sentence =
      fmt::format("As the machine runs them, fused, the original is estimated at {:.4g} ms",
                  running_cost(*cost_, model_.graph).runtime.milliseconds());
  for (const FinishedMethod& method : methods)
    sentence +=
        fmt::format(", {} at {:.4g}", method.method,
                    running_cost(*cost_, rewritten(*method.solution).graph).runtime.milliseconds());
  return sentence + ".";
}

std::vector<std::string> RewriteCase::sentences(std::span<const FinishedMethod> methods) const {
  const Cost initial = fresh_start().cost();
  const int64_t kernels = FileCosts(*context_->rules, cost_).of(model_.graph).launches;
  std::vector<std::string> all = {fmt::format(
      "{}: {}; the original is estimated at {:.4g} ms, {:.3g} GFLOP, {:.3g} MB of traffic, {}.",
      path_, counted(model_.nodes, "node"), initial.runtime.milliseconds(),
      static_cast<double>(initial.flops) * 1e-9, static_cast<double>(initial.bytes) * 1e-6,
      counted(kernels, "kernel"))};
  if (cost_->fuses()) all.push_back(running_costs(methods));
  double estimated = estimated_share(initial);
  for (const FinishedMethod& method : methods)
    estimated = std::max(estimated, estimated_share(rewritten(*method.solution).cost));
  if (estimated > 0)
    all.push_back(
        fmt::format("Up to {:.1f} % of the time of a graph here stands for operators that "
                    "the cost source does not know.",
                    100 * estimated));
  for (const auto& [name, files] : fixed_dimensions(methods))
    all.push_back(fmt::format(
        "Dimension '{}' is symbolic in the original; it is fixed to the extent assumed for it "
        "in the files of {}.",
        name, files));
  return all;
}

CaseDescription RewriteCase::describe(std::span<const FinishedMethod> methods) const {
  const double weights = std::max(1.0, static_cast<double>(model_.graph.weight_bytes()));
  std::vector<std::string> rewrites, growth, errors;
  std::vector<Series> series;
  CaseDescription said;
  for (const FinishedMethod& method : methods) {
    const RewriteSolution& solution = rewritten(*method.solution);
    const std::vector<double> along = run_times_along(solution.rewrites);
    const int64_t bytes = solution.graph.weight_bytes();
    rewrites.push_back(fmt::format("{}", solution.rewrites.size()));
    growth.push_back(bytes > 0 ? fmt::format("x{:.2f}", static_cast<double>(bytes) / weights)
                               : "-");
    errors.push_back(error_text(method.artifact.verified));
    said.details.push_back({{"cost", cost_json(solution.cost)},
                            {"weight_bytes", bytes},
                            {"cost_ms_along", along},
                            {"rewrites", rewrites_json(solution.rewrites, *context_->rules)}});
    if (along.size() > 1) series.push_back(line_of(method.method, along));
  }
  said.sentences = sentences(methods);
  said.columns = {{"rewrites", rewrites}, {"weights", growth}, {"largest error", errors}};
  said.plots = {line_chart("Run time along the rewrites of each method's best run",
                           {.x_label = "rewrites", .y_label = "estimated run time, ms"}, series),
                rules_used(methods, *context_->rules)};
  return said;
}

std::unique_ptr<EvaluationCases> rewrite_cases(const EnvironmentConfig& config,
                                               const RewriteEvaluationConfig& how,
                                               const EvaluationPlan& plan) {
  return std::make_unique<RewriteCases>(config, how, plan);
}

}  // namespace reverie
