#include <benchmark/benchmark.h>

#include <filesystem>
#include <numeric>

#include "core/base/random.h"
#include "core/models/models.h"
#include "core/onnx/export.h"
#include "env/kind.h"
#include "env/vector_environment.h"

namespace reverie::bench {
namespace {

constexpr int kSlots = 64;

/// Any that the mask allows, each as likely; NO-OP where there is no other.
Action any_action(const ActionMask& mask, Rng& rng) {
  const auto all = std::accumulate(mask.counts.begin(), mask.counts.end(), uint64_t{0}) - 1;
  if (all == 0) return {mask.primary_actions() - 1, 0, 0};
  auto left = static_cast<int>(rng.below(all));
  int primary = 0;
  for (int here; left >= (here = mask.total(primary)); ++primary) left -= here;
  return mask.choice(primary, left);
}

/// Random episodes of all slots, looked at after each step, on two threads. Items are steps.
void VectorStep(benchmark::State& state, const char* kind, const char* input) {
  EnvironmentConfig config;
  config.kind = kind;
  if (*input != '\0') config.inputs = {input};
  VectorEnvironment envs(*make_environment(config).environment, kSlots, 2);
  std::vector<int64_t> slots(kSlots);
  std::iota(slots.begin(), slots.end(), 0);
  std::vector<Action> actions(kSlots);
  Rng rng(1);
  uint64_t episode = 0;
  for (const int64_t slot : slots) envs.reset_slot(static_cast<int>(slot), episode++);
  std::vector<Observation> observations = envs.observe(slots);
  for (auto _ : state) {
    for (size_t i = 0; i < slots.size(); ++i) actions[i] = any_action(observations[i].mask, rng);
    envs.step(actions);
    for (int slot = 0; slot < kSlots; ++slot)
      if (envs.over(slot)) envs.reset_slot(slot, episode++);
    observations = envs.observe(slots);
  }
  state.SetItemsProcessed(state.iterations() * kSlots);
}

void RewriteVectorStep(benchmark::State& state) {
  const auto file = std::filesystem::temp_directory_path() / "reverie-bench-squeezenet1_1.onnx";
  ModelOptions options;
  options.light = true;
  export_onnx(build_model("squeezenet1_1", options), ModelInfo(), file);
  VectorStep(state, "rewrite", file.c_str());
  std::filesystem::remove(file);
}

BENCHMARK_CAPTURE(VectorStep, knapsack, "knapsack", "")->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK_CAPTURE(VectorStep, placement, "placement", "generate:layers:200:1")
    ->MeasureProcessCPUTime()
    ->UseRealTime();
BENCHMARK(RewriteVectorStep)->MeasureProcessCPUTime()->UseRealTime();

}  // namespace
}  // namespace reverie::bench
