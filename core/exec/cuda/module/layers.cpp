#include <cudnn_ops.h>

#include <algorithm>
#include <limits>

#include "core/exec/cuda/module/kernels.h"
#include "core/exec/cuda/module/types.h"

/// Calls that cuDNN has single functions for.
namespace reverie::device::cuda {
namespace {

using TensorDescriptor = Handle<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
using PoolingDescriptor = Handle<cudnnPoolingDescriptor_t, cudnnDestroyPoolingDescriptor>;

constexpr float kOne = 1, kZero = 0;
constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

TensorDescriptor describe(DType dtype, int64_t n, int64_t c, int64_t h, int64_t w) {
  auto descriptor =
      make_handle<TensorDescriptor>("cudnnCreateTensorDescriptor", cudnnCreateTensorDescriptor);
  check(cudnnSetTensor4dDescriptor(descriptor.get(), CUDNN_TENSOR_NCHW, cudnn_type(dtype),
                                   static_cast<int>(n), static_cast<int>(c), static_cast<int>(h),
                                   static_cast<int>(w)),
        "cudnnSetTensor4dDescriptor");
  return descriptor;
}

/// Two spatial axes, the same pads on both sides, every window within the padded image.
bool is_ordinary(const Window& window) {
  if (window.in[0] != 1 || window.out[0] != 1 || window.kernel[0] != 1) return false;
  for (size_t axis = 0; axis < 3; ++axis) {
    const int64_t pad = window.before[axis], kernel = window.kernel[axis];
    const bool is_dilated = kernel > 1 && window.dilation[axis] != 1;
    const int64_t out = (window.in[axis] + 2 * pad - kernel) / window.stride[axis] + 1;
    if (pad != window.after[axis] || is_dilated || pad >= kernel || out != window.out[axis] ||
        kernel > window.in[axis] + 2 * pad)
      return false;
  }
  return true;
}

PoolingDescriptor describe(const Pooling& call) {
  const Window& window = call.window;
  const cudnnPoolingMode_t mode = call.kind == Pool::kMax ? CUDNN_POOLING_MAX
                                  : call.kind == Pool::kAverage
                                      ? CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING
                                      : CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
  auto descriptor =
      make_handle<PoolingDescriptor>("cudnnCreatePoolingDescriptor", cudnnCreatePoolingDescriptor);
  check(cudnnSetPooling2dDescriptor(
            descriptor.get(), mode, CUDNN_PROPAGATE_NAN, static_cast<int>(window.kernel[1]),
            static_cast<int>(window.kernel[2]), static_cast<int>(window.before[1]),
            static_cast<int>(window.before[2]), static_cast<int>(window.stride[1]),
            static_cast<int>(window.stride[2])),
        "cudnnSetPooling2dDescriptor");
  return descriptor;
}

}  // namespace

KernelPtr prepare(const ContextPtr& context, const Pooling& call) {
  const Extents &in = call.window.in, &out = call.window.out;
  if (call.planes * out[0] * out[1] * out[2] == 0) return nothing_to_do();
  if (!is_16_or_32_bit_float(call.dtype)) return nullptr;
  const bool is_small = std::max(in[1] * in[2], out[1] * out[2]) * call.planes <= kMost;
  // Whether cuDNN pools bfloat16 is not documented.
  if (!is_ordinary(call.window) || !is_small || call.dtype == DType::kBFloat16)
    return prepare_any_pooling(context, call);
  return make_kernel(
      [context, pooling = describe(call), x = describe(call.dtype, 1, call.planes, in[1], in[2]),
       y = describe(call.dtype, 1, call.planes, out[1], out[2])](Memory memory, std::byte*) {
        check(cudnnPoolingForward(context->cudnn.get(), pooling.get(), &kOne, x.get(), memory[0],
                                  &kZero, y.get(), memory[1]),
              "cudnnPoolingForward");
      });
}

KernelPtr prepare(const ContextPtr& context, const Softmax& call) {
  if (call.outer * call.extent * call.inner == 0) return nothing_to_do();
  if (!is_16_or_32_bit_float(call.dtype)) return nullptr;
  if (call.outer * call.extent * call.inner > kMost) return prepare_any_softmax(context, call);
  auto tensor = describe(call.dtype, call.outer, call.extent, 1, call.inner);
  return make_kernel([context, tensor = std::move(tensor)](Memory memory, std::byte*) {
    check(cudnnSoftmaxForward(context->cudnn.get(), CUDNN_SOFTMAX_ACCURATE,
                              CUDNN_SOFTMAX_MODE_CHANNEL, &kOne, tensor.get(), memory[0], &kZero,
                              tensor.get(), memory[1]),
          "cudnnSoftmaxForward");
  });
}

}  // namespace reverie::device::cuda
