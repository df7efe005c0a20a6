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

CpuPlan ready_plan(const Graph& graph, int threads, const WeightSource& weights) {
  CpuPlan plan(graph, weights, CpuOptions{.threads = threads});
  Rng rng(1);
  plan.draw_inputs(rng);
  return plan;
}

std::vector<CpuPlan> warm_plans(const std::vector<Graph>& graphs, int threads,
                                const WeightSource& weights) {
  std::vector<CpuPlan> plans;
  for (const Graph& graph : graphs) plans.push_back(ready_plan(graph, threads, weights));
  for (int i = 0; i < kWarmUpRuns; ++i)
    for (CpuPlan& plan : plans) plan.execute();
  return plans;
}

double seconds_of_run(CpuPlan& plan) {
  return std::max(time_once([&] { plan.execute(); }), 1e-9);
}

class PairedTimer {
 public:
  PairedTimer(const Graph& original, const EndToEndOptions& options)
      : options_(options), original_(ready_plan(original, options.threads, materialized)) {
    for (int i = 0; i < kWarmUpRuns; ++i) original_.execute();
    std::vector<double> samples;
    for (double total = 0; go_on(samples, total); total += samples.back())
      samples.push_back(seconds_of_run(original_));
    reference_ = median_interval(samples).median;
  }

  MedianInterval time(const Graph& graph) {
    CpuPlan plan = ready_plan(graph, options_.threads, materialized);
    for (int i = 0; i < kWarmUpRuns; ++i) original_.execute(), plan.execute();
    std::vector<double> ratios;
    for (double total = 0; go_on(ratios, total);) {
      const double original = seconds_of_run(original_), rewritten = seconds_of_run(plan);
      ratios.push_back(rewritten / original);
      total += original + rewritten;
    }
    const MedianInterval ratio = median_interval(ratios);
    return {ratio.median * reference_, ratio.low * reference_, ratio.high * reference_,
            ratio.samples};
  }

 private:
  bool go_on(const std::vector<double>& samples, double total) const {
    return static_cast<int>(samples.size()) < options_.repeats || total < options_.min_seconds;
  }

  EndToEndOptions options_;
  CpuPlan original_;
  double reference_ = 0;  // seconds
};

}  // namespace

std::function<MedianInterval(const Graph&)> make_paired_timer(const Graph& original,
                                                              const EndToEndOptions& options) {
  const auto timer = std::make_shared<PairedTimer>(original, options);
  return [timer](const Graph& graph) { return timer->time(graph); };
}

Interleaved measure_interleaved(const std::vector<Graph>& graphs, const EndToEndOptions& options,
                                const WeightSource& weights) {
  if (graphs.empty()) throw InputError("there is no graph to measure");
  std::vector<CpuPlan> plans = warm_plans(graphs, options.threads, weights);
  std::vector<std::vector<double>> samples(graphs.size()), ratios(graphs.size());
  double total = 0;
  for (int round = 0; round < options.repeats || total < options.min_seconds; ++round) {
    for (size_t i = 0; i < plans.size(); ++i) {
      samples[i].push_back(seconds_of_run(plans[i]));
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
