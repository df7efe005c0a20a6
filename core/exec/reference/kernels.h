#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/ir/attributes.h"
#include "core/ir/schema.h"
#include "core/ir/tensor.h"

/// Kernels of the reference executor. Most compute on three carrier types: double for every
/// floating type, int64 for every integer type, and bool; the executor widens and narrows around
/// them. Kernels that move elements, and those for which types differ, take tensors as they are.
/// Products take floats as they are, too, and widen a large one in parts.
namespace reverie::reference {

struct KernelCall {
  /// A default-constructed tensor where an optional input is absent.
  std::span<const Tensor> inputs;
  /// Empty for value-shaped operators.
  std::span<const TensorType> outputs;
  const Attributes& attributes;
  /// Fill new outputs with NaN and -1, so that what a kernel forgets to write shows.
  bool poison = false;

  bool has_input(size_t index) const {
    return index < inputs.size() && inputs[index].type().known();
  }
  /// A new tensor of the type of output `index`.
  Tensor new_output(size_t index = 0) const;
};

struct KernelRow {
  std::string_view op;
  std::vector<Tensor> (*run)(const KernelCall&);
  enum class Takes : uint8_t {
    kCarriers,
    kAny,     ///< tensors of any element type, as they are
    kFloats,  ///< the same of floating types; other carriers
  } takes = Takes::kCarriers;
};

std::vector<KernelRow> unary_kernels();
std::vector<KernelRow> binary_kernels();
std::vector<KernelRow> linear_kernels();
std::vector<KernelRow> spatial_kernels();
std::vector<KernelRow> reduction_kernels();
std::vector<KernelRow> movement_kernels();
std::vector<KernelRow> image_kernels();
std::vector<KernelRow> resize_kernels();
std::vector<KernelRow> sampling_kernels();
std::vector<KernelRow> normalization_kernels();
std::vector<KernelRow> quantization_kernels();
std::vector<KernelRow> recurrent_kernels();
std::vector<KernelRow> lane_kernels();
std::vector<KernelRow> scatter_kernels();
std::vector<KernelRow> attention_kernels();
std::vector<KernelRow> fused_kernels();

/// nullptr when there is none.
const KernelRow* find_kernel(const OpSchema& op);

/// double, int64 or bool.
DType carrier_of(DType dtype);

/// Calls `visit` with a value of the C++ type of a carrier.
template <typename Visit>
decltype(auto) visit_carrier(DType dtype, Visit&& visit) {
  if (dtype == DType::kFloat64) return visit(double{});
  if (dtype == DType::kInt64) return visit(int64_t{});
  REVERIE_CHECK(dtype == DType::kBool, "{} is no carrier", name_of(dtype));
  return visit(bool{});
}

/// The same without bool.
template <typename Visit>
decltype(auto) visit_number(DType dtype, Visit&& visit) {
  if (dtype == DType::kFloat64) return visit(double{});
  REVERIE_CHECK(dtype == DType::kInt64, "{} is no number", name_of(dtype));
  return visit(int64_t{});
}

/// Arithmetic on numbers; that of integers wraps around.
template <typename F>
struct Wrapping {
  double operator()(double a, double b) const { return F{}(a, b); }
  int64_t operator()(int64_t a, int64_t b) const {
    return static_cast<int64_t>(F{}(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  }
};
inline constexpr Wrapping<std::plus<>> plus{};
inline constexpr Wrapping<std::minus<>> minus{};
inline constexpr Wrapping<std::multiplies<>> times{};

/// A NaN on either side stays, as NumPy has it.
template <typename T>
T smaller(T a, T b) {
  return a < b || a != a ? a : b;
}
template <typename T>
T larger(T a, T b) {
  return a > b || a != a ? a : b;
}

// C = alpha * op(A) * op(B) + beta * C; row-major with leading dimensions.
struct Gemm {
  int64_t rows, columns, inner;
  bool trans_a = false, trans_b = false;
  int64_t lda, ldb, ldc;
  double alpha = 1, beta = 0;
};
void gemm(const Gemm& sizes, const double* a, const double* b, double* c);
void gemm(const Gemm& sizes, const int64_t* a, const int64_t* b, int64_t* c);
/// Of floating tensors from an element on. One of them need not be double: a part of it at a time
/// is widened.
void gemm(const Gemm& sizes, const Tensor& a, int64_t a_from, const Tensor& b, int64_t b_from,
          double* c);

/// Applies none, relu, sigmoid or tanh in place. Integers know none and relu.
void activate(std::string_view activation, std::span<double> values);
void activate(std::string_view activation, std::span<int64_t> values);

}  // namespace reverie::reference
