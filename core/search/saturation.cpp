#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/search/egraph/extract.h"
#include "core/search/egraph/ilp.h"
#include "core/search/egraph/saturation.h"
#include "core/search/search_run.h"

namespace reverie {
namespace {

class SaturationSearch {
 public:
  SaturationSearch(SearchRun& run)
      : run_(run),
        egraph_(run.start().graph(), run.start().cost_model()),
        saturation_(egraph_, run.start().rules(), run.start().cost_model(),
                    run.options().saturation, [&run] { return run.out_of_time(); }) {
    for (int32_t i = 0; i < egraph_.graph().node_capacity(); ++i) best_nodes_.push_back({i});
  }

  void search() {
    extract();
    for (bool more = true; more && !run_.out_of_time();) {
      if (saturation_.iterations() >= run_.options().saturation.iterations)
        return run_.out_of_budget();
      run_.count_expansion();
      const int64_t before = saturation_.applied();
      more = saturation_.iterate();
      run_.count_candidates(saturation_.applied() - before);
      extract();
    }
    if (!saturation_.saturated() && !run_.out_of_time()) run_.out_of_budget();
  }

  void solve() {
    if (run_.must_stop()) return;
    const Extraction extraction(egraph_, run_.weight_limit());
    const Selection start = extraction.selection_of(best_nodes_);
    if (!Follower(extraction.problem()).cost(start)) return;
    const IlpResult result =
        extract_by_ilp(extraction.problem(), start, run_.options().saturation.solver_seconds,
                       [this] { return run_.must_stop(); });
    extraction_ = result.status();
    keep(extraction, result.selection);
    run_.out_of_time();
  }

  SearchResult finish() {
    SaturationReport report;
    report.iterations = saturation_.iterations();
    report.nodes = egraph_.node_count();
    report.classes = egraph_.class_count();
    report.saturated = saturation_.saturated();
    report.extraction = extraction_;
    return run_.finish(std::move(report));
  }

 private:
  /// Takes out the best graph that descents from the best so far and from bottom-up find.
  void extract() {
    const Extraction extraction(egraph_, run_.weight_limit());
    const auto out_of_time = [&] { return run_.out_of_time(); };
    consider(extraction, extraction.selection_of(best_nodes_), out_of_time);
    consider(extraction, select_bottom_up(extraction.problem()), out_of_time);
  }

  void consider(const Extraction& extraction, Selection selection,
                const OutOfTime& out_of_time) {
    if (run_.out_of_time() || !Follower(extraction.problem()).cost(selection)) return;
    keep(extraction, descend(extraction.problem(), std::move(selection), out_of_time));
  }

  void keep(const Extraction& extraction, const Selection& selection) {
    const std::vector<NodeId> nodes = extraction.nodes_of(selection);
    Cost cost;
    for (const NodeId node : nodes) cost += egraph_.cost(node);
    if (!run_.improves(cost)) return;
    best_nodes_ = nodes;
    const Graph graph = extraction.build(selection);
    REVERIE_CHECK(graph_cost(run_.start().cost_model(), graph) == cost,
                  "the graph does not cost what its nodes do, {} ps", cost.runtime.count);
    run_.improve(cost, graph);
  }

  SearchRun& run_;
  EGraph egraph_;
  Saturation saturation_;
  std::vector<NodeId> best_nodes_;  // of the e-graph, inputs first
  std::string extraction_ = "greedy";
};

}  // namespace

SearchResult saturation_greedy_search(const RewriteState& start, const SearchOptions& options) {
  SearchRun run(start, options);
  SaturationSearch search(run);
  search.search();
  return search.finish();
}

SearchResult saturation_ilp_search(const RewriteState& start, const SearchOptions& options) {
  SearchRun run(start, options);
  SaturationSearch search(run);
  search.search();
  search.solve();
  return search.finish();
}

}  // namespace reverie
