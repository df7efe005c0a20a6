#include "core/exec/cuda/module/axes.h"
#include "core/exec/cuda/module/kernels.h"
#include "core/exec/cuda/module/launch.h"
#include "core/exec/device/elements.h"

namespace reverie::device::cuda {
namespace {

/// A block for every result.
__global__ void reduce_by_blocks(ReductionWork work, const std::byte* source, std::byte* target) {
  const auto combine = [&](float a, float b) { return reduced(work.kind, a, b); };
  for (int64_t i = blockIdx.x; i < work.results; i += gridDim.x) {
    const float share = reduced_share(work, source, i, threadIdx.x, blockDim.x);
    const float result = over_block(share, nothing_reduced(work.kind), combine);
    if (threadIdx.x == 0) put_reduced(work, target, i, result);
  }
}

/// blockDim.x neighbouring results for a block, and blockDim.y threads for each.
__global__ void reduce_by_columns(ReductionWork work, const std::byte* source, std::byte* target) {
  __shared__ float shares[kThreads];
  const unsigned place = threadIdx.y * blockDim.x + threadIdx.x;
  for (int64_t first = int64_t{blockIdx.x} * blockDim.x; first < work.results;
       first += int64_t{gridDim.x} * blockDim.x) {
    const int64_t i = first + threadIdx.x;
    if (i < work.results) shares[place] = reduced_share(work, source, i, threadIdx.y, blockDim.y);
    __syncthreads();
    if (threadIdx.y == 0 && i < work.results) {
      float result = shares[threadIdx.x];
      for (unsigned y = 1; y < blockDim.y; ++y)
        result = reduced(work.kind, result, shares[y * blockDim.x + threadIdx.x]);
      put_reduced(work, target, i, result);
    }
    __syncthreads();
  }
}

/// Whether neighbouring results, rather than neighbouring elements of one result, are neighbours in
/// memory, or there is too little in a result for a block.
bool wants_columns(const ReductionWork& work) {
  const bool has_columns = work.kept_axes > 0 && work.kept_strides[work.kept_axes - 1] == 1;
  return work.count < 32 || (has_columns && work.results >= 32);
}

unsigned threads_of_block(int64_t count) {
  unsigned threads = 32;
  while (threads < 512 && threads * 4 < count) threads *= 2;
  return threads;
}

dim3 shape_of_columns(int64_t count) {
  unsigned shares = 1;
  while (shares < 8 && shares * 16 < count) shares *= 2;
  return {kThreads / shares, shares, 1};
}

}  // namespace

KernelPtr prepare(const ContextPtr& context, const Reduction& call) {
  ReductionWork work = work_of(call);
  if (work.results == 0) return nothing_to_do();
  if (!is_floating_dtype(work.dtype)) return nullptr;
  if (work.count > 0) {
    work.kept_axes = merge_axes(work.kept_axes, work.kept, {work.kept_strides});
    work.reduced_axes = merge_axes(work.reduced_axes, work.reduced, {work.reduced_strides});
  }
  return make_kernel([=](Memory memory, std::byte*) {
    if (wants_columns(work)) {
      const dim3 shape = shape_of_columns(work.count);
      const unsigned blocks = blocks_for(*context, work.results, shape.x);
      reduce_by_columns<<<blocks, shape, 0, context->stream()>>>(work, memory[0], memory[1]);
    } else {
      reduce_by_blocks<<<blocks_for(*context, work.results, 1), threads_of_block(work.count), 0,
                         context->stream()>>>(work, memory[0], memory[1]);
    }
    check(cudaGetLastError(), "launch of Reduction");
  });
}

}  // namespace reverie::device::cuda
