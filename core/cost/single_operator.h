#pragma once

#include "core/cost/cost_model.h"

namespace reverie {

/// A graph of the operator alone. Floating constants hold 2, which is also a usual exponent and no
/// variance to stumble over; others hold 0, a valid index.
Graph single_operator(const OpSignature& signature);

}  // namespace reverie
