#pragma once

namespace reverie::bench {

/// FLOP/s of the fastest fp32 matrix product here, BLAS's or oneDNN's, over a few sizes, on as many
/// threads as they take. Measured at the first call (about a second), then kept.
double fastest_matrix_product();

}  // namespace reverie::bench
