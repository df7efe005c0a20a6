#include "core/exec/cuda/module/kernels.h"
#include "core/exec/cuda/module/launch.h"
#include "core/exec/device/elements.h"

namespace reverie::device::cuda {
namespace {

__global__ void pool(PoolingWork work, const std::byte* source, std::byte* target,
                     int64_t elements) {
  for (int64_t i = first_of_thread(); i < elements; i += grid_step())
    pool_element(work, source, target, i);
}

}  // namespace

KernelPtr prepare_any_pooling(const ContextPtr& context, const Pooling& call) {
  const PoolingWork work = work_of(call);
  const int64_t elements = work.planes * work.out[0] * work.out[1] * work.out[2];
  return make_kernel([=](Memory memory, std::byte*) {
    pool<<<blocks_for(*context, elements), kThreads, 0, context->stream()>>>(work, memory[0],
                                                                             memory[1], elements);
    check(cudaGetLastError(), "launch of Pooling");
  });
}

}  // namespace reverie::device::cuda
