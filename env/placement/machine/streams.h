#pragma once

#include <memory>

#include "core/exec/device/device.h"
#include "env/placement/machine/on_devices.h"

namespace reverie {

inline constexpr int kFewestStreams = 2, kMostStreams = 16;

/// So many streams of one device as devices, joined as measured_stream_topology (stream_topology.h)
/// says. Models are those of model_on_streams.
std::shared_ptr<OwnDevices> streams_of(std::shared_ptr<device::Device> device, int streams);

}  // namespace reverie
