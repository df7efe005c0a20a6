#pragma once

#include <functional>
#include <memory>

#include "core/exec/device/device.h"

namespace reverie {

/// Records what `launches` puts in the first queues of a device, of which number 0 is in use: all
/// begin together, and the recording ends when the last of them ends.
std::unique_ptr<device::Recording> record_streams(device::Device& device, int streams,
                                                  const std::function<void()>& launches);

/// Of a run of a recording, right behind another one: while that runs the host queues the one that
/// is timed. Above 0.
double seconds_of(device::Device& device, device::Recording& recording);

}  // namespace reverie
