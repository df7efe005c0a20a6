#include "env/placement/placement_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/files.h"
#include "core/base/statistics.h"
#include "core/base/words.h"
#include "env/kind.h"
#include "env/placement/placement_solver.h"
#include "env/placement/report/charts.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/search/placement_problem.h"
#include "env/placement/simulator/bounds.h"
#include "env/selected_starts.h"

namespace reverie {
namespace {

const Placement& placement_of(const Solution& solution) {
  return dynamic_cast<const PlacementSolution&>(solution).placement;
}

std::vector<double> metrics_of(const Outcome& outcome) {
  return {outcome.makespan.milliseconds(), static_cast<double>(outcome.peak_bytes) / 0x1p20};
}

class PlacementTasks : public Tasks {
 public:
  PlacementTasks(std::unique_ptr<PlacementEnvironment> environment, std::vector<CostGraph> whole,
                 std::vector<std::string> warnings)
      : environment_(std::move(environment)),
        whole_(std::move(whole)),
        warnings_(std::move(warnings)) {
    for (int start = 0; start < spec().start_states(); ++start)
      tasks_.push_back(std::make_unique<PlacementTask>(*environment_, start,
                                                       whole_[static_cast<size_t>(start)]));
  }

  const EnvSpec& spec() const override { return environment_->spec(); }
  std::vector<std::string> warnings() const override { return warnings_; }
  const std::vector<std::unique_ptr<Task>>& tasks() const override { return tasks_; }
  std::vector<std::string> usual_solvers() const override {
    std::vector<std::string> names;
    for (const PlaceMethod& method : place_methods()) names.push_back(method.name);
    return names;
  }
  std::string estimated_by() const override { return spec().measurable ? "" : "the simulator"; }
  std::vector<std::string> sentences() const override {
    const std::string& devices = environment_->topology().name;
    return {
        spec().measurable
            ? fmt::format("Makespans are those of runs on {}, peak memory is simulated.", devices)
            : fmt::format("Makespans and peak memory are those of the simulator, on {}.", devices),
        "A policy places groups of operators; the other solvers place each operator that is in "
        "no group of its own graph."};
  }

