#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "core/cost/cost_model.h"
#include "core/models/models.h"
#include "datasets/collect.h"
#include "env/rewrite/rewrite_environment.h"

namespace reverie::bench {
namespace {

std::unique_ptr<Environment> rewriting(const std::string& model) {
  ModelOptions options;
  options.light = true;
  std::vector<StartGraph> starts;
  starts.push_back({model, build_model(model, options)});
  return std::make_unique<RewriteEnvironment>(std::move(starts),
                                              std::make_shared<RuleSet>(RuleSet::builtin()),
                                              make_cost_model("roofline:t4"), RewriteEnvConfig{});
}

/// Episodes of the mixed agent, observed, encoded and written, on one worker. Items are steps.
void CollectToDisk(benchmark::State& state, const char* model) {
  const auto env = rewriting(model);
  CollectConfig config;
  config.episodes = 16;
  config.shard_episodes = 16;
  int64_t steps = 0, bytes = 0;
  for (auto _ : state) {
    state.PauseTiming();
    std::string directory =
        (std::filesystem::temp_directory_path() / "reverie-benchmark-XXXXXX").string();
    if (mkdtemp(directory.data()) == nullptr) return state.SkipWithError("no place to write");
    CollectRun run;
    run.directory = directory;
    state.ResumeTiming();
    const CollectResult result = collect(*env, *make_mixed_agent(config), config, run);
    steps += result.steps;
    bytes += result.bytes;
    state.PauseTiming();
    std::filesystem::remove_all(directory);
    state.ResumeTiming();
  }
  state.SetItemsProcessed(steps);
  state.counters["bytes_per_step"] =
      static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(steps, 1));
}
BENCHMARK_CAPTURE(CollectToDisk, squeezenet1_1, "squeezenet1_1")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(CollectToDisk, bert_base, "bert_base")
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace reverie::bench
