#include <array>
#include <limits>
#include <optional>

#include "core/exec/cuda/module/epilogue.h"
#include "core/exec/cuda/module/kernels.h"
#include "core/exec/cuda/module/types.h"

namespace reverie::device::cuda {
namespace {

using Description = Handle<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Handle<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Handle<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

constexpr uint64_t kWorkspaceLimit = uint64_t{32} << 20;
constexpr uint32_t kAlignment = 16;

template <typename T>
void set(const Description& description, cublasLtMatmulDescAttributes_t name, const T& value) {
  check(cublasLtMatmulDescSetAttribute(description.get(), name, &value, sizeof(value)),
        "cublasLtMatmulDescSetAttribute");
}

template <typename T>
void set(const Layout& layout, cublasLtMatrixLayoutAttribute_t name, const T& value) {
  check(cublasLtMatrixLayoutSetAttribute(layout.get(), name, &value, sizeof(value)),
        "cublasLtMatrixLayoutSetAttribute");
}

template <typename T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t name, const T& value) {
  check(cublasLtMatmulPreferenceSetAttribute(preference.get(), name, &value, sizeof(value)),
        "cublasLtMatmulPreferenceSetAttribute");
}

/// A matrix of the library, whose columns are contiguous: `rows` x `columns`, in `batches` of
/// `stride`.
Layout make_layout(DType dtype, int64_t rows, int64_t columns, int64_t batches, int64_t stride) {
  auto layout = make_handle<Layout>("cublasLtMatrixLayoutCreate", cublasLtMatrixLayoutCreate,
                                    cuda_type(dtype), static_cast<uint64_t>(rows),
                                    static_cast<uint64_t>(columns), rows);
  set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batches));
  set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  return layout;
}

cublasLtEpilogue_t epilogue_of(const Product& call) {
  const bool is_relu = call.activation == Activation::kRelu;
  if (call.has_bias) return is_relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  return is_relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
}

Description describe(const Product& call, Precision precision) {
  const cublasComputeType_t compute = call.dtype == DType::kFloat32 && precision == Precision::kTf32
                                          ? CUBLAS_COMPUTE_32F_FAST_TF32
                                          : CUBLAS_COMPUTE_32F;
  auto description = make_handle<Description>("cublasLtMatmulDescCreate", cublasLtMatmulDescCreate,
                                              compute, CUDA_R_32F);
  const auto operation = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, operation(call.b_transposed));
  set(description, CUBLASLT_MATMUL_DESC_TRANSB, operation(call.a_transposed));
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(call));
  if (call.has_bias) {  // the search for an algorithm looks at the alignment alone
    const auto* aligned = reinterpret_cast<const void*>(uintptr_t{kAlignment});
    set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, aligned);
  }
  return description;
}

/// The product as the library sees it: rows are its columns, so that it computes the transposed
/// result of the transposed operands, b first.
struct Problem {
  Problem(const Product& call, Precision precision)
      : description(describe(call, precision)),
        b(call.b_transposed
              ? make_layout(call.dtype, call.inner, call.columns, call.batches, call.b_stride)
              : make_layout(call.dtype, call.columns, call.inner, call.batches, call.b_stride)),
        a(call.a_transposed
              ? make_layout(call.dtype, call.rows, call.inner, call.batches, call.a_stride)
              : make_layout(call.dtype, call.inner, call.rows, call.batches, call.a_stride)),
        result(make_layout(call.dtype, call.columns, call.rows, call.batches,
                           call.rows * call.columns)) {}

  Description description;
  Layout b, a, result;
};

Preference preference_for(const Product& call) {
  auto preference =
      make_handle<Preference>("cublasLtMatmulPreferenceCreate", cublasLtMatmulPreferenceCreate);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceLimit);
  for (const auto name :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(preference, name, kAlignment);
  if (call.dtype != DType::kFloat32)  // partial sums stay in float32
    set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  return preference;
}

