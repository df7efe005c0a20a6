#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/rulekit/prove/symbolic.h"

namespace reverie::prove {

/// Makes terms of operators, and notes what has to hold for these to be well-formed. Fused
/// operators are written out: a convolution with bias, residual and activation is the activation of
/// sums.
class OperatorTerms {
 public:
  explicit OperatorTerms(z3::context& context) : context_(context) {}

  /// A tensor of any extents.
  TensorTerm variable(const std::string& name, int rank);
  /// Outputs of an operator; `outputs` of them. InputError names one that has no term, or whose
  /// attributes are not known well enough.
  std::vector<TensorTerm> make(const OpSchema& op, const std::vector<OptionalTensor>& inputs,
                               SymbolicAttributes attributes, size_t outputs);
  TensorTerm filled(const z3::expr& value, const std::vector<z3::expr>& extents);
  TensorTerm identity(const std::vector<z3::expr>& extents);

  /// What the shapes of the terms made so far demand.
  std::vector<z3::expr> demands;
  /// The extents of these terms where the demands hold.
  std::vector<z3::expr> facts;

 private:
  using Tensors = std::vector<TensorTerm>;
  using Attributes = SymbolicAttributes;

  TensorTerm apply(const std::string& function, const Tensors& inputs,
                   const std::vector<z3::expr>& numbers, std::vector<z3::expr> extents);
  TensorTerm elementwise(const std::string& op, const TensorTerm& a, const TensorTerm& b);
  TensorTerm unary(const std::string& op, const TensorTerm& x, const Attributes& attributes);
  TensorTerm activated(const TensorTerm& x, const Attributes& attributes);
  TensorTerm matmul(const TensorTerm& a, const TensorTerm& b);
  TensorTerm gemm(const TensorTerm& a, const TensorTerm& b, const Attributes& attributes);
  TensorTerm conv(const TensorTerm& x, const TensorTerm& w, const Attributes& attributes);
  TensorTerm channels(const TensorTerm& bias, int rank);
  TensorTerm product(const OpSchema& op, const std::vector<OptionalTensor>& inputs,
                     const Attributes& attributes);
  TensorTerm concat(const TensorTerm& a, const TensorTerm& b, int axis);
  Tensors split(const TensorTerm& x, const Attributes& attributes);
  TensorTerm transpose(const TensorTerm& x, const Attributes& attributes);
  TensorTerm reshape(const TensorTerm& x, const std::vector<z3::expr>& shape);
  TensorTerm pool(const OpSchema& op, const TensorTerm& x, const Attributes& attributes);
  TensorTerm reduce(const OpSchema& op, const TensorTerm& x, const Attributes& attributes);
  TensorTerm softmax(const TensorTerm& x, const Attributes& attributes);

  z3::expr window(const TensorTerm& x, size_t i, const z3::expr& kernel,
                  const Attributes& attributes);
  z3::sort tensor_sort(size_t rank) {
    return context_.uninterpreted_sort(fmt::format("Tensor{}", rank).c_str());
  }
  z3::func_decl extent_of(size_t rank) {
    return context_.function("extent", tensor_sort(rank), context_.int_sort(), context_.int_sort());
  }
  void demand(const z3::expr& condition) { demands.push_back(condition); }

  z3::context& context_;
};

}  // namespace reverie::prove
