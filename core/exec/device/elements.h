#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/exec/device/calls.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#else
#include "core/ir/half.h"
#endif

/// The work of one element of calls in which every element is computed by itself. Compiled for
/// devices and for the host alike, so that what tests run on the host is what runs on a device. The
/// structures are a call's data in arrays of fixed size, to be handed to a device by value.
namespace reverie::device {

// --- Elements in memory -------------------------------------------------------------------------

REVERIE_ON_DEVICE float float_at(const std::byte* memory, DType dtype, int64_t index) {
  switch (dtype) {
    case DType::kFloat32:
      return reinterpret_cast<const float*>(memory)[index];
#ifdef __CUDACC__
    case DType::kFloat16:
      return __half2float(reinterpret_cast<const __half*>(memory)[index]);
    case DType::kBFloat16:
      return __bfloat162float(reinterpret_cast<const __nv_bfloat16*>(memory)[index]);
#else
    case DType::kFloat16:
      return static_cast<float>(reinterpret_cast<const Float16*>(memory)[index]);
    case DType::kBFloat16:
      return static_cast<float>(reinterpret_cast<const BFloat16*>(memory)[index]);
#endif
    case DType::kInt32:
      return static_cast<float>(reinterpret_cast<const int32_t*>(memory)[index]);
    case DType::kInt64:
      return static_cast<float>(reinterpret_cast<const int64_t*>(memory)[index]);
    default:
      return reinterpret_cast<const bool*>(memory)[index] ? 1.0f : 0.0f;
  }
}

REVERIE_ON_DEVICE int64_t integer_at(const std::byte* memory, DType dtype, int64_t index) {
  switch (dtype) {
    case DType::kInt32:
      return reinterpret_cast<const int32_t*>(memory)[index];
    case DType::kInt64:
      return reinterpret_cast<const int64_t*>(memory)[index];
    default:
      return reinterpret_cast<const bool*>(memory)[index] ? 1 : 0;
  }
}

REVERIE_ON_DEVICE void put_integer(std::byte* memory, DType dtype, int64_t index, int64_t value) {
  switch (dtype) {
    case DType::kInt32:
      reinterpret_cast<int32_t*>(memory)[index] = static_cast<int32_t>(value);
      return;
    case DType::kInt64:
      reinterpret_cast<int64_t*>(memory)[index] = value;
      return;
    default:
      reinterpret_cast<bool*>(memory)[index] = value != 0;
  }
}

REVERIE_ON_DEVICE bool is_floating_dtype(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

/// To an integer, NaN gives 0 and what is out of range the nearest end.
REVERIE_ON_DEVICE int64_t truncated(float value) {
  constexpr float kLimit = 9223372036854775808.0f;  // 2^63
  if (value != value) return 0;
  if (value >= kLimit) return INT64_MAX;
  return value < -kLimit ? INT64_MIN : static_cast<int64_t>(value);
}

REVERIE_ON_DEVICE void put_float(std::byte* memory, DType dtype, int64_t index, float value) {
  switch (dtype) {
    case DType::kFloat32:
      reinterpret_cast<float*>(memory)[index] = value;
      return;
#ifdef __CUDACC__
    case DType::kFloat16:
      reinterpret_cast<__half*>(memory)[index] = __float2half_rn(value);
      return;
    case DType::kBFloat16:
      reinterpret_cast<__nv_bfloat16*>(memory)[index] = __float2bfloat16_rn(value);
      return;
#else
    case DType::kFloat16:
      reinterpret_cast<Float16*>(memory)[index] = Float16(value);
      return;
    case DType::kBFloat16:
      reinterpret_cast<BFloat16*>(memory)[index] = BFloat16(value);
      return;
#endif
    case DType::kInt32:
    case DType::kInt64:
      put_integer(memory, dtype, index, truncated(value));
      return;
    default:
      reinterpret_cast<bool*>(memory)[index] = value != 0;
  }
}

// --- Elementwise --------------------------------------------------------------------------------

REVERIE_ON_DEVICE int64_t integer_function(Function function, int64_t a, int64_t b, int64_t c) {
  const auto wrapped = [](uint64_t value) { return static_cast<int64_t>(value); };
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (function) {
    case Function::kRelu:
      return a < 0 ? 0 : a;
    case Function::kNeg:
      return wrapped(0 - x);
    case Function::kAbs:
      return a < 0 ? wrapped(0 - x) : a;
    case Function::kAdd:
      return wrapped(x + y);
    case Function::kSub:
      return wrapped(x - y);
    case Function::kMul:
      return wrapped(x * y);
    case Function::kMin:
      return a < b ? a : b;
    case Function::kMax:
      return a > b ? a : b;
    case Function::kEqual:
      return a == b;
    case Function::kGreater:
      return a > b;
    case Function::kGreaterOrEqual:
      return a >= b;
    case Function::kLess:
      return a < b;
    case Function::kLessOrEqual:
      return a <= b;
    case Function::kNot:
      return a == 0;
    case Function::kAnd:
      return a != 0 && b != 0;
    case Function::kOr:
      return a != 0 || b != 0;
    case Function::kWhere:
      return a != 0 ? b : c;
    default:
      return a;
  }
}

inline constexpr int kMaxOperands = 5;

struct ElementwiseWork {
  Function function;
  Activation activation;
  DType result;
  bool integers;  ///< no operand is floating
  float alpha, beta;
  int axes, operands;
  int64_t elements;
  int64_t extents[kMaxAxes];
  int64_t strides[kMaxOperands][kMaxAxes];
  DType dtypes[kMaxOperands];
};
ElementwiseWork work_of(const Elementwise& call);

struct Pointers {
  const std::byte* reads[kMaxOperands];
  std::byte* write;
};

REVERIE_ON_DEVICE float function_of(const ElementwiseWork& work, const float* x) {
  if (work.function == Function::kNormalize)
    return (x[0] - x[3]) / sqrtf(x[4] + work.alpha) * x[1] + x[2];
  return applied(work.function, work.alpha, work.beta, x[0], x[1], x[2]);
}

REVERIE_ON_DEVICE void compute_element(const ElementwiseWork& work, const Pointers& memory,
                                       int64_t index) {
  int64_t at[kMaxOperands] = {0, 0, 0, 0, 0};
  int64_t rest = index;
  for (int axis = work.axes - 1; axis >= 0; --axis) {
    const int64_t position = rest % work.extents[axis];
    rest /= work.extents[axis];
    for (int i = 0; i < work.operands; ++i) at[i] += position * work.strides[i][axis];
  }
  if (work.integers) {
    int64_t x[3] = {0, 0, 0};
    for (int i = 0; i < work.operands && i < 3; ++i)
      x[i] = integer_at(memory.reads[i], work.dtypes[i], at[i]);
    const int64_t value = integer_function(work.function, x[0], x[1], x[2]);
    if (is_floating_dtype(work.result)) {
      put_float(memory.write, work.result, index, static_cast<float>(value));
    } else {
      put_integer(memory.write, work.result, index, value);
    }
    return;
  }
  float x[kMaxOperands] = {0, 0, 0, 0, 0};
  for (int i = 0; i < work.operands; ++i) x[i] = float_at(memory.reads[i], work.dtypes[i], at[i]);
  put_float(memory.write, work.result, index, activated(function_of(work, x), work.activation));
}

/// Where number `index` of axes with these extents and strides lies.
REVERIE_ON_DEVICE int64_t offset_of(int64_t index, int axes, const int64_t* extents,
                                    const int64_t* strides) {
  int64_t offset = 0;
  for (int axis = axes - 1; axis >= 0; --axis) {
    offset += index % extents[axis] * strides[axis];
    index /= extents[axis];
  }
  return offset;
}

// --- Pointwise ----------------------------------------------------------------------------------

struct InstructionWork {
  Function function;
  float alpha, beta;
  int arguments[3];
};

struct PointwiseWork {
  DType dtype;
  int axes, operands, instructions;
  int64_t elements;
  int64_t extents[kMaxAxes];
  int64_t strides[kMaxPointwiseOperands][kMaxAxes];
  InstructionWork steps[kMaxInstructions];
};
PointwiseWork work_of(const Pointwise& call);

struct PointwisePointers {
  const std::byte* reads[kMaxPointwiseOperands];
  std::byte* write;
};

REVERIE_ON_DEVICE void compute_pointwise(const PointwiseWork& work, const PointwisePointers& memory,
                                         int64_t index) {
  float registers[kMaxPointwiseOperands + kMaxInstructions];
  for (int i = 0; i < work.operands; ++i)
    registers[i] = float_at(memory.reads[i], work.dtype,
                            offset_of(index, work.axes, work.extents, work.strides[i]));
  int next = work.operands;
  for (int i = 0; i < work.instructions; ++i) {
    const InstructionWork& step = work.steps[i];
    registers[next++] = applied(step.function, step.alpha, step.beta, registers[step.arguments[0]],
                                registers[step.arguments[1]], registers[step.arguments[2]]);
  }
  put_float(memory.write, work.dtype, index, registers[next - 1]);
}

// --- Movement -----------------------------------------------------------------------------------

struct PieceWork {
  int axes;
  int64_t elements;
  int64_t extents[kMaxAxes];
  int64_t source, target;
  int64_t source_strides[kMaxAxes], target_strides[kMaxAxes];
};
PieceWork work_of(const Piece& piece);

/// `Element` is an unsigned integer of the elements' size.
template <typename Element>
REVERIE_ON_DEVICE void move_element(const PieceWork& work, const std::byte* source,
                                    std::byte* target, int64_t index) {
  int64_t from = work.source, to = work.target;
  for (int axis = work.axes - 1; axis >= 0; --axis) {
    const int64_t position = index % work.extents[axis];
    index /= work.extents[axis];
    from += position * work.source_strides[axis];
    to += position * work.target_strides[axis];
  }
  reinterpret_cast<Element*>(target)[to] = reinterpret_cast<const Element*>(source)[from];
}

/// Byte `index` of the result of a Gather; false: its row does not exist, and nothing is written.
REVERIE_ON_DEVICE bool gather_byte(const Gather& call, const std::byte* table,
                                   const std::byte* indices, std::byte* result, int64_t index) {
  const int64_t byte = index % call.inner_bytes;
  const int64_t place = index / call.inner_bytes;
  int64_t row = integer_at(indices, call.indices, place % call.count);
  if (row < 0) row += call.extent;
  if (row < 0 || row >= call.extent) return false;
  result[index] = table[(place / call.count * call.extent + row) * call.inner_bytes + byte];
  return true;
}

// --- Windows ------------------------------------------------------------------------------------

/// Pooling and Window as plain arrays: std::array has no device functions.
struct PoolingWork {
  DType dtype;
  Pool kind;
  int64_t planes, in[3], out[3], kernel[3], stride[3], dilation[3], before[3], after[3];
};
PoolingWork work_of(const Pooling& call);

/// Element `index` of planes x out.
REVERIE_ON_DEVICE void pool_element(const PoolingWork& work, const std::byte* source,
                                    std::byte* target, int64_t index) {
  const int64_t x = index % work.out[2], y = index / work.out[2] % work.out[1];
  const int64_t z = index / (work.out[2] * work.out[1]) % work.out[0];
  const int64_t plane = index / (work.out[2] * work.out[1] * work.out[0]);
  const int64_t begin[3] = {z * work.stride[0] - work.before[0],
                            y * work.stride[1] - work.before[1],
                            x * work.stride[2] - work.before[2]};
  float sum = 0, largest = -INFINITY;
  int64_t inside = 0, padded = 0;
  for (int64_t i = 0; i < work.kernel[0]; ++i)
    for (int64_t j = 0; j < work.kernel[1]; ++j)
      for (int64_t k = 0; k < work.kernel[2]; ++k) {
        const int64_t at[3] = {begin[0] + i * work.dilation[0], begin[1] + j * work.dilation[1],
                               begin[2] + k * work.dilation[2]};
        bool is_inside = true, is_padded = true;
        for (int axis = 0; axis < 3; ++axis) {
          is_inside = is_inside && at[axis] >= 0 && at[axis] < work.in[axis];
          is_padded = is_padded && at[axis] < work.in[axis] + work.after[axis];
        }
        padded += is_padded;
        if (!is_inside) continue;
        ++inside;
        const float value =
            float_at(source, work.dtype,
                     ((plane * work.in[0] + at[0]) * work.in[1] + at[1]) * work.in[2] + at[2]);
        sum += value;
        largest = value > largest || value != value ? value : largest;
      }
  const int64_t divisor = work.kind == Pool::kAverage ? inside : padded;
  put_float(target, work.dtype, index,
            work.kind == Pool::kMax ? largest : sum / static_cast<float>(divisor));
}

// --- Reduction ----------------------------------------------------------------------------------

struct ReductionWork {
  DType dtype;
  Reduce kind;
  int kept_axes, reduced_axes;
  int64_t results, count;  ///< elements kept, and reduced for each
  int64_t kept[kMaxAxes], reduced[kMaxAxes], kept_strides[kMaxAxes], reduced_strides[kMaxAxes];
};
ReductionWork work_of(const Reduction& call);

/// What a reduction begins with, and how it takes in what comes: an element or a partial result.
REVERIE_ON_DEVICE float nothing_reduced(Reduce kind) {
  return kind == Reduce::kMax ? -INFINITY : kind == Reduce::kMin ? INFINITY : 0.0f;
}
REVERIE_ON_DEVICE float reduced(Reduce kind, float so_far, float value) {
  if (kind == Reduce::kMax) return binary(Function::kMax, so_far, value);
  if (kind == Reduce::kMin) return binary(Function::kMin, so_far, value);
  return so_far + value;
}

/// The share of elements `first`, `first + step`, ... of result `index`.
REVERIE_ON_DEVICE float reduced_share(const ReductionWork& work, const std::byte* source,
                                      int64_t index, int64_t first, int64_t step) {
  const int64_t base = offset_of(index, work.kept_axes, work.kept, work.kept_strides);
  float result = nothing_reduced(work.kind);
  for (int64_t i = first; i < work.count; i += step)
    result = reduced(
        work.kind, result,
        float_at(source, work.dtype,
                 base + offset_of(i, work.reduced_axes, work.reduced, work.reduced_strides)));
  return result;
}

/// A result from all shares of it.
REVERIE_ON_DEVICE void put_reduced(const ReductionWork& work, std::byte* target, int64_t index,
                                   float result) {
  put_float(target, work.dtype, index,
            work.kind == Reduce::kMean ? result / static_cast<float>(work.count) : result);
}

}  // namespace reverie::device
