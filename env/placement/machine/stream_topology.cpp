#include "env/placement/machine/stream_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/statistics.h"
#include "core/exec/device/device_memory.h"
#include "env/placement/machine/stream_recording.h"

namespace reverie {
namespace {

using device::DeviceMemory;

/// Two streams with small kernels, each in memory of its own.
class Pair {
 public:
  explicit Pair(device::Device& device) : device_(device) {
    REVERIE_CHECK(kernel_ != nullptr, "a device that cannot fill memory");
    launch(false);  // a device may have to load the kernel, which it cannot in a recording
    device.synchronize();
    device.use_queue(0);
  }

  /// Of a kernel, where each waits for the one before it in the other stream, or none does.
  double seconds(bool waits) {
    const auto recording = record_streams(device_, 2, [&] { launch(waits); });
    std::vector<double> samples;
    for (int round = 0; round < kRounds; ++round)
      samples.push_back(seconds_of(device_, *recording) / kKernels);
    return median(samples);
  }

 private:
  static constexpr int kRounds = 21, kKernels = 100;
  static constexpr int64_t kElements = 64;

  void launch(bool waits) {
    std::array<std::unique_ptr<device::Mark>, 2> before;
    for (int i = 0; i < kKernels; ++i) {
      std::array<std::unique_ptr<device::Mark>, 2> now;
      for (size_t stream = 0; stream < 2; ++stream) {
        device_.use_queue(static_cast<int>(stream));
        if (const auto& other = before[1 - stream]; other != nullptr) device_.wait_for(*other);
        kernel_->launch(std::vector{memory_[stream].get()}, nullptr);
        if (waits) now[stream] = device_.mark();
      }
      before = std::move(now);
    }
  }

  device::Device& device_;
  std::unique_ptr<device::Kernel> kernel_ = device_.prepare(device::Fill{.elements = kElements});
  std::array<DeviceMemory, 2> memory_ = {DeviceMemory(device_, kElements* int64_t{sizeof(float)}),
                                         DeviceMemory(device_, kElements* int64_t{sizeof(float)})};
};

}  // namespace

Topology measured_stream_topology(device::Device& device, int streams) {
  device.need_queues(streams);
  Pair pair(device);
  const double wait = std::max(0.0, pair.seconds(true) - pair.seconds(false));
  Topology topology = ideal_devices(streams, "stream");
  topology.name = fmt::format("streams:{}", streams);
  topology.send_engines = topology.receive_engines = false;
  for (Link& link : topology.links) link.latency = Picoseconds::from_seconds(wait);
  return topology;
}

}  // namespace reverie
