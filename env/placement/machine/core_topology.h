#pragma once

#include "env/placement/graph/topology.h"
#include "env/placement/machine/core_threads.h"

namespace reverie {

/// Devices "core0", "core1" and so on of kind "core", without limits of memory, joined by links
/// that are measured here: one thread writes a buffer, says so, and the other copies it. A link's
/// latency is the median of what 64 bytes take from then on, its bandwidth follows from the median
/// of 1 MiB. A core receives one tensor at a time, and sends any number.
///
/// What differs from cores: the simulator lets a device run nodes while it receives tensors, and
/// transfers begin when their tensor is there. A core of model_on_cores does the copying itself,
/// when the reader's turn has come.
Topology measured_core_topology(CoreThreads& threads);

}  // namespace reverie
