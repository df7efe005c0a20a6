#include <benchmark/benchmark.h>

#include <map>
#include <memory>

#include "core/base/random.h"
#include "core/models/models.h"
#include "core/rules/rewrite_state.h"

namespace reverie::bench {
namespace {

/// Encoder layers of BERT, one after another, until there are about so many nodes.
Graph chain(int64_t nodes) {
  ModelOptions options;
  options.light = true;
  options.layers = 1;
  const int one = build_model("bert_tiny", options).node_count();
  options.layers = 2;
  const int layer = build_model("bert_tiny", options).node_count() - one;
  options.layers = std::max<int64_t>(1, (nodes - one) / layer + 1);
  return build_model("bert_tiny", options);
}

RewriteState start_of(int64_t nodes) {
  static std::map<int64_t, RewriteState> starts;
  const auto at = starts.find(nodes);
  if (at != starts.end()) return at->second;
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  return starts.emplace(nodes, RewriteState(chain(nodes), rules, make_cost_model("roofline:t4")))
      .first->second;
}

/// A rule that applies and one of its locations.
Match draw(const RewriteState& state, Rng& rng) {
  for (;;) {
    const auto rule = static_cast<int>(rng.below(static_cast<uint64_t>(state.rules().size())));
    const int count = state.location_count(rule);
    if (count > 0)
      return state.location(rule, static_cast<int>(rng.below(static_cast<uint64_t>(count))));
  }
}

int64_t count_locations(const RewriteState& state) {
  int64_t count = 0;
  for (int rule = 0; rule < state.rules().size(); ++rule) count += state.location_count(rule);
  return count;
}

void step(RewriteState& state, Rng& rng) {
  state.commit(state.propose(draw(state, rng)));
  benchmark::DoNotOptimize(count_locations(state));
}

/// Random steps of a state that shares nothing: draw a location, propose, commit, count matches.
void StepOwned(benchmark::State& bench) {
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  RewriteState state(chain(bench.range(0)), rules, make_cost_model("roofline:t4"));
  Rng rng(1);
  for (auto _ : bench) step(state, rng);
  bench.counters["nodes"] = state.graph().node_count();
}
BENCHMARK(StepOwned)->Arg(1000)->Arg(10000)->Arg(80000)->Iterations(300)->Unit(
    benchmark::kMicrosecond);

/// The first step of a copy, as searches take it; the original stays.
void StepOfACopy(benchmark::State& bench) {
  const RewriteState start = start_of(bench.range(0));
  Rng rng(1);
  for (auto _ : bench) {
    RewriteState state = start;
    step(state, rng);
  }
  bench.counters["nodes"] = start.graph().node_count();
}
BENCHMARK(StepOfACopy)
    ->Arg(1000)
    ->Arg(10000)
    ->Arg(80000)
    ->Iterations(300)
    ->Unit(benchmark::kMicrosecond);

/// The hash of the state after each of random steps; lazy, so no part of the steps above.
void StateHashAfterAStep(benchmark::State& bench) {
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  RewriteState state(chain(bench.range(0)), rules, make_cost_model("roofline:t4"));
  Rng rng(1);
  state.hash();
  for (auto _ : bench) {
    bench.PauseTiming();
    step(state, rng);
    bench.ResumeTiming();
    benchmark::DoNotOptimize(state.hash());
  }
}
BENCHMARK(StateHashAfterAStep)
    ->Arg(1000)
    ->Arg(10000)
    ->Arg(80000)
    ->Iterations(300)
    ->Unit(benchmark::kMicrosecond);

/// All classes of all rules after each of random steps. Lists and classes of rules that a step does
/// not touch are kept, those of others are made anew.
void ClassesAfterAStep(benchmark::State& bench) {
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  RewriteState state(chain(bench.range(0)), rules, make_cost_model("roofline:t4"));
  Rng rng(1);
  for (auto _ : bench) {
    bench.PauseTiming();
    step(state, rng);
    bench.ResumeTiming();
    for (int rule = 0; rule < rules->size(); ++rule) benchmark::DoNotOptimize(state.classes(rule));
  }
}
BENCHMARK(ClassesAfterAStep)
    ->Arg(1000)
    ->Arg(10000)
    ->Arg(80000)
    ->Iterations(100)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace reverie::bench
