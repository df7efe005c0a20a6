#include <type_traits>

#include "core/exec/cuda/module/axes.h"
#include "core/exec/cuda/module/kernels.h"
#include "core/exec/cuda/module/launch.h"
#include "core/exec/device/elements.h"

namespace reverie::device::cuda {
namespace {

__global__ void any_elements(ElementwiseWork work, Pointers memory) {
  for (int64_t i = first_of_thread(); i < work.elements; i += grid_step())
    compute_element(work, memory, i);
}

// --- Where all elements are of one floating type, and indices fit 32 bits ------------------------

/// Of units of neighbouring elements; strides are in elements for each step of an axis.
struct UnitWork {
  Function function;
  Activation activation;
  float alpha, beta;
  int axes;
  uint32_t units;
  uint32_t extents[kMaxAxes];
  uint32_t strides[kMaxOperands][kMaxAxes];
  bool is_spread[kMaxOperands];  ///< one element for all of a unit
};

template <DType kDType>
using StoredOf =
    std::conditional_t<kDType == DType::kFloat32, float,
                       std::conditional_t<kDType == DType::kFloat16, __half, __nv_bfloat16>>;

template <typename T, int kWidth>
struct alignas(sizeof(T) * kWidth) UnitOf {
  T elements[kWidth];
};

inline constexpr int kWide = 4;
inline constexpr int kAnyFunction = -1;

template <int kOperands>
__device__ void locate(const UnitWork& work, uint32_t unit, uint32_t* at) {
  uint32_t rest = unit;
  for (int axis = work.axes - 1; axis > 0; --axis) {
    const uint32_t position = rest % work.extents[axis];
    rest /= work.extents[axis];
    for (int i = 0; i < kOperands; ++i) at[i] += position * work.strides[i][axis];
  }
  for (int i = 0; i < kOperands; ++i) at[i] += rest * work.strides[i][0];
}

template <DType kDType, int kWidth, int kOperands, int kFunction>
__global__ void unit_elements(UnitWork work, Pointers memory) {
  using Stored = StoredOf<kDType>;
  using Unit = UnitOf<Stored, kWidth>;
  ElementwiseWork function{};
  function.function = kFunction == kAnyFunction ? work.function : static_cast<Function>(kFunction);
  function.operands = kOperands;
  function.alpha = work.alpha;
  function.beta = work.beta;
  const auto step = static_cast<uint32_t>(grid_step());
  for (auto unit = static_cast<uint32_t>(first_of_thread()); unit < work.units; unit += step) {
    uint32_t at[kOperands] = {};
    locate<kOperands>(work, unit, at);
    Unit x[kOperands];
#pragma unroll
    for (int i = 0; i < kOperands; ++i) {
      const auto* source = reinterpret_cast<const Stored*>(memory.reads[i]) + at[i];
      if (work.is_spread[i]) {
        const Stored value = *source;
        for (int k = 0; k < kWidth; ++k) x[i].elements[k] = value;
      } else {
        x[i] = *reinterpret_cast<const Unit*>(source);
      }
    }
    Unit result;
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      float values[kMaxOperands] = {};
      for (int i = 0; i < kOperands; ++i)
        values[i] = float_at(reinterpret_cast<const std::byte*>(x[i].elements), kDType, k);
      put_float(reinterpret_cast<std::byte*>(result.elements), kDType, k,
                activated(function_of(function, values), work.activation));
    }
    reinterpret_cast<Unit*>(memory.write)[unit] = result;
  }
}

using UnitKernel = void (*)(UnitWork, Pointers);

template <DType kDType, int kWidth>
UnitKernel kernel_of_any(int operands) {
  switch (operands) {
    case 1:
      return unit_elements<kDType, kWidth, 1, kAnyFunction>;
    case 2:
      return unit_elements<kDType, kWidth, 2, kAnyFunction>;
    case 3:
      return unit_elements<kDType, kWidth, 3, kAnyFunction>;
    default:
      return unit_elements<kDType, kWidth, 5, kAnyFunction>;
  }
}

/// Functions that graphs are full of are compiled apart.
template <DType kDType>
UnitKernel wide_kernel_of(Function function, int operands) {
#define REVERIE_CASE(name, count) \
  case Function::name:            \
    return unit_elements<kDType, kWide, count, static_cast<int>(Function::name)>
  switch (function) {
    REVERIE_CASE(kIdentity, 1);
    REVERIE_CASE(kRelu, 1);
    REVERIE_CASE(kSigmoid, 1);
    REVERIE_CASE(kTanh, 1);
    REVERIE_CASE(kLeakyRelu, 1);
    REVERIE_CASE(kHardSigmoid, 1);
    REVERIE_CASE(kHardSwish, 1);
    REVERIE_CASE(kClip, 1);
    REVERIE_CASE(kSqrt, 1);
    REVERIE_CASE(kErf, 1);
    REVERIE_CASE(kExp, 1);
    REVERIE_CASE(kAdd, 2);
    REVERIE_CASE(kSub, 2);
    REVERIE_CASE(kMul, 2);
    REVERIE_CASE(kDiv, 2);
    REVERIE_CASE(kPow, 2);
    REVERIE_CASE(kMin, 2);
    REVERIE_CASE(kMax, 2);
    REVERIE_CASE(kSum, 3);
    REVERIE_CASE(kNormalize, 5);
    default:
      return kernel_of_any<kDType, kWide>(operands);
  }
#undef REVERIE_CASE
}

template <DType kDType>
UnitKernel kernel_of_type(const ElementwiseWork& work, int width) {
  return width == kWide ? wide_kernel_of<kDType>(work.function, work.operands)
                        : kernel_of_any<kDType, 1>(work.operands);
}

UnitKernel kernel_of(const ElementwiseWork& work, int width) {
  switch (work.result) {
    case DType::kFloat32:
      return kernel_of_type<DType::kFloat32>(work, width);
    case DType::kFloat16:
      return kernel_of_type<DType::kFloat16>(work, width);
    default:
      return kernel_of_type<DType::kBFloat16>(work, width);
  }
}

bool fits_units(const ElementwiseWork& work) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  if (!is_floating_dtype(work.result) || work.elements >= kLimit) return false;
  for (int i = 0; i < work.operands; ++i) {
    int64_t farthest = 0;
    for (int axis = 0; axis < work.axes; ++axis) {
      if (work.strides[i][axis] < 0) return false;
      farthest += (work.extents[axis] - 1) * work.strides[i][axis];
    }
    if (work.dtypes[i] != work.result || farthest >= kLimit) return false;
  }
  return true;
}

