#pragma once

#include "core/cost/cost_model.h"

namespace reverie {

/// A convolution, a matrix product or a recurrence of them, which runs at another rate than
/// everything else.
bool is_matrix_work(const OpSchema& op);

/// FLOPs, bytes and launches of one operator, without a time. All zero for a view.
Cost work_of(const OpSignature& signature);

/// The operator as a processor without kernels for 16-bit floats runs it: runtimes convert to
/// float32, and take out again what converts there and back. Other operators stay as they are.
OpSignature in_single_precision(OpSignature signature);

}  // namespace reverie
