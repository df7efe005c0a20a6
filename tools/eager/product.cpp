#include "tools/eager/node.h"

namespace reverie::eager {
namespace {

enum : size_t { kA, kB, kBias, kResidual };

/// Whether it is one row: [n], or [1, n] and the like.
bool is_row(const TensorType& type, int64_t columns) {
  return type.rank() > 0 && type.shape.back() == columns && type.elements() == columns;
}

/// As torch.nn.functional.linear where the right factor is a matrix and the bias a row, as in models;
/// otherwise the product and then the sum.
Kernel matrix_product(const Node& node) {
  const std::string activation = node.attributes().text("activation");
  const bool linear = node.has_input(kBias) && node.inputs[kA].rank() > 1 &&
                      node.inputs[kB].rank() == 2 &&
                      is_row(node.inputs[kBias], node.inputs[kB].shape[1]);
  if (linear)
    return one([=](Arguments x) {
      return finished(at::linear(x[kA], x[kB].t(), x[kBias].reshape({-1})), argument(x, kResidual),
                      activation);
    });
  return one([=](Arguments x) {
    at::Tensor result = at::matmul(x[kA], x[kB]);
    if (argument(x, kBias).defined()) result.add_(x[kBias]);
    return finished(std::move(result), argument(x, kResidual), activation);
  });
}

Kernel general_product(const Node& node) {
  const Attributes& attributes = node.attributes();
  const std::string activation = attributes.text("activation");
  const double alpha = attributes.number("alpha"), beta = attributes.number("beta");
  const bool trans_a = attributes.integer("transA") != 0, trans_b = attributes.integer("transB") != 0;
  return one([=](Arguments x) {
    const at::Tensor a = trans_a ? x[kA].t() : x[kA];
    const at::Tensor b = trans_b ? x[kB].t() : x[kB];
    at::Tensor result;
    if (argument(x, kBias).defined()) {
      result = at::addmm(x[kBias], a, b, beta, alpha);
    } else {
      result = at::mm(a, b);
      if (alpha != 1) result.mul_(alpha);
    }
    return finished(std::move(result), argument(x, kResidual), activation);
  });
}

}  // namespace

Kernel product_kernel(const Node& node) {
  if (node.op.is("MatMul") && computes(node)) return matrix_product(node);
  if (node.op.is("Gemm") && computes(node)) return general_product(node);
  return {};
}

}  // namespace reverie::eager
