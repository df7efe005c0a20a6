#include <algorithm>

#include "core/base/error.h"
#include "core/ir/einsum.h"
#include "core/ir/ops/common.h"
#include "core/ir/ops/range.h"

namespace reverie::ops {
namespace {

enum : size_t { kA, kB, kBias, kResidual };

OpSchema product(std::string name) {
  OpSchema row;
  row.name = std::move(name);
  row.min_inputs = 2;
  row.max_inputs = 4;
  row.attributes = {{.name = "activation", .fallback = std::string("none")}};
  row.range = range::finite;
  return row;
}

void require_product(const OpContext& node) {
  require_same_dtype(node);
  require_numeric(node.inputs[kA]);
  require_activation(node.attributes);
}

Types with_epilogue(const OpContext& node, TensorType result) {
  if (node.has_input(kBias)) require_broadcasts_to(node.inputs[kBias], result.shape, "the bias");
  if (node.has_input(kResidual))
    require_shape(node.inputs[kResidual], result.shape, "the residual");
  return {std::move(result)};
}

void require_inner(int64_t a, int64_t b) {
  if (a != b) throw InputError("inner extents {} and {} differ", a, b);
}

Types infer_matmul(const OpContext& node) {
  require_product(node);
  Shape a = node.inputs[kA].shape;
  Shape b = node.inputs[kB].shape;
  if (a.empty() || b.empty()) throw InputError("cannot multiply a scalar; use Mul");
  const bool row_vector = a.size() == 1;
  const bool column_vector = b.size() == 1;
  if (row_vector) a.insert(a.begin(), 1);
  if (column_vector) b.push_back(1);
  require_inner(a.back(), b[b.size() - 2]);
  Shape result = broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!row_vector) result.push_back(a[a.size() - 2]);
  if (!column_vector) result.push_back(b.back());
  return with_epilogue(node, {node.inputs[kA].dtype, std::move(result)});
}

OpSchema matmul() {
  OpSchema row = product("MatMul");
  row.infer = infer_matmul;
  row.flops = [](const OpContext& node) {
    return 2 * node.outputs[0].elements() * node.inputs[kA].shape.back() +
           epilogue_flops(node, kBias, kResidual);
  };
  return row;
}

int64_t gemm_inner(const OpContext& node) {
  return node.inputs[kA].shape[node.attributes.integer("transA") ? 0 : 1];
}

Types infer_gemm(const OpContext& node) {
  require_product(node);
  for (const size_t i : {kA, kB})
    if (node.inputs[i].rank() != 2)
      throw InputError("needs matrices, not a tensor of rank {}", node.inputs[i].rank());
  const Shape& a = node.inputs[kA].shape;
  const Shape& b = node.inputs[kB].shape;
  const bool trans_a = node.attributes.integer("transA") != 0;
  const bool trans_b = node.attributes.integer("transB") != 0;
  require_inner(gemm_inner(node), b[trans_b ? 1 : 0]);
  return with_epilogue(node, {node.inputs[kA].dtype, {a[trans_a ? 1 : 0], b[trans_b ? 0 : 1]}});
}

OpSchema gemm() {
  OpSchema row = product("Gemm");
  row.attributes.push_back({.name = "alpha", .fallback = 1.0});
  row.attributes.push_back({.name = "beta", .fallback = 1.0});
  row.attributes.push_back({.name = "transA", .fallback = int64_t{0}});
  row.attributes.push_back({.name = "transB", .fallback = int64_t{0}});
  row.infer = infer_gemm;
  row.flops = [](const OpContext& node) {
    return 2 * node.outputs[0].elements() * gemm_inner(node) +
           epilogue_flops(node, kBias, kResidual);
  };
  return row;
}

Einsum sum_of(const Attributes& attributes, std::span<const TensorType> inputs) {
  std::vector<int> ranks;
  for (const TensorType& type : inputs) ranks.push_back(type.rank());
  return parse_einsum(attributes.text("equation"), ranks);
}

std::map<char, int64_t> extents_of(const OpContext& node, const Einsum& sum) {
  std::vector<Shape> shapes;
  for (const TensorType& type : node.inputs) shapes.push_back(type.shape);
  return einsum_extents(sum, shapes);
}

OpSchema einsum() {
  OpSchema row;
  row.name = "Einsum";
  row.range = range::finite;
  row.min_inputs = 1;
  row.max_inputs = OpSchema::kVariadic;
  row.attributes = {required("equation")};
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    attributes.set("equation", to_string(sum_of(attributes, inputs)));
  };
  row.infer = [](const OpContext& node) {
    require_same_dtype(node);
    require_numeric(node.inputs[0]);
    for (const TensorType& type : node.inputs)
      if (!type.known()) throw InputError("an input is absent");
    const Einsum sum = sum_of(node.attributes, node.inputs);
    const std::map<char, int64_t> extents = extents_of(node, sum);
    Shape every, result;
    for (const auto& [letter, extent] : extents) every.push_back(extent);
    element_count(every);  // throws where there are too many terms
    for (const char letter : sum.result) result.push_back(extents.at(letter));
    return Types{{node.inputs[0].dtype, std::move(result)}};
  };
  row.flops = [](const OpContext& node) {
    auto flops = static_cast<int64_t>(node.inputs.size());
    for (const auto& [letter, extent] : extents_of(node, sum_of(node.attributes, node.inputs)))
      flops *= extent;
    return flops;
  };
  return row;
}

Shape swapped_last(Shape shape, bool swap) {
  if (swap) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

/// ONNX Runtime's: alpha times the product of tensors whose last two axes may be swapped.
OpSchema fused_matmul() {
  OpSchema row;
  row.name = "FusedMatMul";
  row.range = range::finite;
  row.min_inputs = row.max_inputs = 2;
  row.attributes = {number("alpha", 1.0),
                    {.name = "transA", .fallback = int64_t{0}},
                    {.name = "transB", .fallback = int64_t{0}}};
  row.normalize = [](Attributes& attributes, std::span<const TensorType> inputs) {
    if (inputs[kA].rank() < 2) attributes.set("transA", int64_t{0});
    if (inputs[kB].rank() < 2) attributes.set("transB", int64_t{0});
  };
  row.infer = [](const OpContext& node) {
    require_floating(node.inputs[kA]);
    TensorType a = node.inputs[kA], b = node.inputs[kB];
    a.shape = swapped_last(a.shape, node.attributes.integer("transA") != 0);
    b.shape = swapped_last(b.shape, node.attributes.integer("transB") != 0);
    const TensorType turned[] = {a, b};
    const Attributes plain = {{"activation", std::string("none")}};
    return infer_matmul({turned, {}, plain});
  };
  row.flops = [](const OpContext& node) {
    const bool trans_a = node.attributes.integer("transA") != 0;
    return 2 * node.outputs[0].elements() * swapped_last(node.inputs[kA].shape, trans_a).back();
  };
  return row;
}

}  // namespace

std::vector<OpSchema> linear() { return {matmul(), gemm()}; }

std::vector<OpSchema> further_linear() { return {einsum(), fused_matmul()}; }

}  // namespace reverie::ops