std::optional<cublasLtMatmulHeuristicResult_t> algorithm_for(const Context& context,
                                                             const Problem& problem,
                                                             const Product& call) {
  std::array<cublasLtMatmulHeuristicResult_t, 8> results{};
  int count = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      context.cublas.get(), problem.description.get(), problem.b.get(), problem.a.get(),
      problem.result.get(), problem.result.get(), preference_for(call).get(),
      static_cast<int>(results.size()), results.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return std::nullopt;
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  for (int i = 0; i < count; ++i)
    if (const auto& result = results[static_cast<size_t>(i)]; result.state == CUBLAS_STATUS_SUCCESS)
      return result;
  return std::nullopt;
}

class ProductKernel final : public Kernel {
 public:
  ProductKernel(ContextPtr context, const Product& call, Problem problem,
                const cublasLtMatmulHeuristicResult_t& chosen)
      : context_(std::move(context)),
        problem_(std::move(problem)),
        chosen_(chosen),
        alpha_(static_cast<float>(call.alpha)),
        has_bias_(call.has_bias),
        has_residual_(call.has_residual) {}

  int64_t workspace_bytes() const override { return static_cast<int64_t>(chosen_.workspaceSize); }

  void launch(Memory memory, std::byte* workspace) override {
    std::byte* result = memory.back();
    if (has_bias_)
      set(problem_.description, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
          static_cast<const void*>(memory[2]));
    const std::byte* residual = has_residual_ ? memory[has_bias_ ? 3 : 2] : result;
    const float beta = has_residual_ ? 1 : 0;
    check(cublasLtMatmul(context_->cublas.get(), problem_.description.get(), &alpha_, memory[1],
                         problem_.b.get(), memory[0], problem_.a.get(), &beta, residual,
                         problem_.result.get(), result, problem_.result.get(), &chosen_.algo,
                         workspace, chosen_.workspaceSize, context_->stream()),
          "cublasLtMatmul");
  }

 private:
  ContextPtr context_;
  Problem problem_;
  cublasLtMatmulHeuristicResult_t chosen_;
  float alpha_;
  bool has_bias_, has_residual_;
};

/// nullptr where the library has no algorithm.
KernelPtr prepare_fused(const ContextPtr& context, const Product& call) {
  Problem problem(call, context->precision);
  const auto chosen = algorithm_for(*context, problem, call);
  if (!chosen) return nullptr;
  return std::make_unique<ProductKernel>(context, call, std::move(problem), *chosen);
}

KernelPtr prepare_apart(const ContextPtr& context, const Product& call, const Epilogue& epilogue) {
  Product product = call;
  product.has_bias = product.has_bias && !epilogue.has_bias;
  product.has_residual = product.has_residual && !epilogue.has_residual;
  product.activation = Activation::kNone;
  return in_sequence(prepare_fused(context, product), prepare_epilogue(context, epilogue));
}

}  // namespace

KernelPtr prepare(const ContextPtr& context, const Product& call) {
  if (call.batches * call.rows * call.columns == 0) return nothing_to_do();
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (!is_16_or_32_bit_float(call.dtype) || call.inner == 0 ||
      std::max({call.batches, call.rows, call.columns, call.inner}) > kMost)
    return nullptr;
  Epilogue epilogue{.dtype = call.dtype,
                    .shape = {call.batches * call.rows, call.columns},
                    .bias_axis = 1,
                    .activation = call.activation};
  const bool is_own_activation =
      call.activation == Activation::kSigmoid || call.activation == Activation::kTanh;
  KernelPtr kernel =
      is_own_activation ? prepare_apart(context, call, epilogue) : prepare_fused(context, call);
  if (kernel != nullptr) return kernel;
  epilogue.has_bias = call.has_bias;
  epilogue.has_residual = call.has_residual;
  return prepare_apart(context, call, epilogue);
}

}  // namespace reverie::device::cuda
