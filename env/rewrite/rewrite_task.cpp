#include "env/rewrite/rewrite_task.h"

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
#include "env/kind.h"
#include "env/rewrite/optimize/file_cost.h"
#include "env/rewrite/optimize/written_costs.h"
#include "env/rewrite/search/rewrite_problem.h"

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

/// Rewrites of each rule that some solver used.
Chart rules_used(std::span<const Solved> solved, const RuleSet& rules) {
  std::set<int> used;
  std::vector<std::string> columns, rows;
  std::vector<const std::vector<RewriteStep>*> paths;
  for (const Solved& one : solved) {
    const std::vector<RewriteStep>& path = rewritten(*one.solution).rewrites;
    if (path.empty()) continue;
    columns.push_back(one.solver);
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

}  // namespace

RewriteSolution::RewriteSolution(Graph graph, const Cost& cost, std::vector<RewriteStep> rewrites)
    : graph(std::move(graph)),
      hash(StructuralHash(this->graph).value()),
      cost(cost),
      rewrites(std::move(rewrites)) {}

std::string RewriteTaskContext::unmeasured() const {
  if (plan.measure == Measuring::kNever) return "that was not asked for";
  if (plan.measure == Measuring::kAlways || !how.machine.empty() || is_machine(cost->name()))
    return "";
  return fmt::format("costs by {} are not measured on this machine", cost->name());
}

RewriteTask::RewriteTask(std::string path, std::string name, ImportedModel model,
                         std::shared_ptr<const RewriteTaskContext> context)
    : path_(std::move(path)),
      name_(std::move(name)),
      model_(std::move(model)),
      context_(std::move(context)),
      cost_(costs_as_written(context_->cost, newest_opset(model_))) {}

std::unique_ptr<Environment> RewriteTask::environment() const {
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

std::shared_ptr<const Problem> RewriteTask::problem() const {
  return std::make_shared<const RewriteProblem>(fresh_start(), RewriteSearchOptions());
}

Result RewriteTask::result(const Problem& start, SearchOutcome found) const {
  return rewrite_result(search_result(start, std::move(found)));
}

std::optional<EnvCounters> RewriteTask::shared_counters() const {
  const CostModel::Counters counters = cost_->counters();
  EnvCounters shared;
  shared.cost_lookups = counters.lookups;
  shared.measurements = counters.measurements;
  return shared;
}

std::shared_ptr<const Solution> RewriteTask::solution(const Environment& played) const {
  const auto& environment = dynamic_cast<const RewriteEnvironment&>(played.unwrapped());
  const RewriteState best = environment.best_state();
  return std::make_shared<RewriteSolution>(best.graph(), best.cost(), environment.best_path());
}

bool RewriteTask::equal(const Solution& a, const Solution& b) const {
  return rewritten(a).hash == rewritten(b).hash;
}

Artifact RewriteTask::write(const Solution& solution, const std::string& solver,
                            const std::string& directory) const {
  CompareOptions options;
  options.inputs = static_cast<int>(context_->how.verify_inputs);
  options.seed = context_->plan.seed + 1;
  const Graph& graph = rewritten(solution).graph;
  const Agreement agreement = compare(model_.graph, graph, options);
  if (!agreement.agree && !agreement.disagree())
    throw InputError("{}: of what {} made of it {}", path_, solver, agreement.reason);
  if (!agreement.agree)
    throw InputError(
        "{}: what {} made of it disagrees with the original ({}); this is an error of "
        "a rule, please report it",
        path_, solver, agreement.reason);
  create_directory(directory + "/models");
  Artifact artifact;
  artifact.file = fmt::format("models/{}.{}.onnx", name_, file_word(solver));
  artifact.verified = verified_json(agreement);
  const std::set<std::string> fixed =
      export_with_symbols(path_, model_, graph, directory + "/" + artifact.file, options);
  if (!fixed.empty())
    artifact.verified[kFixedDimensions] = Json(Json::Array(fixed.begin(), fixed.end()));
  return artifact;
}

Measurements RewriteTask::measure(std::span<const std::shared_ptr<const Solution>> solutions,
                                  int64_t rounds) const {
  if (std::string why = context_->unmeasured(); !why.empty()) return {{}, std::move(why)};
  const std::string machine = machine_name_beside(context_->how.machine, cost_->name());
  if (has_opaque_node(model_.graph) && !machine_runs_files(machine))
    return {{}, machine + " cannot run operators that are carried through untouched"};
  std::vector<Graph> graphs;
  for (const auto& solution : solutions) graphs.push_back(rewritten(*solution).graph);
  const Interleaved times = measure_interleaved(
      graphs, {.repeats = static_cast<int>(rounds),
               .machine = machine_beside(context_->how.machine, cost_->name())});
  Measurements measured;
  for (size_t i = 0; i < graphs.size(); ++i)
    measured.results.push_back(measured_result(times.graphs[i], times.ratio_to_first[i]));
  return measured;
}

std::vector<double> RewriteTask::run_times_along(const std::vector<RewriteStep>& path) const {
  RewriteState state = fresh_start();
  std::vector<double> times = {state.cost().runtime.milliseconds()};
  for (const RewriteStep& step : path) {
    state.commit(state.propose(state.location(step.rule, step.location)));
    times.push_back(state.cost().runtime.milliseconds());
  }
  return times;
}

/// Each with the solvers whose files have it: "x[0]: greedy, taso".
std::map<std::string, std::string> fixed_dimensions(std::span<const Solved> solved) {
  std::map<std::string, std::string> fixed;
  for (const Solved& one : solved) {
    const Json& verified = one.artifact.verified;
    const Json* names = verified.is_object() ? verified.find(kFixedDimensions) : nullptr;
    if (names == nullptr) continue;
    for (const Json& name : names->array()) {
      std::string& known = fixed[name.get<std::string>()];
      known += (known.empty() ? "" : ", ") + one.solver;
    }
  }
  return fixed;
}

/// Estimates elsewhere are sums over single operators.
std::string RewriteTask::running_costs(std::span<const Solved> solved) const {
  std::string sentence =
      fmt::format("As the machine runs them, fused, the original is estimated at {:.4g} ms",
                  running_cost(*cost_, model_.graph).runtime.milliseconds());
  for (const Solved& one : solved)
    sentence +=
        fmt::format(", {} at {:.4g}", one.solver,
                    running_cost(*cost_, rewritten(*one.solution).graph).runtime.milliseconds());
  return sentence + ".";
}

std::vector<std::string> RewriteTask::sentences(std::span<const Solved> solved) const {
  const Cost initial = fresh_start().cost();
  const int64_t kernels = FileCosts(*context_->rules, cost_).of(model_.graph).launches;
  std::vector<std::string> all = {fmt::format(
      "{}: {}; the original is estimated at {:.4g} ms, {:.3g} GFLOP, {:.3g} MB of traffic, {}.",
      path_, counted(model_.nodes, "node"), initial.runtime.milliseconds(),
      static_cast<double>(initial.flops) * 1e-9, static_cast<double>(initial.bytes) * 1e-6,
      counted(kernels, "kernel"))};
  if (cost_->fuses()) all.push_back(running_costs(solved));
  double estimated = estimated_share(initial);
  for (const Solved& one : solved)
    estimated = std::max(estimated, estimated_share(rewritten(*one.solution).cost));
  if (estimated > 0)
    all.push_back(
        fmt::format("Up to {:.1f} % of the time of a graph here stands for operators that "
                    "the cost source does not know.",
                    100 * estimated));
  for (const auto& [name, files] : fixed_dimensions(solved))
    all.push_back(fmt::format(
        "Dimension '{}' is symbolic in the original; it is fixed to the extent assumed for it "
        "in the files of {}.",
        name, files));
  return all;
}

TaskDescription RewriteTask::describe(std::span<const Solved> solved) const {
  const double weights = std::max(1.0, static_cast<double>(model_.graph.weight_bytes()));
  std::vector<std::string> rewrites, growth, errors;
  std::vector<Series> series;
  TaskDescription said;
  for (const Solved& one : solved) {
    const RewriteSolution& solution = rewritten(*one.solution);
    const std::vector<double> along = run_times_along(solution.rewrites);
    const int64_t bytes = solution.graph.weight_bytes();
    rewrites.push_back(fmt::format("{}", solution.rewrites.size()));
    growth.push_back(bytes > 0 ? fmt::format("x{:.2f}", static_cast<double>(bytes) / weights)
                               : "-");
    errors.push_back(error_text(one.artifact.verified));
    said.details.push_back({{"cost", cost_json(solution.cost)},
                            {"weight_bytes", bytes},
                            {"cost_ms_along", along},
                            {"rewrites", rewrites_json(solution.rewrites, *context_->rules)}});
    if (along.size() > 1) series.push_back(line_of(one.solver, along));
  }
  said.sentences = sentences(solved);
  said.columns = {{"rewrites", rewrites}, {"weights", growth}, {"largest error", errors}};
  said.plots = {line_chart("Run time along the rewrites of each solver's best run",
                           {.x_label = "rewrites", .y_label = "estimated run time, ms"}, series),
                rules_used(solved, *context_->rules)};
  return said;
}

Result rewrite_result(SearchResult found) {
  Result result;
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

}  // namespace reverie
