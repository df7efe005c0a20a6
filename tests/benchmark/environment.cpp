#include <benchmark/benchmark.h>

#include "core/base/random.h"
#include "core/models/models.h"
#include "env/rewrite/measure_graphs.h"
#include "env/rewrite/rewrite_environment.h"
#include "env/rewrite/search/search.h"
#include "tests/support/random_actions.h"

namespace reverie::bench {
namespace {

Graph model(const char* name) {
  ModelOptions options;
  options.light = true;
  return build_model(name, options);
}

std::unique_ptr<RewriteEnvironment> environment(const char* name,
                                                const RewriteEnvConfig& config = {},
                                                MeasureGraph measure = nullptr) {
  std::vector<StartGraph> starts;
  starts.push_back({name, model(name)});
  return std::make_unique<RewriteEnvironment>(
      std::move(starts), std::make_shared<const RuleSet>(RuleSet::builtin()),
      make_cost_model("roofline:t4"), config, std::move(measure));
}

/// Random episodes, resets included, with a look at what each step led to where `observe`.
void play(benchmark::State& state, RewriteEnvironment& env, bool observe) {
  Rng rng(1);
  uint64_t episode = 0;
  env.reset(episode);
  for (auto _ : state) {
    const StepResult result = env.step(testing::random_action(env.mask(), rng));
    if (result.terminated || result.truncated) env.reset(++episode);
    if (observe) benchmark::DoNotOptimize(env.observe());
  }
  state.SetItemsProcessed(state.iterations());
}

/// Nothing is observed but the mask.
void EnvironmentStep(benchmark::State& state, const char* name) {
  play(state, *environment(name), false);
}
BENCHMARK_CAPTURE(EnvironmentStep, squeezenet1_1, "squeezenet1_1");
BENCHMARK_CAPTURE(EnvironmentStep, bert_base, "bert_base");

void EnvironmentStepAndObserve(benchmark::State& state, const char* name) {
  play(state, *environment(name), true);
}
BENCHMARK_CAPTURE(EnvironmentStepAndObserve, squeezenet1_1, "squeezenet1_1");
BENCHMARK_CAPTURE(EnvironmentStepAndObserve, bert_base, "bert_base");

/// A step whose reward is the graph's measured time, as env.measure sets it by default.
void MeasuredStep(benchmark::State& state, const char* name) {
  RewriteEnvConfig config;
  config.reward = RewardKind::kMeasuredEveryK;
  config.measure_every = 1;
  play(state, *environment(name, config, measure_graphs({}, "cpu")), false);
}
BENCHMARK_CAPTURE(MeasuredStep, squeezenet1_1, "squeezenet1_1")
    ->Iterations(20)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(MeasuredStep, bert_base, "bert_base")
    ->Iterations(10)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

/// Candidates of TASO's search with a budget of 100 expansions.
void TasoCandidates(benchmark::State& state, const char* name) {
  const auto rules = std::make_shared<const RuleSet>(RuleSet::builtin());
  const RewriteState start(model(name), rules, make_cost_model("roofline:t4"));
  int64_t candidates = 0;
  for (auto _ : state)
    candidates += search_rewrites(start, {}, search::Taso{.finish = false}).candidates;
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
