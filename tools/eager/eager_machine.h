#pragma once

#include "core/cost/machine.h"

namespace reverie {

/// LibTorch's eager mode (tools/eager/eager_executor.h) as machines: what graphs take in PyTorch, for
/// comparison. "eager" and "eager:<threads>" run on the processor with so many of LibTorch's threads (one).
/// "eager:cuda" runs on LibTorch's first GPU, and what the host does for it counts, as it does there: a run
/// lasts until the device is done. It turns LibTorch's TF32 off, as the machine "cuda" computes. InputError
/// where LibTorch has no GPU.
MachineKind eager_machines();

}  // namespace reverie
