#pragma once

#include <cstdint>
#include <functional>

#include "core/base/config.h"
#include "core/base/parallel.h"
#include "core/base/stop.h"

namespace reverie {

/// How far a search has come.
struct SearchProgress {
  double seconds = 0;
  int64_t expansions = 0;  ///< states whose moves were looked at
  int64_t candidates = 0;  ///< successors seen, before duplicates are removed
  double best = 0;         ///< cost, in the unit of the problem; for rewriting picoseconds
};

/// What every search is given; the rest belongs to the algorithm (core/search/algorithms.h).
struct SearchOptions {
  /// What a search does at most, in its own unit; see each algorithm. Greedy needs none.
  int64_t budget = 100;
  /// Seconds after which the best so far is returned; 0: no limit.
  double time_limit = 0;
  uint64_t seed = 0;
  /// Threads that work on a search. The result, its path and all counters are the same for any
  /// number.
  int threads = 1;
  StopToken stop = {};
  /// Called about once per expansion, by the thread that called the search.
  std::function<void(const SearchProgress&)> on_progress = {};
  /// Seconds that have passed since any fixed moment; the steady clock where empty. Called by all
  /// threads of the search.
  std::function<double()> clock = {};

  template <class V>
  void fields(V& v) {
    v.field("budget", budget, "What a search does at most, in its own unit", at_least(0));
    v.field("time_limit", time_limit, "Seconds after which the best so far is returned, 0: none",
            at_least(0));
    v.field("seed", seed, "Seed of all that is drawn");
    v.field("threads", threads, "Threads that search; the result is the same for any number",
            between(1, kMostThreads));
  }
};

}  // namespace reverie