 private:
  std::unique_ptr<PlacementEnvironment> environment_;
  std::vector<CostGraph> whole_;
  std::vector<std::string> warnings_;
  std::vector<std::unique_ptr<Task>> tasks_;
};

}  // namespace

PlacementTask::PlacementTask(const PlacementEnvironment& prototype, int start,
                             const CostGraph& graph)
    : prototype_(prototype),
      start_(start),
      graph_(graph),
      fusion_(prototype.fuses() ? path_fusion(Simulator(graph, prototype.topology()))
                                : std::vector<double>()),
      bound_(prototype.fuses() ? fused_lower_bound(graph, prototype.topology())
                               : lower_bound(graph, prototype.topology())),
      measure_(prototype.measure(start)) {}

std::unique_ptr<Environment> PlacementTask::environment() const {
  return select_starts(prototype_.fork(), {start_});
}

Evaluator PlacementTask::evaluator(const SearchOptions& limits) const {
  const PlacementObjective objective =
      spec().objective == 0 ? PlacementObjective::kMakespan : PlacementObjective::kPeakMemory;
  Evaluator judge(graph_, topology(), objective,
                  {.evaluations = limits.budget, .seconds = limits.time_limit, .stop = limits.stop},
                  fusion_);
  judge.measure_by(measure_);
  return judge;
}

std::shared_ptr<const Problem> PlacementTask::problem() const {
  auto judge = std::make_shared<Evaluator>(evaluator({.budget = 0}));
  each_device(*judge);
  return std::make_shared<PlacementProblem>(judge, Placement(judge->best()));
}

Result PlacementTask::result(const Problem& start, SearchOutcome found) const {
  Result result = this->result(dynamic_cast<const PlacementProblem&>(start).evaluator());
  result.seconds = found.seconds;
  return result;
}

Result PlacementTask::result(const Evaluator& evaluator) const {
  const Outcome& outcome = evaluator.best_outcome();
  Result result;
  result.best = spec().worst();
  result.solution = std::make_shared<PlacementSolution>(evaluator.best());
  result.candidates = evaluator.evaluations();
  (measure_ ? result.work.measurements : result.work.cost_lookups) = evaluator.evaluations();
  result.seconds = evaluator.seconds();
  if (!outcome.feasible()) return result;
  result.metrics = metrics_of(outcome);
  result.best = result.metrics[static_cast<size_t>(spec().objective)];
  result.trace = {{result.seconds, result.best}};
  return result;
}

std::shared_ptr<const Solution> PlacementTask::solution(const Environment& played) const {
  FusingSimulator simulator(graph_, topology());
  const auto& environment = dynamic_cast<const PlacementEnvironment&>(played.unwrapped());
  return std::make_shared<PlacementSolution>(
      in_order(simulator, environment.best_placement(), Dispatch::kReady));
}

bool PlacementTask::equal(const Solution& a, const Solution& b) const {
  return placement_of(a).device == placement_of(b).device &&
         placement_of(a).priority == placement_of(b).priority &&
         placement_of(a).kernel == placement_of(b).kernel;
}

Artifact PlacementTask::write(const Solution& solution, const std::string& solver,
                              const std::string& directory) const {
  create_directory(directory + "/placements");
  Artifact artifact;
  artifact.file = fmt::format("placements/{}.{}.json", name(), file_word(solver));
  const PlaceResult result = shown(solver, placement_of(solution));
  write_file(directory + "/" + artifact.file,
             placement_json(result.placed(graph_), topology(), result).dump(1) + "\n");
  return artifact;
}

Measurements PlacementTask::measure(std::span<const std::shared_ptr<const Solution>> solutions,
                                    int64_t rounds) const {
  Measurements measured;
  if (!measure_) return measured;
  std::vector<Timeline> schedules;
  for (const auto& solution : solutions)
    schedules.push_back(shown("", placement_of(*solution)).timeline);
  std::vector<std::vector<double>> times(solutions.size()), ratios(solutions.size());
  for (int64_t round = 0; round < rounds; ++round)
    for (size_t i = 0; i < schedules.size(); ++i) {
      times[i].push_back(measure_(schedules[i]).milliseconds());
      ratios[i].push_back(times[i].back() / times[0].back());
    }
  for (size_t i = 0; i < schedules.size(); ++i) {
    const MedianInterval time = median_interval(times[i]), ratio = median_interval(ratios[i]);
    measured.results.push_back({time.median, time.low, time.high, 100 * (1 - ratio.median),
                                100 * (1 - ratio.high), 100 * (1 - ratio.low), rounds});
  }
  return measured;
}

TaskDescription PlacementTask::describe(std::span<const Solved> solved) const {
  TaskDescription said;
  std::vector<std::string> ratios, peaks;
  std::optional<PlaceResult> best;
  for (const Solved& one : solved) {
    PlaceResult result = shown(one.solver, placement_of(*one.solution));
    const Outcome& outcome = result.methods.front().outcome;
    ratios.push_back(
        fmt::format("{:.3f}", static_cast<double>(outcome.makespan.count) /
                                  static_cast<double>(std::max<int64_t>(bound_.count, 1))));
    peaks.push_back(fmt::format("{:.1f} MiB", static_cast<double>(outcome.peak_bytes) / 0x1p20));
    said.details.push_back(
        {{measure_ ? "simulated_ms" : "makespan_ms", outcome.makespan.milliseconds()},
         {"peak_bytes", outcome.peak_bytes},
         {"bytes_over", outcome.bytes_over}});
    if (!best || outcome.makespan < best->methods.front().outcome.makespan)
      best = std::move(result);
  }
  said.sentences = {fmt::format("{}: {} on {}; {}no placement takes less than {:.4f} ms.", name(),
                                counted(graph_.size(), "operator"), topology().name,
                                measure_ ? "by the simulator " : "", bound_.milliseconds())};
  said.columns = {{measure_ ? "simulated makespan / bound" : "makespan / bound", ratios},
                  {"peak memory", peaks}};
  if (best) said.plots = {gantt_chart(best->placed(graph_), topology(), best->timeline, bound_)};
  return said;
}

PlaceResult PlacementTask::shown(const std::string& solver, const Placement& placement) const {
  PlaceResult result;
  result.bound = bound_;
  result.methods = {{solver, show(graph_, topology(), placement, result), 0, 1}};
  return result;
}

std::unique_ptr<Tasks> placement_tasks(std::unique_ptr<PlacementEnvironment> environment,
                                       std::vector<CostGraph> whole,
                                       std::vector<std::string> warnings) {
  return std::make_unique<PlacementTasks>(std::move(environment), std::move(whole),
                                          std::move(warnings));
}

}  // namespace reverie
