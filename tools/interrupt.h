#pragma once

#include "core/base/stop.h"

namespace reverie {

/// From the first call on, an interrupt (SIGINT, SIGTERM) requests a stop of this token; a second
/// one ends the program at once.
StopToken stop_on_interrupt();

/// Whether one came since then.
bool was_interrupted();

}  // namespace reverie
