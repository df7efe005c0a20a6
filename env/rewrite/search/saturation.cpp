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
  Round(SearchRun& run, const SaturationOptions& options, const RuleSet& rules, const Graph& start)
      : run_(run),
        options_(options),
        costs_(rewrite_state(run.start()).cost_model()),
        egraph_(start, costs_),
        saturation_(egraph_, rules, costs_, options, [this] { return must_extract(); }),
        best_cost_(graph_cost(costs_, start)) {
    for (int32_t i = 0; i < egraph_.graph().node_capacity(); ++i) best_nodes_.push_back({i});
  }

  /// Begins with another equal graph, too.
  void add(const Graph& graph) { egraph_.add_equal(graph, costs_); }

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
    extraction_ = result.status;
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

/// E-graphs one after another, each from the best graph so far, while that gains and the limits
/// left something out. The first one with further rules holds the start, too, since rules before
/// may have replaced what these need. The solver comes where descent gains no more.
class Rounds {
 public:
  Rounds(SearchRun& run, const search::Saturation& options)
      : run_(run), options_(options), seconds_(options.solver_seconds) {}

  void grow(const RuleSet& rules) {
    const Graph& start = rewrite_state(run_.start()).graph();
    report_->saturated = false;
    for (int64_t number = 1; number <= options_.rounds && !run_.out_of_time(); ++number) {
      Round round(run_, options_, rules, report_->rounds == 0 ? start : best_graph(run_));
      if (number == 1 && report_->rounds > 0) round.add(start);
      round.saturate();
      const bool end = number == options_.rounds || round.saturated() || !round.gained();
      if (options_.solve && end) round.solve(seconds_);
      round.report(*report_);
      cut_short_ = round.cut_short();
      if (round.saturated() || !round.gained()) break;
    }
  }

  void finish() {
    if (!report_->saturated && !cut_short_ && !run_.out_of_time()) run_.out_of_budget();
    run_.tell(report_);
  }

 private:
  SearchRun& run_;
  const search::Saturation& options_;
  std::shared_ptr<SaturationReport> report_ = std::make_shared<SaturationReport>();
  bool cut_short_ = false;
  double seconds_;  // left to the solver
};

/// Those of the built-in rules that a set has.
RuleSet builtin_part(const RuleSet& rules) {
  RuleSet part;
  for (int rule = 0; rule < rules.size(); ++rule)
    if (RuleSet::builtin().find(rules.name(rule)) >= 0) part.add(rules[rule]);
  return part;
}

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

void search::Saturation::operator()(SearchRun& run) const {
  if (greedy_first) begin_greedily(run);
  const RuleSet& rules = rewrite_state(run.start()).rules();
  const RuleSet builtin = builtin_part(rules);
  Rounds rounds_so_far(run, *this);
  if (builtin.size() > 0 && builtin.size() < rules.size()) rounds_so_far.grow(builtin);
  rounds_so_far.grow(rules);
  rounds_so_far.finish();
}

}  // namespace reverie
