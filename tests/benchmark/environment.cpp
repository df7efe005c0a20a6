#include <benchmark/benchmark.h>

#include "core/base/random.h"
#include "core/models/models.h"
#include "core/search/search.h"
#include "env/rewrite/rewrite_environment.h"
#include "tests/support/random_actions.h"

namespace reverie::bench {
namespace {

Graph model(const char* name) {
  ModelOptions options;
  options.light = true;
  return build_model(name, options);
}

std::unique_ptr<RewriteEnvironment> environment() {
  std::vector<StartGraph> starts;
  starts.push_back({"bert_base", model("bert_base")});
  return std::make_unique<RewriteEnvironment>(std::move(starts),
                                              std::make_shared<const RuleSet>(RuleSet::builtin()),
                                              make_cost_model("roofline:t4"), RewriteEnvConfig{});
}

/// Random episodes, resets included; nothing is observed but the mask.
void EnvironmentStep(benchmark::State& state) {
  const auto env = environment();
  Rng rng(1);
  uint64_t episode = 0;
  env->reset(episode);
  for (auto _ : state) {
    const StepResult result = env->step(testing::random_action(env->mask(), rng));
    if (result.terminated || result.truncated) env->reset(++episode);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(EnvironmentStep);

/// A random step and the look at its result.
void EnvironmentStepAndObserve(benchmark::State& state) {
  const auto env = environment();
  Rng rng(1);
  uint64_t episode = 0;
  env->reset(episode);
  for (auto _ : state) {
    const StepResult result = env->step(testing::random_action(env->mask(), rng));
    if (result.terminated || result.truncated) env->reset(++episode);
    benchmark::DoNotOptimize(env->observe());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(EnvironmentStepAndObserve);

/// Candidates of TASO's search with a budget of 100 expansions.
void TasoCandidates(benchmark::State& state, const char* name) {
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  const RewriteState start(model(name), rules, make_cost_model("roofline:t4"));
  int64_t candidates = 0;
  SearchOptions options;
  options.finish = false;
  for (auto _ : state) candidates += taso_search(start, options).candidates;
  state.SetItemsProcessed(candidates);
}
BENCHMARK_CAPTURE(TasoCandidates, bert_base, "bert_base")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(TasoCandidates, nasrnn, "nasrnn")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(TasoCandidates, nasnet_a, "nasnet_a")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(TasoCandidates, taso_resnext50, "taso_resnext50")->Unit(benchmark::kMillisecond);

/// Sorting the locations of a model into classes, neighbourhoods from scratch; `share` is how many
/// classes there are per location.
void LocationClasses(benchmark::State& bench, const char* name) {
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  const RewriteState start(model(name), rules, make_cost_model("roofline:t4"));
  double locations = 0;
  double classes = 0;
  for (auto _ : bench) {
    const RewriteState state(start.graph(), rules, make_cost_model("roofline:t4"));
    locations = classes = 0;
    for (int rule = 0; rule < rules->size(); ++rule) {
      classes += static_cast<double>(state.classes(rule).size());
      locations += state.location_count(rule);
    }
  }
  bench.counters["locations"] = locations;
  bench.counters["classes"] = classes;
  bench.counters["share"] = classes / locations;
}

void register_for_all_models() {
  for (const ModelKind& kind : all_models())
    benchmark::RegisterBenchmark(("LocationClasses/" + std::string(kind.name)).c_str(),
                                 LocationClasses, kind.name.data())
        ->Unit(benchmark::kMillisecond);
}
[[maybe_unused]] const bool registered = (register_for_all_models(), true);

}  // namespace
}  // namespace reverie::bench
