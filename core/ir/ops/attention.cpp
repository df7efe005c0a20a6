#include "core/base/error.h"
#include "core/ir/ops/common.h"
#include "core/ir/ops/range.h"

/// ONNX Runtime's attention (docs/ContribOperators.md there), without what was computed before: the
/// inputs and outputs for that are absent.
namespace reverie::ops {
namespace {

struct Extents {
  int64_t batch, queries, keys, hidden, value_hidden;
};

OpSchema attention_row(std::string name, int min_inputs) {
  OpSchema row;
  row.name = std::move(name);
  row.min_inputs = min_inputs;
  row.max_inputs = 6;
  row.range = range::finite;
  row.attributes = {required("num_heads"),
                    number("scale", 0.0),
                    number("mask_filter_value", -10000.0),
                    {.name = "unidirectional", .fallback = int64_t{0}}};
  return row;
}

void require_rank(const OpContext& node, size_t input, int rank) {
  if (node.inputs[input].rank() != rank)
    throw InputError("input {} has {} axes, not {}", input, node.inputs[input].rank(), rank);
}

/// All inputs but the mask are of one floating type.
void require_elements(const OpContext& node, size_t mask) {
  require_floating(node.inputs[0]);
  for (size_t i = 1; i < node.inputs.size(); ++i)
    if (i != mask && node.has_input(i))
      require_dtype(node.inputs[i], node.inputs[0].dtype, "an input");
}

/// One of lengths [batch] or of keys [batch, keys]; and what is added to scores.
void require_masks(const OpContext& node, size_t mask, const Extents& extents) {
  const int64_t heads = node.attributes.integer("num_heads");
  if (heads < 1 || extents.hidden % heads != 0 || extents.value_hidden % heads != 0)
    throw InputError("{} columns do not divide into {} heads", extents.hidden, heads);
  if (node.has_input(mask)) {
    const DType dtype = node.inputs[mask].dtype;
    if (dtype != DType::kInt32 && dtype != DType::kInt64)
      throw InputError("the mask should have integers, not {}", name_of(dtype));
    const bool is_length = node.inputs[mask].rank() == 1;
    require_shape(node.inputs[mask],
                  is_length ? Shape{extents.batch} : Shape{extents.batch, extents.keys},
                  "the mask");
  }
  if (node.has_input(5)) {
    require_rank(node, 5, 4);
    require_broadcasts_to(node.inputs[5], {extents.batch, heads, extents.queries, extents.keys},
                          "what is added to the scores");
  }
}

/// The product of queries and keys, that of their softmax (5) and values.
int64_t attention_flops(const OpContext& node, const Extents& extents) {
  const int64_t scores = extents.batch * extents.queries * extents.keys;
  return scores *
         (2 * extents.hidden + 2 * extents.value_hidden + 5 * node.attributes.integer("num_heads"));
}

Extents joint_extents(const OpContext& node) {
  const Shape& x = node.inputs[0].shape;
  const int64_t hidden = node.inputs[1].shape[1] / 3;
  return {x[0], x[1], x[1], hidden, hidden};
}

/// (input [batch, length, columns], weights [columns, 3 * hidden], bias, mask, absent, added).
OpSchema joint_attention() {
  constexpr size_t kMask = 3, kPast = 4;
  OpSchema row = attention_row("JointAttention", 2);
  row.infer = [](const OpContext& node) {
    require_rank(node, 0, 3);
    require_rank(node, 1, 2);
    require_elements(node, kMask);
    const int64_t joint = node.inputs[1].shape[1];
    if (joint % 3 != 0 || node.inputs[1].shape[0] != node.inputs[0].shape[2])
      throw InputError("the weights should be [{}, 3 x hidden], not {}", node.inputs[0].shape[2],
                       to_string(node.inputs[1].shape));
    if (node.has_input(2)) require_shape(node.inputs[2], {joint}, "the bias");
    if (node.has_input(kPast)) throw InputError("has keys and values of before");
    const Extents extents = joint_extents(node);
    require_masks(node, kMask, extents);
    return Types{{node.inputs[0].dtype, {extents.batch, extents.queries, extents.hidden}}};
  };
  row.flops = [](const OpContext& node) {
    return 2 * node.inputs[0].elements() * node.inputs[1].shape[1] +
           attention_flops(node, joint_extents(node));
  };
  return row;
}

Extents separate_extents(const OpContext& node) {
  const Shape& q = node.inputs[0].shape;
  return {q[0], q[1], node.inputs[1].shape[1], q[2], node.inputs[2].shape[2]};
}

/// (queries, keys, values, each [batch, length, columns], bias, mask, added).
OpSchema multi_head_attention() {
  constexpr size_t kMask = 4;
  OpSchema row = attention_row("MultiHeadAttention", 3);
  row.infer = [](const OpContext& node) {
    for (const size_t input : {0, 1, 2}) require_rank(node, input, 3);
    require_elements(node, kMask);
    const Extents extents = separate_extents(node);
    require_shape(node.inputs[1], {extents.batch, extents.keys, extents.hidden}, "the keys");
    require_shape(node.inputs[2], {extents.batch, extents.keys, extents.value_hidden},
                  "the values");
    if (node.has_input(3))
      require_shape(node.inputs[3], {2 * extents.hidden + extents.value_hidden}, "the bias");
    require_masks(node, kMask, extents);
    return Types{{node.inputs[0].dtype, {extents.batch, extents.queries, extents.value_hidden}}};
  };
  row.flops = [](const OpContext& node) { return attention_flops(node, separate_extents(node)); };
  return row;
}

}  // namespace

std::vector<OpSchema> attention() { return {joint_attention(), multi_head_attention()}; }

}  // namespace reverie::ops
