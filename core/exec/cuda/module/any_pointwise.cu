#include "core/exec/cuda/module/kernels.h"
#include "core/exec/cuda/module/launch.h"
#include "core/exec/device/elements.h"

namespace reverie::device::cuda {
namespace {

/// Goes through the instructions for each element: for what NVRTC compiles no kernel for.
__global__ void any_pointwise(PointwiseWork work, PointwisePointers memory) {
  for (int64_t i = first_of_thread(); i < work.elements; i += grid_step())
    compute_pointwise(work, memory, i);
}

}  // namespace

KernelPtr prepare_any_pointwise(const ContextPtr& context, const Pointwise& call) {
  const PointwiseWork work = work_of(call);
  return make_kernel([=](Memory memory, std::byte*) {
    PointwisePointers pointers{};
    for (int i = 0; i < work.operands; ++i) pointers.reads[i] = memory[static_cast<size_t>(i)];
    pointers.write = memory.back();
    any_pointwise<<<blocks_for(*context, work.elements), kThreads, 0, context->stream()>>>(
        work, pointers);
    check(cudaGetLastError(), "launch of Pointwise");
  });
}

}  // namespace reverie::device::cuda
