#include <algorithm>

#include "core/exec/cpu/builder.h"

namespace reverie::cpu {
namespace {

/// A product of (batches of) matrices, of equal rank, with what is added to it.
struct Product {
  Slot a;                  ///< ... x m x k
  Slot b;                  ///< ... x k x n
  bool b_is_free = false;  ///< a constant, to be laid out as the kernel likes it
  Dims result;
  double alpha = 1;
  std::optional<Slot> bias;      ///< of the result's rank, broadcast to it
  std::optional<Slot> residual;  ///< like the result
  std::string activation;
};

/// One value per column, which oneDNN adds by itself.
bool is_row(const Product& product, const Slot& bias) {
  const Dims dims = bias.desc.dims();
  return dims.back() == product.result.back() &&
         std::all_of(dims.begin(), dims.end() - 1, [](int64_t extent) { return extent == 1; });
}

void add_product(Builder& builder, const Product& product, ValueId output) {
  const bool scaled = product.alpha != 1;
  const bool row = product.bias && !scaled && is_row(product, *product.bias);
  std::vector<Slot> added;
  dnnl::post_ops ops;
  if (scaled)
    ops.append_eltwise(1, dnnl::algorithm::eltwise_linear, static_cast<float>(product.alpha), 0);
  for (const std::optional<Slot>& slot : {row ? std::nullopt : product.bias, product.residual}) {
    if (!slot) continue;
    ops.append_binary(dnnl::algorithm::binary_add, slot->desc);
    added.push_back(*slot);
  }
  append_activation(ops, product.activation);
  dnnl::primitive_attr attr;
  attr.set_post_ops(ops);

  const Desc b = product.b_is_free ? any_layout(product.b.desc.dims()) : product.b.desc;
  const Desc target = dense(product.result);
  const dnnl::matmul::desc desc =
      row ? dnnl::matmul::desc(product.a.desc, b, product.bias->desc, target)
          : dnnl::matmul::desc(product.a.desc, b, target);
  const dnnl::matmul::primitive_desc chosen(desc, attr, engine());

  std::vector<Argument> reads = {
      {DNNL_ARG_SRC, product.a},
      {DNNL_ARG_WEIGHTS, builder.converted(product.b, chosen.weights_desc())}};
  if (row) reads.push_back({DNNL_ARG_BIAS, *product.bias});
  for (size_t i = 0; i < added.size(); ++i)
    reads.push_back(
        {DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i) + scaled) | DNNL_ARG_SRC_1, added[i]});
  const Slot result = builder.fresh(target);
  builder.add(dnnl::matmul(chosen), std::move(reads), {{DNNL_ARG_DST, result}});
  builder.define(output, {result.buffer, plain_desc(builder.type(output))});
}

Dims with_rank(Dims dims, size_t rank) {
  dims.insert(dims.begin(), rank > dims.size() ? rank - dims.size() : 0, 1);
  return dims;
}

Slot viewed(Builder& builder, ValueId value, const Dims& dims) {
  return {builder.plain(value).buffer, dense(dims)};
}

int64_t product_of(Dims::const_iterator first, Dims::const_iterator last) {
  int64_t total = 1;
  for (; first != last; ++first) total *= *first;
  return total;
}

/// All rows of all batches as one matrix; possible where every batch meets the same b.
Dims collapsed(const Dims& dims) { return {product_of(dims.begin(), dims.end() - 1), dims.back()}; }

struct Extents {
  Dims a, b, result, bias;
};

/// Extents of equal rank, vectors made matrices; collapsed to matrices where that is possible.
Extents extents_of(const Builder& builder, std::span<const ValueId> inputs, ValueId output) {
  Extents e{builder.dims(inputs[0]), builder.dims(inputs[1]), builder.dims(output), {}};
  if (builder.type(inputs[0]).rank() == 1) e.a.insert(e.a.begin(), 1);
  if (builder.type(inputs[1]).rank() == 1) e.b.push_back(1);
  const size_t rank = std::max(e.a.size(), e.b.size());
  e.a = with_rank(e.a, rank);
  e.b = with_rank(e.b, rank);
  e.result.clear();
  for (size_t i = 0; i + 2 < rank; ++i) e.result.push_back(std::max(e.a[i], e.b[i]));
  e.result.push_back(e.a[rank - 2]);
  e.result.push_back(e.b[rank - 1]);
  const bool has_bias = inputs.size() > 2 && inputs[2].valid();
  if (has_bias) e.bias = with_rank(builder.dims(inputs[2]), rank);
  const bool one_b = product_of(e.b.begin(), e.b.end() - 2) == 1;
  const bool bias_allows =
      !has_bias || e.bias == e.result || product_of(e.bias.begin(), e.bias.end() - 1) == 1;
  if (rank > 2 && one_b && bias_allows) {
    e = {collapsed(e.a),
         {e.b[rank - 2], e.b[rank - 1]},
         collapsed(e.result),
         has_bias ? collapsed(e.bias) : Dims{}};
  }
  return e;
}

}  // namespace

bool lower_matmul(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const auto inputs = builder.graph().inputs(node);
  const ValueId output = builder.graph().output(node);
  const bool vectors = builder.type(inputs[0]).rank() == 1 || builder.type(inputs[1]).rank() == 1;
  if (vectors && inputs.size() > 2) return false;
  const Extents extents = extents_of(builder, inputs, output);
  Product product{.a = viewed(builder, inputs[0], extents.a),
                  .b = viewed(builder, inputs[1], extents.b),
                  .b_is_free = builder.graph().is_constant(inputs[1]),
                  .result = extents.result,
                  .bias = {},
                  .residual = {},
                  .activation = builder.graph().attributes(node).text("activation")};
  if (!extents.bias.empty()) product.bias = viewed(builder, inputs[2], extents.bias);
  if (inputs.size() > 3 && inputs[3].valid())
    product.residual = viewed(builder, inputs[3], extents.result);
  add_product(builder, product, output);
  return true;
}

bool lower_gemm(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const auto inputs = builder.graph().inputs(node);
  const ValueId output = builder.graph().output(node);
  const Attributes& attributes = builder.graph().attributes(node);
  const auto matrix = [&](ValueId value, bool transposed) -> Slot {
    const Dims dims = builder.dims(value);
    const Slot slot = builder.plain(value);
    return {slot.buffer, transposed ? strided({dims[1], dims[0]}, {1, dims[1]}) : dense(dims)};
  };
  const bool has_bias = inputs.size() > 2 && inputs[2].valid();
  if (has_bias && attributes.number("beta") != 1) return false;
  Product product{.a = matrix(inputs[0], attributes.integer("transA") != 0),
                  .b = matrix(inputs[1], attributes.integer("transB") != 0),
                  .b_is_free = builder.graph().is_constant(inputs[1]),
                  .result = builder.dims(output),
                  .alpha = attributes.number("alpha"),
                  .bias = {},
                  .residual = {},
                  .activation = attributes.text("activation")};
  if (has_bias) product.bias = viewed(builder, inputs[2], with_rank(builder.dims(inputs[2]), 2));
  if (inputs.size() > 3 && inputs[3].valid())
    product.residual = viewed(builder, inputs[3], product.result);
  add_product(builder, product, output);
  return true;
}

}  // namespace reverie::cpu
