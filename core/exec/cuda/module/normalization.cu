#include "core/exec/cuda/module/kernels.h"
#include "core/exec/cuda/module/launch.h"
#include "core/exec/device/elements.h"

namespace reverie::device::cuda {
namespace {

struct RowWork {
  DType dtype;
  int64_t rows, width;
  float epsilon;
};

/// Null where a call has none.
struct RowMemory {
  const std::byte *source, *scale, *shift, *residual, *bias;
  std::byte *target, *sum;
};

__device__ float summed_at(const RowWork& work, const RowMemory& memory, int64_t base, int64_t i) {
  float x = float_at(memory.source, work.dtype, base + i);
  if (memory.residual != nullptr) x += float_at(memory.residual, work.dtype, base + i);
  if (memory.bias != nullptr) x += float_at(memory.bias, work.dtype, i);
  return x;
}

/// A block for every row, which it reads three times: but for the first they are near.
__global__ void normalize_rows(RowWork work, RowMemory memory) {
  const auto add = [](float a, float b) { return a + b; };
  const auto width = static_cast<float>(work.width);
  for (int64_t row = blockIdx.x; row < work.rows; row += gridDim.x) {
    const int64_t base = row * work.width;
    float sum = 0;
    for (int64_t i = threadIdx.x; i < work.width; i += blockDim.x) {
      const float x = summed_at(work, memory, base, i);
      if (memory.sum != nullptr) put_float(memory.sum, work.dtype, base + i, x);
      sum += x;
    }
    const float mean = over_block(sum, 0, add) / width;
    float squares = 0;
    for (int64_t i = threadIdx.x; i < work.width; i += blockDim.x) {
      const float distance = summed_at(work, memory, base, i) - mean;
      squares += distance * distance;
    }
    const float deviation = sqrtf(over_block(squares, 0, add) / width + work.epsilon);
    for (int64_t i = threadIdx.x; i < work.width; i += blockDim.x) {
      const float value = (summed_at(work, memory, base, i) - mean) / deviation;
      put_float(memory.target, work.dtype, base + i,
                value * float_at(memory.scale, work.dtype, i) +
                    (memory.shift == nullptr ? 0.0f : float_at(memory.shift, work.dtype, i)));
    }
  }
}

unsigned threads_for(int64_t width) {
  unsigned threads = 32;
  while (threads < 512 && threads * 4 < width) threads *= 2;
  return threads;
}

/// A block for every row of distance `inner`.
__global__ void softmax_rows(Softmax call, const std::byte* source, std::byte* target) {
  const auto add = [](float a, float b) { return a + b; };
  const auto larger = [](float a, float b) { return binary(Function::kMax, a, b); };
  for (int64_t row = blockIdx.x; row < call.outer * call.inner; row += gridDim.x) {
    const int64_t base = row / call.inner * call.extent * call.inner + row % call.inner;
    float largest = -INFINITY;
    for (int64_t i = threadIdx.x; i < call.extent; i += blockDim.x)
      largest = larger(largest, float_at(source, call.dtype, base + i * call.inner));
    largest = over_block(largest, -INFINITY, larger);
    float sum = 0;
    for (int64_t i = threadIdx.x; i < call.extent; i += blockDim.x)
      sum += expf(float_at(source, call.dtype, base + i * call.inner) - largest);
    sum = over_block(sum, 0, add);
    for (int64_t i = threadIdx.x; i < call.extent; i += blockDim.x) {
      const float value = expf(float_at(source, call.dtype, base + i * call.inner) - largest);
      put_float(target, call.dtype, base + i * call.inner, value / sum);
    }
  }
}

}  // namespace

KernelPtr prepare(const ContextPtr& context, const LayerNormalization& call) {
  if (call.rows * call.width == 0) return nothing_to_do();
  if (!is_floating_dtype(call.dtype)) return nullptr;
  const RowWork work{call.dtype, call.rows, call.width, static_cast<float>(call.epsilon)};
  return make_kernel([=](Memory memory, std::byte*) {
    size_t next = 0;
    const auto take = [&](bool is_there) { return is_there ? memory[next++] : nullptr; };
    RowMemory at{};
    at.source = take(true);
    at.scale = take(true);
    at.shift = take(call.has_shift);
    at.residual = take(call.has_residual);
    at.bias = take(call.has_bias);
    at.target = take(true);
    at.sum = take(call.writes_sum);
    normalize_rows<<<blocks_for(*context, work.rows, 1), threads_for(work.width), 0,
                     context->stream()>>>(work, at);
    check(cudaGetLastError(), "launch of LayerNormalization");
  });
}

KernelPtr prepare_any_softmax(const ContextPtr& context, const Softmax& call) {
  return make_kernel([=](Memory memory, std::byte*) {
    softmax_rows<<<blocks_for(*context, call.outer * call.inner, 1), threads_for(call.extent), 0,
                   context->stream()>>>(call, memory[0], memory[1]);
    check(cudaGetLastError(), "launch of Softmax");
  });
}

}  // namespace reverie::device::cuda
