#pragma once

#include "core/exec/device/device.h"
#include "env/placement/graph/topology.h"

namespace reverie {

/// So many queues of a device as devices "stream0", "stream1" and so on of kind "stream", without
/// limits of memory. They share one memory, so that nothing is sent: a link takes what a wait for
/// another stream costs, whatever the bytes, and nobody is busy with it. That is measured here:
/// what a small kernel takes longer where two streams wait for each other after each of them than
/// where they do not; the median of several recordings. Not less than nothing.
Topology measured_stream_topology(device::Device& device, int streams);

}  // namespace reverie
