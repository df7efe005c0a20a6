#pragma once

#include <algorithm>
#include <cstdint>

#include "core/exec/cuda/module/context.h"

/// Grids; for sources of the CUDA compiler loops over them, and what a block knows together.
namespace reverie::device::cuda {

inline constexpr int kThreads = 256;

/// Blocks of a grid whose threads go through `count` with strides of the grid.
inline unsigned blocks_for(const Context& context, int64_t count, int64_t each = kThreads) {
  const int64_t wanted = (count + each - 1) / each;
  return static_cast<unsigned>(std::min(wanted, int64_t{context.multiprocessors} * 32));
}

#ifdef __CUDACC__

__device__ inline int64_t first_of_thread() {
  return int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline int64_t grid_step() { return int64_t{gridDim.x} * blockDim.x; }

/// combine() over the values of all threads of a block, which are a multiple of 32, for all of
/// them.
template <typename Combine>
__device__ float over_block(float value, float nothing, Combine combine) {
  __shared__ float of_warps[32];
  for (int lanes = 16; lanes > 0; lanes /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, lanes));
  const unsigned lane = threadIdx.x % 32, warps = blockDim.x / 32;
  __syncthreads();  // the last call's values were read
  if (lane == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = lane < warps ? of_warps[lane] : nothing;
  for (int lanes = 16; lanes > 0; lanes /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, lanes));
  return value;
}

#endif  // __CUDACC__

}  // namespace reverie::device::cuda
