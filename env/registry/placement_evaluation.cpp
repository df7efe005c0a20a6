#include "env/registry/placement_evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/files.h"
#include "core/base/statistics.h"
#include "core/base/stopwatch.h"
#include "core/base/words.h"
#include "env/placement/report/charts.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/search/place.h"
#include "env/placement/simulator/bounds.h"
#include "env/selected_starts.h"

namespace reverie {
namespace {

const PlacementEnvironment& placing(const Environment& environment) {
  return dynamic_cast<const PlacementEnvironment&>(environment.unwrapped());
}

const Placement& placement_of(const Solution& solution) {
  return dynamic_cast<const PlacementSolution&>(solution).placement;
}

class PlacementCase : public EvaluationCase {
 public:
  PlacementCase(const PlacementEnvironment& prototype, int start, const CostGraph& graph,
                int64_t evaluations)
      : prototype_(prototype),
        start_(start),
        graph_(graph),
        evaluations_(evaluations),
        fusion_(prototype.fuses() ? path_fusion(Simulator(graph, prototype.topology()))
                                  : std::vector<double>()),
        bound_(prototype.fuses() ? fused_lower_bound(graph, prototype.topology())
                                 : lower_bound(graph, prototype.topology())),
        measure_(prototype.measure(start)) {}

  std::unique_ptr<Environment> make() const override {
    return select_starts(prototype_.fork(), {start_});
  }

  std::vector<EvaluationMethod> baselines() const override {
    std::vector<EvaluationMethod> all;
    for (const PlaceMethod& method : place_methods())
      if (method.suits(graph_) && (method.measures || !measure_))
        all.push_back(
            {.name = method.name,
             .budget = method.searches ? counted(evaluations_, "evaluation") : "",
             .draws = method.searches,
             .equal_time = false,
             .run = [this, method](const MethodLimits& limits) { return run(method, limits); }});
    return all;
  }

  std::shared_ptr<const Solution> solution(const Environment& played) const override {
    FusingSimulator simulator(graph_, topology());
    return std::make_shared<PlacementSolution>(
        in_order(simulator, placing(played).best_placement(), Dispatch::kReady));
  }
  bool equal(const Solution& a, const Solution& b) const override {
    return placement_of(a).device == placement_of(b).device &&
           placement_of(a).priority == placement_of(b).priority &&
           placement_of(a).kernel == placement_of(b).kernel;
  }

  Artifact write(const Solution& solution, const std::string& method,
                 const std::string& directory) const override {
    create_directory(directory + "/placements");
    Artifact artifact;
    artifact.file = fmt::format("placements/{}.{}.json", name(), file_word(method));
    const PlaceResult result = result_of(method, placement_of(solution));
    write_file(directory + "/" + artifact.file,
               placement_json(result.placed(graph_), topology(), result).dump(1) + "\n");
    return artifact;
  }

  Measurements measure(std::span<const std::shared_ptr<const Solution>> solutions,
                       int64_t rounds) const override {
    Measurements measured;
    if (!measure_) return measured;
    std::vector<Timeline> schedules;
    for (const auto& solution : solutions)
      schedules.push_back(result_of("", placement_of(*solution)).timeline);
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

  CaseDescription describe(std::span<const FinishedMethod> methods) const override {
    CaseDescription said;
    std::vector<std::string> ratios, peaks;
    std::optional<PlaceResult> best;
    for (const FinishedMethod& method : methods) {
      PlaceResult result = result_of(method.method, placement_of(*method.solution));
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
    if (best) said.plots = {gantt_svg(best->placed(graph_), topology(), best->timeline, bound_)};
    return said;
  }

 private:
  const EnvSpec& spec() const { return prototype_.spec(); }
  const Topology& topology() const { return prototype_.topology(); }
  const std::string& name() const { return spec().starts[static_cast<size_t>(start_)].name; }
  PlacementObjective objective() const {
    return spec().objective == 0 ? PlacementObjective::kMakespan : PlacementObjective::kPeakMemory;
  }

  MethodResult run(const PlaceMethod& method, const MethodLimits& limits) const {
    const Stopwatch watch;
    Evaluator evaluator(graph_, topology(), objective(),
                        {.evaluations = evaluations_, .seconds = limits.seconds}, fusion_);
    evaluator.measure_by(measure_);
    method.run(evaluator, limits.seed);
    const Outcome& outcome = evaluator.best_outcome();
    MethodResult result;
    result.best = spec().worst();
    result.solution = std::make_shared<PlacementSolution>(evaluator.best());
    result.candidates = evaluator.evaluations();
    (measure_ ? result.work.measurements : result.work.cost_lookups) = evaluator.evaluations();
    result.seconds = watch.seconds();
    if (!outcome.feasible()) return result;
    result.metrics = metrics_of(outcome);
    result.best = result.metrics[static_cast<size_t>(spec().objective)];
    result.trace = {{result.seconds, result.best}};
    return result;
  }

  PlaceResult result_of(const std::string& method, const Placement& placement) const {
    PlaceResult result;
    result.bound = bound_;
    result.methods = {{method, show(graph_, topology(), placement, result), 0, 1}};
    return result;
  }

  static std::vector<double> metrics_of(const Outcome& outcome) {
    return {outcome.makespan.milliseconds(), static_cast<double>(outcome.peak_bytes) / 0x1p20};
  }

  const PlacementEnvironment& prototype_;
  int start_;
  const CostGraph& graph_;
  int64_t evaluations_;
  std::vector<double> fusion_;  ///< of an Evaluator
  Picoseconds bound_;
  MeasureSchedule measure_;  ///< empty where makespans are simulated
};

class PlacementCases : public EvaluationCases {
 public:
  PlacementCases(std::unique_ptr<PlacementEnvironment> environment, std::vector<CostGraph> whole,
                 const PlacementEvaluationConfig& how, std::vector<std::string> warnings)
      : environment_(std::move(environment)),
        whole_(std::move(whole)),
        warnings_(std::move(warnings)) {
    for (int start = 0; start < spec().start_states(); ++start)
      cases_.push_back(std::make_unique<PlacementCase>(
          *environment_, start, whole_[static_cast<size_t>(start)], how.evaluations));
  }

  const EnvSpec& spec() const override { return environment_->spec(); }
  std::vector<std::string> warnings() const override { return warnings_; }
  const std::vector<std::unique_ptr<EvaluationCase>>& cases() const override { return cases_; }
  std::string estimated_by() const override { return spec().measurable ? "" : "the simulator"; }
  std::vector<std::string> sentences() const override {
    const std::string& devices = environment_->topology().name;
    return {
        spec().measurable
            ? fmt::format("Makespans are those of runs on {}, peak memory is simulated.", devices)
            : fmt::format("Makespans and peak memory are those of the simulator, on {}.", devices),
        "A policy places groups of operators; the other methods place each operator that is in "
        "no group of its own graph."};
  }

 private:
  std::unique_ptr<PlacementEnvironment> environment_;
  std::vector<CostGraph> whole_;
  std::vector<std::string> warnings_;
  std::vector<std::unique_ptr<EvaluationCase>> cases_;
};

}  // namespace

std::unique_ptr<EvaluationCases> placement_cases(std::unique_ptr<PlacementEnvironment> environment,
                                                 std::vector<CostGraph> whole,
                                                 const PlacementEvaluationConfig& how,
                                                 std::vector<std::string> warnings) {
  return std::make_unique<PlacementCases>(std::move(environment), std::move(whole), how,
                                          std::move(warnings));
}

}  // namespace reverie
