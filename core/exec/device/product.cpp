#include <algorithm>

#include "core/exec/device/builder.h"

namespace reverie::device {
namespace {

Shape with_rank(Shape shape, size_t rank) {
  shape.insert(shape.begin(), rank > shape.size() ? rank - shape.size() : 0, 1);
  return shape;
}

int64_t batches_of(const Shape& shape) { return element_count({shape.begin(), shape.end() - 2}); }

/// What is added to a product, and what follows.
struct Addends {
  ValueId bias = {}, residual = {};
  Activation activation = Activation::kNone;
};

bool is_row(const Shape& bias, int64_t columns) {
  return !bias.empty() && bias.back() == columns && element_count(bias) == columns;
}

/// The product with all that the call takes in; where it cannot take the bias (it is not one value
/// per column), sums of its own follow.
bool add_product(Builder& builder, Product call, BufferId a, BufferId b, const Addends& addends,
                 ValueId result) {
  const TensorType type = builder.type(result);
  const bool biased = addends.bias.valid();
  const bool takes_bias = biased && is_row(builder.type(addends.bias).shape, call.columns);
  const bool is_last = !biased || takes_bias;
  std::vector<BufferId> reads = {a, b};
  call.has_bias = takes_bias;
  if (takes_bias) reads.push_back(builder.at(addends.bias));
  call.has_residual = addends.residual.valid();
  if (call.has_residual) reads.push_back(builder.at(addends.residual));
  if (is_last) call.activation = addends.activation;
  if (!builder.add(call, std::move(reads), {builder.define(result)})) return false;
  if (is_last) return true;
  return add_elementwise(builder, {.function = Function::kAdd, .activation = addends.activation},
                         std::vector<ValueId>{result, addends.bias}, result);
}

/// Extents of equal rank, vectors made matrices.
struct Matrices {
  Shape a, b;

  Matrices(const Shape& x, const Shape& y) : a(x), b(y) {
    if (a.size() == 1) a.insert(a.begin(), 1);
    if (b.size() == 1) b.push_back(1);
    const size_t rank = std::max(a.size(), b.size());
    a = with_rank(a, rank);
    b = with_rank(b, rank);
  }
  Shape batch_shape() const {
    Shape shape;
    for (size_t i = 0; i + 2 < a.size(); ++i) shape.push_back(std::max(a[i], b[i]));
    return shape;
  }
};

/// The operand with all batches of `batch`, copied where it has only some of them.
std::optional<BufferId> in_all_batches(Builder& builder, ValueId value, const Shape& own,
                                       const Shape& batch) {
  Shape full = batch;
  full.insert(full.end(), own.end() - 2, own.end());
  if (full == own) return builder.at(value);
  const DType dtype = builder.type(value).dtype;
  const BufferId copy = builder.fresh(TensorType{dtype, full}.bytes());
  Movement call{.element_bytes = size_of(dtype), .pieces = {}};
  call.pieces.push_back({.shape = full,
                         .source_strides = broadcast_strides(own, full),
                         .target_strides = row_major(full)});
  if (!add_movement(builder, std::move(call), {builder.at(value)}, {copy})) return {};
  return copy;
}

}  // namespace

bool lower_matmul(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const auto inputs = builder.graph().inputs(node);
  const ValueId output = builder.graph().output(node);
  const Matrices extents(builder.type(inputs[0]).shape, builder.type(inputs[1]).shape);
  const Shape batch = extents.batch_shape();
  Product call{.dtype = builder.type(output).dtype,
               .batches = element_count(batch),
               .rows = extents.a[extents.a.size() - 2],
               .columns = extents.b.back(),
               .inner = extents.a.back()};
  Addends addends{.activation = activation_of(builder.graph().attributes(node))};
  if (inputs.size() > 2) addends.bias = inputs[2];
  if (inputs.size() > 3) addends.residual = inputs[3];
  if (batches_of(extents.b) == 1) {  // one matrix of all rows
    call.rows *= call.batches;
    call.batches = 1;
    return add_product(builder, call, builder.at(inputs[0]), builder.at(inputs[1]), addends,
                       output);
  }
  const bool one_a = batches_of(extents.a) == 1;
  const auto a =
      one_a ? builder.at(inputs[0]) : in_all_batches(builder, inputs[0], extents.a, batch);
  const auto b = in_all_batches(builder, inputs[1], extents.b, batch);
  if (!a || !b) return false;
  call.a_stride = one_a ? 0 : call.rows * call.inner;
  call.b_stride = call.inner * call.columns;
  return add_product(builder, call, *a, *b, addends, output);
}

bool lower_gemm(Builder& builder, NodeId node) {
  if (!all_float(builder, node)) return false;
  const auto inputs = builder.graph().inputs(node);
  const ValueId output = builder.graph().output(node);
  const Attributes& attributes = builder.graph().attributes(node);
  const bool biased = inputs.size() > 2 && inputs[2].valid();
  if (biased && attributes.number("beta") != 1) return false;
  const Shape& result = builder.type(output).shape;
  Product call{.dtype = builder.type(output).dtype,
               .rows = result[0],
               .columns = result[1],
               .inner = builder.type(inputs[0]).elements() / result[0],
               .a_transposed = attributes.integer("transA") != 0,
               .b_transposed = attributes.integer("transB") != 0,
               .alpha = attributes.number("alpha")};
  Addends addends{.activation = activation_of(attributes)};
  if (biased) addends.bias = inputs[2];
  if (inputs.size() > 3) addends.residual = inputs[3];
  return add_product(builder, call, builder.at(inputs[0]), builder.at(inputs[1]), addends, output);
}

}  // namespace reverie::device
