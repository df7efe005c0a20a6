#include <benchmark/benchmark.h>

#include "core/cost/cost_model.h"
#include "core/models/models.h"

namespace reverie::bench {
namespace {

Graph bert() {
  ModelOptions options;
  options.light = true;
  return build_model("bert", options);
}

/// Known signatures of a real graph, one look-up an iteration; `built` builds the signature too.
void RooflineLookup(benchmark::State& state, bool built) {
  const Graph graph = bert();
  const auto model = make_cost_model("roofline:t4");
  std::vector<NodeId> work;
  std::vector<OpSignature> signatures;
  for (const NodeId node : graph.nodes()) {
    if (!graph.is_work(node)) continue;
    work.push_back(node);
    signatures.push_back(signature_of(graph, node));
    model->cost(signatures.back());
  }
  size_t at = 0;
  for (auto _ : state) {
    at = at + 1 == work.size() ? 0 : at + 1;
    benchmark::DoNotOptimize(built ? node_cost(*model, graph, work[at])
                                   : model->cost(signatures[at]));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(RooflineLookup, signature_given, false);
BENCHMARK_CAPTURE(RooflineLookup, signature_built, true);

void GraphCost(benchmark::State& state) {
  const Graph graph = bert();
  const auto model = make_cost_model("roofline:t4");
  for (auto _ : state) benchmark::DoNotOptimize(graph_cost(*model, graph));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(GraphCost);

}  // namespace
}  // namespace reverie::bench
