#pragma once

#include "core/cost/cost_model.h"

namespace reverie {

/// Renames data without touching it: Reshape, Flatten, Squeeze, Unsqueeze, Identity, Dropout.
bool is_view(const OpSchema& op);

/// A convolution or matrix product, which runs at another rate than everything else.
bool is_matrix_work(const OpSchema& op);

/// FLOPs, bytes and launches of one operator, without a time. All zero for a view.
Cost work_of(const OpSignature& signature);

}  // namespace reverie
