#pragma once

#include <functional>

#include "core/base/stop.h"

namespace reverie::python {

/// Runs `work` on a thread of its own, without the interpreter lock, which the caller holds. Ctrl-C
/// (KeyboardInterrupt) requests a stop, after which the work should soon end with what it has;
/// what another handler of a signal raises, or a second Ctrl-C, is thrown once it has. Returns
/// whether it was interrupted.
bool run_interruptibly(const StopToken& stop, const std::function<void()>& work);

}  // namespace reverie::python
