#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "core/base/random.h"
#include "env/placement/graph/generator.h"
#include "env/placement/graph/topology.h"
#include "env/placement/search/heuristics.h"
#include "env/placement/search/multilevel.h"
#include "env/placement/search/partition.h"
#include "env/placement/simulator/simulator.h"

namespace reverie {
namespace {

void at_sizes(benchmark::internal::Benchmark* series) {
  for (const int64_t nodes : {200, 1200, 5000, 20000, 80000}) series->Arg(nodes);
  series->Unit(benchmark::kMicrosecond)->Complexity(benchmark::oN);
}

/// Layers of twenty nodes; each reads two of the layer before. Costs of 1 to
/// 100 us, 1 MB a tensor.
CostGraph layered_graph(int size) {
  constexpr int kWidth = 20;
  Rng rng(1);
  std::vector<CostNode> nodes(static_cast<size_t>(size), {.name = "n", .op = "task"});
  std::vector<Picoseconds> costs;
  std::vector<CostTensor> tensors;
  for (int node = 0; node < size; ++node) {
    costs.push_back({static_cast<int64_t>(1 + rng.below(100)) * 1000000});
    tensors.push_back({.producer = node, .bytes = 1 << 20, .readers = {}});
    if (node < kWidth) continue;
    const int layer = (node / kWidth - 1) * kWidth;
    const auto first = static_cast<int>(rng.below(kWidth));
    tensors[static_cast<size_t>(layer + first)].readers.push_back(node);
    tensors[static_cast<size_t>(layer + (first + 7) % kWidth)].readers.push_back(node);
  }
  return CostGraph("layers", {"d"}, std::move(nodes), std::move(costs), std::move(tensors));
}

void simulate(benchmark::State& state) {
  const CostGraph graph = layered_graph(static_cast<int>(state.range(0)));
  Topology topology = ideal_devices(8, "d");
  topology.send_engines = topology.receive_engines = true;
  for (Link& link : topology.links) link = {.latency = {5000000}, .bytes_per_second = 25e9};
  Rng rng(2);
  Placement placement;
  for (int node = 0; node < graph.size(); ++node)
    placement.device.push_back(static_cast<int>(rng.below(8)));
  Simulator simulator(graph, topology);
  for (auto _ : state) benchmark::DoNotOptimize(simulator.run(placement).makespan);
  state.SetComplexityN(graph.size());
}
BENCHMARK(simulate)->Apply(at_sizes);

/// A synthetic graph on eight H100.
struct Placed {
  explicit Placed(int64_t nodes)
      : graph(generated_graph(fmt::format("generate:recurrent:{}:1", nodes))),
        topology(read_topology("8xh100")),
        simulator(graph, topology) {}
  CostGraph graph;
  Topology topology;
  Simulator simulator;
};

template <class Run>
void placing(benchmark::State& state, const Run& run) {
  const Placed placed(state.range(0));
  for (auto _ : state) run(placed);
  state.SetComplexityN(placed.graph.size());
}

void Heft(benchmark::State& state) {
  placing(state, [](const Placed& on) { benchmark::DoNotOptimize(heft(on.simulator)); });
}
void Metis(benchmark::State& state) {
  placing(state, [](const Placed& on) {
    benchmark::DoNotOptimize(partition(on.simulator, PlacementObjective::kMakespan));
  });
}
void Coarsening(benchmark::State& state) {
  placing(state, [](const Placed& on) {
    Rng rng(1);
    benchmark::DoNotOptimize(coarser(on.simulator, entity_clusters(on.graph), 0.01, {}, rng).count);
  });
}
BENCHMARK(Heft)->Apply(at_sizes);
BENCHMARK(Metis)->Apply(at_sizes);
BENCHMARK(Coarsening)->Apply(at_sizes);

}  // namespace
}  // namespace reverie
