#pragma once

#include "core/cost/cost_model.h"

namespace reverie {

/// A convolution, a matrix product or a recurrence of them, which runs at another rate than everything else.
bool is_matrix_work(const OpSchema& op);

/// FLOPs, bytes and launches of one operator, without a time. All zero for a view.
Cost work_of(const OpSignature& signature);

}  // namespace reverie
