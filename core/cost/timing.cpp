#include "core/cost/timing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/base/stopwatch.h"

namespace reverie {
namespace {

constexpr double kSampleSeconds = 100e-6;
constexpr int kFewestSamples = 5;

double time_calls(const std::function<void()>& run, int64_t calls) {
  const Stopwatch watch;
  for (int64_t i = 0; i < calls; ++i) run();
  return watch.seconds() / static_cast<double>(calls);
}

/// Runs until the time is over; returns the fastest call.
double warm_up(const std::function<void()>& run, double seconds) {
  double fastest = time_calls(run, 1);
  for (double total = fastest; total < seconds;) {
    const double once = time_calls(run, 1);
    fastest = std::min(fastest, once);
    total += std::max(once, 1e-9);
  }
  return fastest;
}

MedianInterval sample_until(const std::function<double()>& sample, double runs,
                            const TimingOptions& options) {
  std::vector<double> samples;
  double total = 0;
  MedianInterval interval;
  for (;;) {
    samples.push_back(sample());
    total += samples.back() * runs;
    const auto count = static_cast<int>(samples.size());
    if (count < kFewestSamples) continue;
    const bool out_of_time = total >= options.max_seconds;
    if (!out_of_time && (count < options.min_samples || count % 4 != 0)) continue;
    interval = median_interval(samples);
    if (out_of_time || interval.spread() <= options.target_spread) return interval;
  }
}

}  // namespace

double time_once(const std::function<void()>& run) { return time_calls(run, 1); }

MedianInterval time_repeatedly(const std::function<void()>& run, const TimingOptions& options) {
  const double fastest = warm_up(run, options.warm_up_seconds);
  const auto calls = static_cast<int64_t>(std::ceil(kSampleSeconds / std::max(fastest, 1e-9)));
  return sample_until([&] { return time_calls(run, calls); }, static_cast<double>(calls), options);
}

MedianInterval time_samples(const std::function<double()>& sample, double runs,
                            const TimingOptions& options) {
  for (double total = 0; total < options.warm_up_seconds;) total += std::max(sample(), 1e-9) * runs;
  return sample_until(sample, runs, options);
}

}  // namespace reverie
