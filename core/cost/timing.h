#pragma once

#include <functional>

#include "core/base/statistics.h"

namespace reverie {

struct TimingOptions {
  double warm_up_seconds = 0.01;
  double target_spread = 0.02;  ///< stop once the interval is this narrow (+-2%)
  int min_samples = 9;
  double max_seconds = 0.3;  ///< or once this has passed, but not before 5 samples
};

/// Seconds of one call of `run`: warm-up, then samples until one of the limits. A short run is
/// called several times a sample, so that the clock's resolution does not show.
MedianInterval time_repeatedly(const std::function<void()>& run, const TimingOptions& options = {});

/// The same of what times itself: `sample` returns the seconds of one run and takes `runs` of them.
MedianInterval time_samples(const std::function<double()>& sample, double runs,
                            const TimingOptions& options = {});

/// Seconds of one call of `run`.
double time_once(const std::function<void()>& run);

}  // namespace reverie
