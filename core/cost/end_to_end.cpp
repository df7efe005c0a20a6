#include <algorithm>

#include "core/base/error.h"
#include "core/cost/measured.h"
#include "core/exec/cpu/cpu_executor.h"

namespace reverie {
namespace {

constexpr int kWarmUpRuns = 3;

EndToEnd summary(const CpuPlan& plan, const std::vector<double>& samples) {
  const MedianInterval time = median_interval(samples);
  EndToEnd result{.median = Picoseconds::from_seconds(time.median),
                  .low = Picoseconds::from_seconds(time.low),
                  .high = Picoseconds::from_seconds(time.high),
                  .repeats = time.samples,
                  .fallbacks = 0};
  for (const auto& [op, count] : plan.fallbacks()) result.fallbacks += count;
  return result;
}

std::vector<CpuPlan> warm_plans(const std::vector<Graph>& graphs, int threads,
                                const WeightSource& weights) {
  std::vector<CpuPlan> plans;
  for (const Graph& graph : graphs) {
    plans.emplace_back(graph, weights, CpuOptions{.threads = threads});
    Rng rng(1);
    plans.back().draw_inputs(rng);
  }
  for (int i = 0; i < kWarmUpRuns; ++i)
    for (CpuPlan& plan : plans) plan.execute();
  return plans;
}

}  // namespace

Interleaved measure_interleaved(const std::vector<Graph>& graphs, const EndToEndOptions& options,
                                const WeightSource& weights) {
  if (graphs.empty()) throw InputError("there is no graph to measure");
  std::vector<CpuPlan> plans = warm_plans(graphs, options.threads, weights);
  std::vector<std::vector<double>> samples(graphs.size()), ratios(graphs.size());
  double total = 0;
  for (int round = 0; round < options.repeats || total < options.min_seconds; ++round) {
    for (size_t i = 0; i < plans.size(); ++i) {
      samples[i].push_back(std::max(time_once([&] { plans[i].execute(); }), 1e-9));
      ratios[i].push_back(samples[i].back() / samples[0].back());
      total += samples[i].back();
    }
  }
  Interleaved result;
  for (size_t i = 0; i < plans.size(); ++i) {
    result.graphs.push_back(summary(plans[i], samples[i]));
    result.ratio_to_first.push_back(median_interval(ratios[i]));
  }
  return result;
}

EndToEnd measure_end_to_end(const Graph& graph, const EndToEndOptions& options,
                            const WeightSource& weights) {
  return measure_interleaved({graph}, options, weights).graphs[0];
}

}  // namespace reverie
