#include <algorithm>

#include "core/base/error.h"
#include "core/cost/measured.h"

namespace reverie {
namespace {

constexpr int kWarmUpRuns = 3;

EndToEnd summary(const ReadyGraph& graph, const std::vector<double>& samples) {
  const MedianInterval time = median_interval(samples);
  return {.median = Picoseconds::from_seconds(time.median),
          .low = Picoseconds::from_seconds(time.low),
          .high = Picoseconds::from_seconds(time.high),
          .repeats = time.samples,
          .fallbacks = graph.fallbacks()};
}

std::vector<std::unique_ptr<ReadyGraph>> warm_graphs(const std::vector<Graph>& graphs,
                                                     Machine& machine,
                                                     const WeightSource& weights) {
  std::vector<std::unique_ptr<ReadyGraph>> ready;
  for (const Graph& graph : graphs) ready.push_back(machine.ready(graph.sample(0), weights));
  for (int i = 0; i < kWarmUpRuns; ++i)
    for (const auto& graph : ready) graph->seconds_of_run();
  return ready;
}

}  // namespace

PairedTimer::PairedTimer(const Graph& original, const EndToEndOptions& options)
    : options_(options), original_(options.machine->ready(original.sample(0))) {
  for (int i = 0; i < kWarmUpRuns; ++i) original_->seconds_of_run();
  std::vector<double> samples;
  for (double total = 0; go_on(samples, total); total += samples.back())
    samples.push_back(original_->seconds_of_run());
  reference_ = median_interval(samples).median;
}

MedianInterval PairedTimer::ratio(const Graph& graph) {
  const std::unique_ptr<ReadyGraph> ready = options_.machine->ready(graph.sample(0));
  for (int i = 0; i < kWarmUpRuns; ++i) original_->seconds_of_run(), ready->seconds_of_run();
  std::vector<double> ratios;
  for (double total = 0; go_on(ratios, total);) {
    const double original = original_->seconds_of_run(), rewritten = ready->seconds_of_run();
    ratios.push_back(rewritten / original);
    total += original + rewritten;
  }
  return median_interval(ratios);
}

MedianInterval PairedTimer::seconds(const Graph& graph) {
  const MedianInterval found = ratio(graph);
  return {found.median * reference_, found.low * reference_, found.high * reference_,
          found.samples};
}

bool PairedTimer::go_on(const std::vector<double>& samples, double total) const {
  return static_cast<int>(samples.size()) < options_.repeats || total < options_.min_seconds;
}

Interleaved measure_interleaved(const std::vector<Graph>& graphs, const EndToEndOptions& options,
                                const WeightSource& weights) {
  if (graphs.empty()) throw InputError("there is no graph to measure");
  const auto ready = warm_graphs(graphs, *options.machine, weights);
  std::vector<std::vector<double>> samples(graphs.size()), ratios(graphs.size());
  double total = 0;
  for (int round = 0; round < options.repeats || total < options.min_seconds; ++round) {
    for (size_t i = 0; i < ready.size(); ++i) {
      samples[i].push_back(ready[i]->seconds_of_run());
      ratios[i].push_back(samples[i].back() / samples[0].back());
      total += samples[i].back();
    }
  }
  Interleaved result;
  for (size_t i = 0; i < ready.size(); ++i) {
    result.graphs.push_back(summary(*ready[i], samples[i]));
    result.ratio_to_first.push_back(median_interval(ratios[i]));
  }
  return result;
}

}  // namespace reverie
