#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>

#include "core/models/models.h"
#include "core/rules/rewrite_state.h"
#include "env/rewrite/rewrite_environment.h"
#include "env/rewrite/search/search.h"
#include "tests/support/random_actions.h"

namespace reverie::bench {
namespace {

/// Narrow encoder layers of BERT, one after another: the models of experiments/scale.
Graph stack_of(int64_t layers) {
  ModelOptions options;
  options.layers = layers;
  options.hidden = 32;
  options.heads = 2;
  options.inner = 64;
  options.length = 8;
  options.vocabulary = 50;
  options.light = true;
  return build_model("bert_tiny", options);
}

void at_depths(benchmark::internal::Benchmark* series) {
  for (const int64_t layers : {12, 48, 192, 768}) series->Arg(layers);
  series->Unit(benchmark::kMillisecond)->Complexity(benchmark::oN);
}

std::shared_ptr<const RuleSet> rules() {
  return std::make_shared<const RuleSet>(RuleSet::builtin());
}

/// The largest RewriteState::looked_at of a step of greedy search.
int64_t most_looked_at(RewriteState state) {
  int64_t most = 0;
  for (;;) {
    const auto best = state.ranking()();
    if (!best || best->change.count >= 0) return most;
    state.commit(state.propose(state.location(best->rule, best->index)));
    most = std::max(most, state.looked_at());
  }
}

/// Greedy search from start to end, against the number of nodes; `step` in seconds.
void GreedySearch(benchmark::State& state) {
  const RewriteState start(stack_of(state.range(0)), rules(), make_cost_model("roofline:cpu"));
  double steps = 0;
  for (auto _ : state)
    steps += static_cast<double>(search_rewrites(start, {}, search::Greedy()).steps);
  const int nodes = start.graph().node_count();
  state.SetComplexityN(nodes);
  state.counters["nodes"] = nodes;
  state.counters["looked_at"] = static_cast<double>(most_looked_at(start));
  state.counters["step"] =
      benchmark::Counter(steps, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(GreedySearch)->Apply(at_depths);

/// A step of the environment and what it shows then, from the start on.
void ObservedStep(benchmark::State& state) {
  std::vector<StartGraph> starts{{"stack", stack_of(state.range(0))}};
  const int nodes = starts.front().graph.node_count();
  RewriteEnvironment environment(std::move(starts), rules(), make_cost_model("roofline:cpu"), {});
  constexpr int kSteps = 20;
  for (auto _ : state) {
    environment.reset(0);
    Rng rng(1);
    for (int i = 0; i < kSteps; ++i) {
      environment.step(testing::random_action(environment.mask(), rng));
      benchmark::DoNotOptimize(environment.observe());
    }
  }
  state.SetComplexityN(nodes);
  state.counters["nodes"] = nodes;
  state.counters["step"] = benchmark::Counter(
      kSteps, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(ObservedStep)->Apply(at_depths);

}  // namespace
}  // namespace reverie::bench
