#pragma once

#include "env/evaluation.h"

namespace reverie {

// Both play on an environment that has not begun; they reset it.

/// Takes the choice that gains most until none gains: by `gains` where the environment looks ahead,
/// else by the reward of the step, tried on a fork.
MethodResult play_greedily(Environment& environment, const MethodLimits& limits);

/// The best of random episodes, as many as begin within the seconds; one at least. A step draws a
/// primary action that has choices, then one of them; NO-OP where nothing else is left.
MethodResult play_at_random(Environment& environment, const MethodLimits& limits);

}  // namespace reverie
