#include "env/rewrite/search/egraph/saturation.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/base/stopwatch.h"
#include "core/base/words.h"
#include "env/rewrite/search/egraph/extract.h"
#include "env/rewrite/search/egraph/ilp.h"
#include "env/rewrite/search/rewrite_problem.h"

namespace reverie {
namespace {

/// One e-graph, grown from a graph.
class Round {
 public:
  Round(SearchRun& run, const SaturationOptions& options, const Graph& start)
      : run_(run),
        options_(options),
        costs_(rewrite_state(run.start()).cost_model()),
        egraph_(start, costs_),
        saturation_(egraph_, rewrite_state(run.start()).rules(), costs_, options,
                    [this] { return must_extract(); }),
        best_cost_(graph_cost(costs_, start)) {
    for (int32_t i = 0; i < egraph_.graph().node_capacity(); ++i) best_nodes_.push_back({i});
  }

  void saturate() {
    extract();
    for (bool more = true; more && !must_extract();) {
      if (saturation_.full() || saturation_.iterations() >= options_.iterations) return;
      run_.count_expansion();
      const int64_t before = saturation_.applied();
      more = saturation_.iterate();
      run_.count_candidates(saturation_.applied() - before);
      extract();
    }
  }

  /// Uses up some of the solver's time.
  void solve(double& seconds) {
    if (run_.out_of_time() || seconds <= 0) return;
    const Stopwatch watch;
    const Extraction extraction(egraph_, weight_limit(run_));
    const Selection start = extraction.selection_of(best_nodes_);
    if (!Follower(extraction.problem()).cost(start)) return;
    const IlpResult result =
        extract_by_ilp(extraction.problem(), start, seconds, [this] { return run_.must_stop(); });
    seconds -= watch.seconds();
    extraction_ = result.status();
    keep(extraction, result.selection);
    run_.out_of_time();
  }

  /// Whether it found a better graph than it began with.
  bool gained() const { return gained_; }
  /// Whether the time ended it.
  bool cut_short() const { return cut_short_; }
  bool saturated() const { return saturation_.saturated(); }

  /// Adds what this e-graph was to the report.
  void report(SaturationReport& report) const {
    ++report.rounds;
    report.iterations += saturation_.iterations();
    report.nodes = egraph_.node_count();
    report.classes = egraph_.class_count();
    report.saturated = saturation_.saturated();
    report.extraction = extraction_;
  }

 private:
  /// Whether no more time is left than extracting may take from an e-graph that has grown since.
  bool must_extract() {
    cut_short_ |= run_.out_of_time(2 * extraction_seconds_);
    return cut_short_;
  }

  /// Takes out the best graph that descents from the best so far and from bottom-up find.
  void extract() {
    const Stopwatch watch;
    const Extraction extraction(egraph_, weight_limit(run_));
    consider(extraction, extraction.selection_of(best_nodes_));
    consider(extraction, select_bottom_up(extraction.problem()));
    extraction_seconds_ = watch.seconds();
  }

  /// Descends while there is time; what was found until then counts.
  void consider(const Extraction& extraction, Selection selection) {
    if (!Follower(extraction.problem()).cost(selection)) return;
    keep(extraction, select_by_descent(extraction.problem(), std::move(selection),
                                       [this] { return run_.out_of_time(); }));
  }

  void keep(const Extraction& extraction, const Selection& selection) {
    const std::vector<NodeId> nodes = extraction.nodes_of(selection);
    Cost cost;
    for (const NodeId node : nodes) cost += egraph_.cost(node);
    if (cost.runtime < best_cost_.runtime) {
      gained_ = true;
      best_cost_ = cost;
      best_nodes_ = nodes;
    }
    if (!run_.improves(static_cast<double>(cost.runtime.count))) return;
    const Graph graph = extraction.build(selection);
    REVERIE_CHECK(graph_cost(costs_, graph) == cost,
                  "the graph does not cost what its nodes do, {} ps", cost.runtime.count);
    improve_by(run_, cost, graph);
  }

  SearchRun& run_;
  const SaturationOptions& options_;
  CostModel& costs_;
  EGraph egraph_;
  Saturation saturation_;
  std::vector<NodeId> best_nodes_;  // of the e-graph, inputs first
  Cost best_cost_;                  // of these
  bool gained_ = false;
  bool cut_short_ = false;
  double extraction_seconds_ = 0;  // that the last one took
  std::string extraction_ = "greedy";
};

}  // namespace

std::string SaturationReport::sentence() const {
  return fmt::format("e-graph {}: {} in {} after {} in all{}; extraction: {}", rounds,
                     counted(nodes, "node"), counted(classes, "class", "classes"),
                     counted(iterations, "iteration"), saturated ? ", saturated" : "", extraction);
}

Json SaturationReport::json() const {
  return {{"rounds", rounds},   {"iterations", iterations}, {"nodes", nodes},
          {"classes", classes}, {"saturated", saturated},   {"extraction", extraction}};
}

/// E-graphs one after another, each from the best graph of the one before, while that gains and the
/// limits left something out. The solver comes where descent gains no more.
void search::Saturation::operator()(SearchRun& run) const {
  if (greedy_first) begin_greedily(run);
  const auto report = std::make_shared<SaturationReport>();
  bool cut_short = false;
  double seconds = solver_seconds;
  while (report->rounds < rounds && !run.out_of_time()) {
    Round round(run, *this,
                report->rounds == 0 ? rewrite_state(run.start()).graph() : best_graph(run));
    round.saturate();
    const bool last = report->rounds + 1 == rounds;
    if (solve && (last || round.saturated() || !round.gained())) round.solve(seconds);
    round.report(*report);
    cut_short = round.cut_short();
    if (round.saturated() || !round.gained()) break;
  }
  if (!report->saturated && !cut_short && !run.out_of_time()) run.out_of_budget();
  run.tell(report);
}

}  // namespace reverie
