#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/base/units.h"

namespace reverie {

/// The median of samples with its 95% interval by order statistics: of n sorted samples those at
/// ranks n/2 -+ 0.98 sqrt(n) (Le Boudec, "Performance Evaluation of Computer and Communication
/// Systems", 2010, theorem 2.1); no distribution is assumed. Below 6 samples the interval is their
/// whole range and holds the median with less than 95%.
struct MedianInterval {
  double median = 0;
  double low = 0;
  double high = 0;
  int samples = 0;

  /// Half the width of the interval as a share of the median.
  double spread() const { return median != 0 ? (high - low) / 2 / median : 0; }
};

MedianInterval median_interval(std::span<const double> samples);

struct TimingOptions {
  double warm_up_seconds = 0.01;
  double target_spread = 0.02;  ///< stop once the interval is this narrow (+-2%)
  int min_samples = 9;
  double max_seconds = 0.3;     ///< or once this has passed, but not before 5 samples
};

/// Seconds of one call of `run`: warm-up, then samples until one of the limits. A short run is
/// called several times a sample, so that the clock's resolution does not show.
MedianInterval time_repeatedly(const std::function<void()>& run, const TimingOptions& options = {});

/// Seconds of one call of `run`.
double time_once(const std::function<void()>& run);

}  // namespace reverie
