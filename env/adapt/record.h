#pragma once

#include <cstdint>
#include <functional>

#include "env/adapt/table.h"

namespace reverie {

/// The decisions that `state` allows and the source offers: going on first, then changes by kind,
/// block and rate.
Decisions choices_of(const JobSource& source, const JobState& state);

/// Sequences of decisions that begin at `state` and go on to the last decision, should no budget
/// end before.
int64_t count_sequences(const JobSource& source, const JobState& state);

/// Trains all sequences of decisions of the source's jobs with one seed, and adds them to `table`.
/// What sequences share is trained once. `after` is called after each, with their number; what it
/// throws ends the call.
void record_sequences(const JobSource& source, uint64_t seed, AdaptTable& table,
                      const std::function<void(int64_t)>& after = {});

}  // namespace reverie
