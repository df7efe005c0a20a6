#include "env/placement/machine/stream_recording.h"

#include <algorithm>

namespace reverie {
namespace {

/// What comes next in a queue waits for what is in another.
void wait(device::Device& device, int queue, int other) {
  device.use_queue(other);
  const std::unique_ptr<device::Mark> mark = device.mark();
  device.use_queue(queue);
  device.wait_for(*mark);
}

}  // namespace

std::unique_ptr<device::Recording> record_streams(device::Device& device, int streams,
                                                  const std::function<void()>& launches) {
  return device.record([&] {
    for (int stream = 1; stream < streams; ++stream) wait(device, stream, 0);
    launches();
    for (int stream = 1; stream < streams; ++stream) wait(device, 0, stream);
    device.use_queue(0);
  });
}

double seconds_of(device::Device& device, device::Recording& recording) {
  recording.launch();
  return std::max(device.seconds([&] { recording.launch(); }), 1e-9);
}

}  // namespace reverie
