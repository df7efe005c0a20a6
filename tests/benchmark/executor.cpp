#include <benchmark/benchmark.h>

#include "core/exec/cpu/cpu_executor.h"
#include "core/models/models.h"
#include "tests/benchmark/machine.h"

namespace reverie::bench {
namespace {

double flops_of(const Graph& graph) {
  int64_t total = 0;
  for (const NodeId node : graph.nodes())
    if (graph.is_work(node)) total += flops(graph, node);
  return static_cast<double>(total);
}

/// One run: inputs in place, kernels alone.
void Executor(benchmark::State& state, const ModelKind& kind) {
  ModelOptions options;
  options.light = true;
  const Graph graph = build_model(kind.name, options);
  CpuPlan plan(graph);
  Rng rng(1);
  plan.draw_inputs(rng);
  plan.execute();
  for (auto _ : state) plan.execute();
  const double rate = flops_of(graph) * static_cast<double>(state.iterations());
  state.counters["FLOP/s"] = benchmark::Counter(rate, benchmark::Counter::kIsRate);
  state.counters["of_fastest"] =
      benchmark::Counter(rate / fastest_matrix_product(), benchmark::Counter::kIsRate);
  int fallbacks = 0;
  for (const auto& [op, count] : plan.fallbacks()) fallbacks += count;
  state.counters["kernels"] = plan.kernels();
  state.counters["fallbacks"] = fallbacks;
}

const bool kRegistered = [] {
  for (const ModelKind& kind : all_models())
    benchmark::RegisterBenchmark(("Executor/" + std::string(kind.name)).c_str(), Executor, kind)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace reverie::bench
