#include <cstring>

#include "core/exec/cuda/module/kernels.h"
#include "core/exec/cuda/module/launch.h"
#include "core/exec/device/elements.h"

namespace reverie::device::cuda {
namespace {

template <typename Unit>
__global__ void fill_units(Unit* memory, Unit value, int64_t units) {
  for (int64_t i = first_of_thread(); i < units; i += grid_step()) memory[i] = value;
}

/// 16 bytes of elements.
uint4 repeated(const Fill& call, int64_t elements) {
  uint4 unit{};
  std::byte bytes[sizeof(unit)] = {};
  for (int64_t i = 0; i < elements; ++i) {
    if (is_floating_dtype(call.dtype)) {
      put_float(bytes, call.dtype, i, static_cast<float>(call.value));
    } else {
      const bool is_bool = call.dtype == DType::kBool;
      put_integer(bytes, call.dtype, i,
                  is_bool ? call.value != 0 : static_cast<int64_t>(call.value));
    }
  }
  std::memcpy(&unit, bytes, sizeof(unit));
  return unit;
}

template <typename Element>
KernelPtr fill_with(const ContextPtr& context, const Fill& call) {
  const uint4 many = repeated(call, int64_t{sizeof(many) / sizeof(Element)});
  Element bits;
  std::memcpy(&bits, &many, sizeof(bits));
  const int64_t elements = call.elements, bytes = elements * static_cast<int64_t>(sizeof(bits));
  return make_kernel([=](Memory memory, std::byte*) {
    std::byte* write = memory[0];
    const bool is_aligned = reinterpret_cast<uintptr_t>(write) % sizeof(many) == 0;
    if (is_aligned && bytes % int64_t{sizeof(many)} == 0) {
      const int64_t units = bytes / int64_t{sizeof(many)};
      fill_units<<<blocks_for(*context, units), kThreads, 0, context->stream()>>>(
          reinterpret_cast<uint4*>(write), many, units);
    } else {
      fill_units<<<blocks_for(*context, elements), kThreads, 0, context->stream()>>>(
          reinterpret_cast<Element*>(write), bits, elements);
    }
    check(cudaGetLastError(), "launch of Fill");
  });
}

}  // namespace

KernelPtr prepare(const ContextPtr& context, const Fill& call) {
  if (call.elements == 0) return nothing_to_do();
  switch (call.dtype) {
    case DType::kFloat32:
    case DType::kInt32:
      return fill_with<uint32_t>(context, call);
    case DType::kFloat16:
    case DType::kBFloat16:
      return fill_with<uint16_t>(context, call);
    case DType::kInt64:
      return fill_with<uint64_t>(context, call);
    case DType::kBool:
      return fill_with<uint8_t>(context, call);
    default:
      return nullptr;
  }
}

}  // namespace reverie::device::cuda