/// Elements that can be read and written at once.
int width_of(const ElementwiseWork& work) {
  if (work.axes == 0 || work.extents[work.axes - 1] % kWide != 0) return 1;
  for (int i = 0; i < work.operands; ++i) {
    const int64_t inner = work.strides[i][work.axes - 1];
    if (inner != 0 && inner != 1) return 1;
    for (int axis = 0; inner == 1 && axis + 1 < work.axes; ++axis)
      if (work.strides[i][axis] % kWide != 0) return 1;
  }
  return kWide;
}

UnitWork units_of(const ElementwiseWork& work, int width) {
  UnitWork units{.function = work.function,
                 .activation = work.activation,
                 .alpha = work.alpha,
                 .beta = work.beta,
                 .axes = work.axes,
                 .units = static_cast<uint32_t>(work.elements / width),
                 .extents = {},
                 .strides = {},
                 .is_spread = {}};
  for (int axis = 0; axis < work.axes; ++axis) {
    const int64_t scale = axis + 1 == work.axes ? width : 1;
    units.extents[axis] = static_cast<uint32_t>(work.extents[axis] / scale);
    for (int i = 0; i < work.operands; ++i)
      units.strides[i][axis] = static_cast<uint32_t>(work.strides[i][axis] * scale);
  }
  for (int i = 0; i < work.operands; ++i)
    units.is_spread[i] = work.axes == 0 || work.strides[i][work.axes - 1] == 0;
  return units;
}

bool are_aligned(const UnitWork& units, const Pointers& memory, int operands, int64_t bytes) {
  const auto is_aligned = [&](const std::byte* pointer) {
    return reinterpret_cast<uintptr_t>(pointer) % static_cast<uintptr_t>(bytes) == 0;
  };
  for (int i = 0; i < operands; ++i)
    if (!units.is_spread[i] && !is_aligned(memory.reads[i])) return false;
  return is_aligned(memory.write);
}

}  // namespace

KernelPtr prepare(const ContextPtr& context, const Elementwise& call) {
  ElementwiseWork work = work_of(call);
  if (work.elements == 0) return nothing_to_do();
  work.axes = merge_axes(
      work.axes, work.extents,
      {work.strides[0], work.strides[1], work.strides[2], work.strides[3], work.strides[4]});
  const int width = width_of(work);
  UnitKernel kernel = fits_units(work) ? kernel_of(work, width) : nullptr;
  const UnitWork units = units_of(work, width);
  const int64_t bytes = width * size_of(work.result);
  return make_kernel([=](Memory memory, std::byte*) {
    Pointers pointers{};
    for (int i = 0; i < work.operands; ++i) pointers.reads[i] = memory[static_cast<size_t>(i)];
    pointers.write = memory.back();
    if (kernel != nullptr && are_aligned(units, pointers, work.operands, bytes)) {
      kernel<<<blocks_for(*context, units.units), kThreads, 0, context->stream()>>>(units,
                                                                                    pointers);
    } else {
      any_elements<<<blocks_for(*context, work.elements), kThreads, 0, context->stream()>>>(
          work, pointers);
    }
    check(cudaGetLastError(), "launch of Elementwise");
  });
}

}  // namespace reverie::device::cuda
