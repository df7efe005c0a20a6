#include "core/exec/cuda/module/kernels.h"
#include "core/exec/cuda/module/launch.h"
#include "core/exec/device/elements.h"

namespace reverie::device::cuda {
namespace {

__device__ void report(IndexError* error, int64_t index, int64_t extent) {
  if (atomicCAS(&error->found, 0ull, 1ull) != 0) return;
  error->index = index;
  error->extent = extent;
}

/// As gather_byte, for units of several bytes: call.inner_bytes counts units.
template <typename Unit>
__device__ bool gather_unit(const Gather& call, const std::byte* table, const std::byte* indices,
                            std::byte* result, int64_t index) {
  if constexpr (sizeof(Unit) == 1) {
    return gather_byte(call, table, indices, result, index);
  } else {
    const int64_t place = index / call.inner_bytes;
    int64_t row = integer_at(indices, call.indices, place % call.count);
    if (row < 0) row += call.extent;
    if (row < 0 || row >= call.extent) return false;
    const int64_t from = (place / call.count * call.extent + row) * call.inner_bytes;
    reinterpret_cast<Unit*>(result)[index] =
        reinterpret_cast<const Unit*>(table)[from + index % call.inner_bytes];
    return true;
  }
}

template <typename Unit>
__global__ void gather(Gather call, const std::byte* table, const std::byte* indices,
                       std::byte* result, IndexError* error) {
  const int64_t units = call.outer * call.count * call.inner_bytes;
  for (int64_t i = first_of_thread(); i < units; i += grid_step())
    if (!gather_unit<Unit>(call, table, indices, result, i))
      report(error, integer_at(indices, call.indices, i / call.inner_bytes % call.count),
             call.extent);
}

template <typename Unit>
bool fits(const Gather& call, const std::byte* table, const std::byte* result) {
  return (reinterpret_cast<uintptr_t>(table) | reinterpret_cast<uintptr_t>(result) |
          static_cast<uintptr_t>(call.inner_bytes)) %
             sizeof(Unit) ==
         0;
}

template <typename Unit>
void launch(const Context& context, Gather call, Memory memory) {
  call.inner_bytes /= static_cast<int64_t>(sizeof(Unit));
  const unsigned blocks = blocks_for(context, call.outer * call.count * call.inner_bytes);
  gather<Unit><<<blocks, kThreads, 0, context.stream()>>>(call, memory[0], memory[1], memory[2],
                                                          context.index_error.get());
  check(cudaGetLastError(), "launch of Gather");
}

}  // namespace

KernelPtr prepare(const ContextPtr& context, const Gather& call) {
  if (call.outer * call.count * call.inner_bytes == 0) return nothing_to_do();
  if (call.indices != DType::kInt32 && call.indices != DType::kInt64) return nullptr;
  context->gathers = true;
  return make_kernel([=](Memory memory, std::byte*) {
    if (fits<uint4>(call, memory[0], memory[2])) return launch<uint4>(*context, call, memory);
    if (fits<uint32_t>(call, memory[0], memory[2])) return launch<uint32_t>(*context, call, memory);
    if (fits<uint16_t>(call, memory[0], memory[2])) return launch<uint16_t>(*context, call, memory);
    launch<uint8_t>(*context, call, memory);
  });
}

}  // namespace reverie::device::cuda
