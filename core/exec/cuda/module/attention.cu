#include <mma.h>

#include "core/exec/cuda/module/kernels.h"
#include "core/exec/cuda/module/launch.h"
#include "core/exec/device/attention_block.h"

namespace reverie::device::cuda {
namespace {

struct ThreadBlock {
  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ void wait() { __syncthreads(); }
  __device__ float largest(float x) {
    for (int lanes = kLanesOfRow / 2; lanes > 0; lanes /= 2)
      x = binary(Function::kMax, x, __shfl_xor_sync(0xffffffffu, x, lanes));
    return x;
  }
  __device__ float sum(float x) {
    for (int lanes = kLanesOfRow / 2; lanes > 0; lanes /= 2)
      x += __shfl_xor_sync(0xffffffffu, x, lanes);
    return x;
  }
};

/// Tiles by tensor cores; `Fragment` is what these take for `Stored`, `kInner` columns of a at
/// once.
template <typename Stored, typename Fragment, int kInner>
struct TensorTiles {
  using Number = Stored;

  template <typename LayoutOfB>
  static __device__ void multiply_as(const Number* a, int a_stride, const Number* b, int b_stride,
                                     int b_step, float* c, int c_stride, int inner, bool adds) {
    namespace mma = nvcuda::wmma;
    mma::fragment<mma::accumulator, 16, 16, kInner, float> sum;
    if (adds)
      mma::load_matrix_sync(sum, c, c_stride, mma::mem_row_major);
    else
      mma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < inner; k += kInner) {
      mma::fragment<mma::matrix_a, 16, 16, kInner, Fragment, mma::row_major> left;
      mma::fragment<mma::matrix_b, 16, 16, kInner, Fragment, LayoutOfB> right;
      mma::load_matrix_sync(left, a + k, a_stride);
      mma::load_matrix_sync(right, b + k * b_step, b_stride);
      mma::mma_sync(sum, left, right, sum);
    }
    mma::store_matrix_sync(c, sum, c_stride, mma::mem_row_major);
  }

  static __device__ void multiply(int, const Number* a, int a_stride, const Number* b, int b_stride,
                                  bool b_is_transposed, float* c, int c_stride, int inner,
                                  bool adds) {
    namespace mma = nvcuda::wmma;
    if (b_is_transposed)
      multiply_as<mma::col_major>(a, a_stride, b, b_stride, 1, c, c_stride, inner, adds);
    else
      multiply_as<mma::row_major>(a, a_stride, b, b_stride, b_stride, c, c_stride, inner, adds);
  }
};

struct HalfTiles : TensorTiles<__half, __half, 16> {
  static __device__ __half number(float x) { return __float2half_rn(x); }
};
struct BFloatTiles : TensorTiles<__nv_bfloat16, __nv_bfloat16, 16> {
  static __device__ __nv_bfloat16 number(float x) { return __float2bfloat16_rn(x); }
};
struct Tf32Tiles : TensorTiles<float, nvcuda::wmma::precision::tf32, 8> {
  static __device__ float number(float x) { return nvcuda::wmma::__float_to_tf32(x); }
};

template <typename Tiles, int kTileRows>
__global__ void __launch_bounds__(kAttentionThreads)
    attention(AttentionWork work, AttentionMemory memory) {
  extern __shared__ __align__(32) std::byte shared[];
  ThreadBlock block;
  attend<Tiles, kTileRows>(block, work, memory, blockIdx.x, shared);
}

struct AttentionLaunch {
  void (*kernel)(AttentionWork, AttentionMemory) = nullptr;
  int64_t blocks = 0, bytes = 0;
};

template <typename Tiles, int kTileRows>
AttentionLaunch launch_of(const AttentionWork& work) {
  constexpr int kRows = kTileRows * kAttentionTile;
  return {attention<Tiles, kTileRows>,
          work.outer * work.heads * ((work.queries + kRows - 1) / kRows),
          AttentionShared<typename Tiles::Number>(work, kRows).bytes()};
}

/// The most rows to a block that leave no multiprocessor without one.
template <typename Tiles>
AttentionLaunch widest_launch_of(const Context& context, const AttentionWork& work) {
  for (const AttentionLaunch& launch : {launch_of<Tiles, 4>(work), launch_of<Tiles, 2>(work)})
    if (launch.blocks >= context.multiprocessors && launch.bytes <= context.shared_bytes)
      return launch;
  return launch_of<Tiles, 1>(work);
}

AttentionLaunch launch_of(const Context& context, const AttentionWork& work) {
  switch (work.dtype) {
    case DType::kFloat16:
      return widest_launch_of<HalfTiles>(context, work);
    case DType::kBFloat16:
      return widest_launch_of<BFloatTiles>(context, work);
    default:
      return context.precision == Precision::kTf32 ? widest_launch_of<Tf32Tiles>(context, work)
                                                   : widest_launch_of<FloatTiles>(context, work);
  }
}

}  // namespace

KernelPtr prepare(const ContextPtr& context, const Attention& call) {
  const AttentionWork work = work_of(call);
  const AttentionLaunch launch = launch_of(*context, work);
  if (launch.bytes > context->shared_bytes) return nullptr;
  if (launch.blocks == 0) return nothing_to_do();
  check(cudaFuncSetAttribute(launch.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(context->shared_bytes)),
        "cudaFuncSetAttribute");
  const bool has_mask = call.has_mask;
  return make_kernel([=](Memory memory, std::byte*) {
    const AttentionMemory at{memory[0], memory[1], memory[2], has_mask ? memory[3] : nullptr,
                             memory.back()};
    launch.kernel<<<static_cast<unsigned>(launch.blocks), kAttentionThreads,
                    static_cast<size_t>(launch.bytes), context->stream()>>>(work, at);
    check(cudaGetLastError(), "launch of Attention");
  });
}

}  // namespace reverie::device::cuda
