#include "env/placement/machine/core_topology.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/statistics.h"
#include "core/base/stopwatch.h"

namespace reverie {
namespace {

/// Seconds from when the sender says that the bytes are there to when they are copied.
double hand_over(CoreThreads& threads, int from, int to, size_t bytes) {
  constexpr int kRounds = 41, kUncounted = 10;
  std::vector<char> source(bytes), copy(bytes);
  std::vector<double> samples;
  std::atomic<int> sent = 0;
  Stopwatch watch;
  threads.run([&](int core) {
    for (int round = 1; round <= kRounds; ++round) {
      threads.meet();
      if (core == from) {
        std::ranges::fill(source, static_cast<char>(round));
        watch = {};
        sent.store(round, std::memory_order_release);
      } else if (core == to) {
        threads.wait_until([&] { return sent.load(std::memory_order_acquire) == round; });
        std::ranges::copy(source, copy.begin());
        const double seconds = watch.seconds();
        REVERIE_CHECK_EQ(copy.back(), static_cast<char>(round));
        if (round > kUncounted) samples.push_back(seconds);
      }
    }
  });
  return median(samples);
}

Link measured_link(CoreThreads& threads, int from, int to) {
  constexpr size_t kFew = 64, kMany = 1 << 20;
  const double latency = hand_over(threads, from, to, kFew);
  const double whole = hand_over(threads, from, to, kMany);
  return {.latency = Picoseconds::from_seconds(latency),
          .bytes_per_second = static_cast<double>(kMany) / std::max(whole - latency, 1e-9)};
}

}  // namespace

Topology measured_core_topology(CoreThreads& threads) {
  Topology topology = ideal_devices(threads.size(), "core");
  topology.name = fmt::format("cores:{}", threads.size());
  topology.receive_engines = true;
  for (int from = 0; from < topology.size(); ++from)
    for (int to = 0; to < topology.size(); ++to)
      if (from != to)
        topology.links[static_cast<size_t>(from * topology.size() + to)] =
            measured_link(threads, from, to);
  return topology;
}

}  // namespace reverie
