#include "core/onnx/infer_further.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "core/onnx/runtime_forms.h"

namespace reverie::proto {
namespace {

using Dim = onnx::TensorShapeProto::Dimension;
using Dims = std::vector<Dim>;
constexpr int32_t kFloat = onnx::TensorProto::FLOAT;

Dim dim_of(int64_t extent) {
  Dim dim;
  dim.set_dim_value(extent);
  return dim;
}

/// Not known where one of them is not.
Dim sum(const Dim& a, const Dim& b) {
  return has_extent(a) && has_extent(b) ? dim_of(a.dim_value() + b.dim_value()) : Dim();
}
Dim multiple(const Dim& a, int64_t factor) {
  return has_extent(a) ? dim_of(a.dim_value() * factor) : Dim();
}
Dim part(const Dim& a, int64_t count) {
  const bool divides = has_extent(a) && count > 0 && a.dim_value() % count == 0;
  return divides ? dim_of(a.dim_value() / count) : Dim();
}

/// A node, what is known of its inputs, and its outputs to be.
class Call {
 public:
  Call(const onnx::NodeProto& node, const std::vector<onnx::TypeProto>& inputs,
       std::vector<onnx::TypeProto>* outputs)
      : node_(node), inputs_(inputs), outputs_(*outputs) {}

  /// Whether it has the input, known or not.
  bool is_given(int input) const {
    return input < node_.input_size() && !node_.input(input).empty();
  }
  bool has(size_t input) const {
    return input < inputs_.size() && inputs_[input].tensor_type().has_shape();
  }
  int rank(size_t input) const { return has(input) ? shape(input).dim_size() : -1; }
  Dim dim(size_t input, int axis) const {
    return shape(input).dim(axis < 0 ? axis + rank(input) : axis);
  }
  Dims dims(size_t input) const { return {shape(input).dim().begin(), shape(input).dim().end()}; }
  int32_t element(size_t input) const {
    return input < inputs_.size() ? inputs_[input].tensor_type().elem_type()
                                  : onnx::TensorProto::UNDEFINED;
  }

  const onnx::AttributeProto* attribute(std::string_view name) const {
    const auto at = std::ranges::find(node_.attribute(), name, &onnx::AttributeProto::name);
    return at == node_.attribute().end() ? nullptr : &*at;
  }
  int64_t integer(std::string_view name, int64_t otherwise = 0) const {
    const auto* found = attribute(name);
    return found == nullptr ? otherwise : found->i();
  }

  void set(int output, int32_t element, const Dims& dims) {
    if (output >= node_.output_size()) return;
    onnx::TypeProto& type = outputs_[static_cast<size_t>(output)];
    if (type.tensor_type().has_shape() || element == onnx::TensorProto::UNDEFINED) return;
    type.mutable_tensor_type()->set_elem_type(element);
    auto* shape = type.mutable_tensor_type()->mutable_shape();
    for (const Dim& dim : dims) *shape->add_dim() = dim;
  }
  void set_as(int output, size_t input) {
    if (has(input)) set(output, element(input), dims(input));
  }

 private:
  const onnx::TensorShapeProto& shape(size_t input) const {
    return inputs_[input].tensor_type().shape();
  }

  const onnx::NodeProto& node_;
  const std::vector<onnx::TypeProto>& inputs_;
  std::vector<onnx::TypeProto>& outputs_;
};

void as_first(Call& call) { call.set_as(0, 0); }

void skip_normalization(Call& call) {
  call.set_as(0, 0);
  call.set_as(3, 0);
}

/// The result has the scale's type. Further outputs are statistics, with an extent of 1 for each
/// axis that is normalised.
void layer_normalization(Call& call) {
  if (!call.has(0)) return;
  call.set(0, call.element(call.has(1) ? 1 : 0), call.dims(0));
  Dims dims = call.dims(0);
  const int64_t given = call.integer("axis", -1);
  const int64_t axis = given < 0 ? given + call.rank(0) : given;
  for (size_t i = 0; i < dims.size(); ++i)
    if (static_cast<int64_t>(i) >= axis) dims[i] = dim_of(1);
  call.set(1, kFloat, dims);
  call.set(2, kFloat, dims);
}

/// Of the extents that broadcast to one.
Dim broadcast(const Dim& a, const Dim& b) {
  if (has_extent(a) && a.dim_value() != 1) return a;
  if (has_extent(b) && b.dim_value() != 1) return b;
  return has_extent(a) ? b : has_extent(b) ? a : Dim();
}

Dims broadcast(Dims a, Dims b) {
  if (a.size() < b.size()) std::swap(a, b);
  const size_t more = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) a[more + i] = broadcast(a[more + i], b[i]);
  return a;
}

void product(Call& call, int32_t element) {
  if (call.rank(0) < 2 || call.rank(1) < 2) return;
  const bool trans_a = call.integer("transA") != 0, trans_b = call.integer("transB") != 0;
  if (call.integer("transBatchA") != 0 || call.integer("transBatchB") != 0) return;
  const Dims a = call.dims(0), b = call.dims(1);
  Dims dims = broadcast(Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2));
  dims.push_back(call.dim(0, trans_a ? -1 : -2));
  dims.push_back(call.dim(1, trans_b ? -2 : -1));
  call.set(0, element, dims);
}

void product_of_floats(Call& call) { product(call, call.element(0)); }
void product_of_integers(Call& call) { product(call, call.element(2)); }

void product_with_blocks(Call& call) {
  if (call.rank(0) < 1) return;
  Dims dims = call.dims(0);
  dims.back() = dim_of(call.integer("N"));
  call.set(0, call.element(0), dims);
}

void quantized_binary(Call& call) {
  if (call.has(0) && call.has(3))
    call.set(0, call.element(0), broadcast(call.dims(0), call.dims(3)));
}

/// ONNX Runtime's, with one input and one weight for queries, keys and values.
void joint_attention(Call& call) {
  if (call.rank(0) != 3 || call.rank(1) != 2) return;
  const auto* sizes = call.attribute("qkv_hidden_sizes");
  const bool has_sizes = sizes != nullptr && sizes->ints_size() == 3;
  const Dim hidden = has_sizes ? dim_of(sizes->ints(2)) : part(call.dim(1, 1), 3);
  const Dim batch = call.dim(0, 0), length = call.dim(0, 1);
  call.set(0, call.element(0), {batch, length, hidden});
  const int64_t heads = call.integer("num_heads");
  if (has_sizes) return;
  if (call.integer("past_present_share_buffer") != 0) return call.set_as(1, 4);
  const Dim past = call.rank(4) == 5 ? call.dim(4, 3) : Dim();
  const Dim total = call.is_given(4) ? sum(past, length) : length;
  call.set(1, call.element(0), {dim_of(2), batch, dim_of(heads), total, part(hidden, heads)});
}

/// Keys or values [batch, heads, length, size], or [batch, length, heads * size].
Dims by_heads(const Call& call, size_t input, int64_t heads) {
  if (call.rank(input) == 4) return call.dims(input);
  return {call.dim(input, 0), dim_of(heads), call.dim(input, 1), part(call.dim(input, 2), heads)};
}

Dims after_past(const Call& call, Dims current, size_t past) {
  const Dim length = call.rank(past) == 4 ? call.dim(past, 2) : Dim();
  if (call.is_given(static_cast<int>(past))) current[2] = sum(current[2], length);
  return current;
}

/// ONNX Runtime's, with separate queries, keys and values; packed ones have five axes.
void multi_head_attention(Call& call) {
  if (call.rank(0) == 5) {
    const Dim size = multiple(call.dim(0, 4), call.integer("num_heads"));
    return call.set(0, call.element(0), {call.dim(0, 0), call.dim(0, 1), size});
  }
  if (call.rank(0) != 3 || call.rank(1) < 3) return;
  const int64_t heads = call.integer("num_heads");
  const bool is_packed = call.rank(1) == 5;
  if (!is_packed && call.rank(2) < 3) return;
  const Dim hidden = is_packed           ? call.dim(0, 2)
                     : call.rank(2) == 4 ? multiple(call.dim(2, 3), heads)
                                         : call.dim(2, 2);
  call.set(0, call.element(0), {call.dim(0, 0), call.dim(0, 1), hidden});
  const bool shares_buffers = call.is_given(8);  // which then has the length of what is past
  if (is_packed || shares_buffers) return;
  call.set(1, call.element(0), after_past(call, by_heads(call, 1, heads), 6));
  call.set(2, call.element(0), after_past(call, by_heads(call, 2, heads), 7));
}

void group_query_attention(Call& call) {
  if (call.rank(0) != 3) return;
  const int64_t heads = call.integer("num_heads"), kv_heads = call.integer("kv_num_heads");
  const Dim size =
      call.is_given(1) ? part(call.dim(0, 2), heads) : part(call.dim(0, 2), heads + 2 * kv_heads);
  call.set(0, call.element(0), {call.dim(0, 0), call.dim(0, 1), multiple(size, heads)});
  for (const int output : {1, 2})  // the cache may be as long as it was, or grow
    call.set(output, call.element(0), {call.dim(0, 0), dim_of(kv_heads), Dim(), size});
}

void embedding(Call& call) {
  if (call.rank(0) != 2 || call.rank(2) != 2) return;
  const Dims dims = {call.dim(0, 0), call.dim(0, 1), call.dim(2, 1)};
  call.set(0, call.element(2), dims);
  call.set(1, onnx::TensorProto::INT32, {call.dim(0, 0)});
  call.set(2, call.element(2), dims);
}

/// ONNX operator specification, Attention (opset 23): three axes, with the heads inside of the
/// last, or four.
void attention(Call& call) {
  for (const size_t input : {0, 1, 2})
    if (call.rank(input) != call.rank(0) || (call.rank(0) != 3 && call.rank(0) != 4)) return;
  const bool is_flat = call.rank(0) == 3;
  const int64_t q_heads = call.integer("q_num_heads"), kv_heads = call.integer("kv_num_heads");
  const Dims q = by_heads(call, 0, q_heads);
  const Dims k = after_past(call, by_heads(call, 1, kv_heads), 4);
  const Dims v = after_past(call, by_heads(call, 2, kv_heads), 5);
  const int32_t type = call.element(0);
  call.set(0, type,
           is_flat ? Dims{q[0], q[2], multiple(v[3], q_heads)} : Dims{q[0], q[1], q[2], v[3]});
  call.set(1, call.element(1), k);
  call.set(2, call.element(2), v);
  call.set(3, type, {q[0], q[1], q[2], k[2]});
}

/// `output_dtype` says the type, or an input does.
void set_typed(Call& call, size_t like, int32_t otherwise) {
  if (!call.has(0)) return;
  const auto given = static_cast<int32_t>(call.integer("output_dtype"));
  const int32_t by_input =
      call.element(like) == onnx::TensorProto::UNDEFINED ? otherwise : call.element(like);
  call.set(0, given != onnx::TensorProto::UNDEFINED ? given : by_input, call.dims(0));
}

void quantize(Call& call) { set_typed(call, 2, onnx::TensorProto::UINT8); }
void dequantize(Call& call) { set_typed(call, 1, onnx::TensorProto::UNDEFINED); }
void cast_like(Call& call) {
  if (call.has(0)) call.set(0, call.element(1), call.dims(0));
}
void cast(Call& call) {
  if (call.has(0)) call.set(0, static_cast<int32_t>(call.integer("to")), call.dims(0));
}

void constant(Call& call) {
  const auto* value = call.attribute("value");
  if (value == nullptr) return;
  Dims dims;
  for (const int64_t extent : value->t().dims()) dims.push_back(dim_of(extent));
  call.set(0, value->t().data_type(), dims);
}

using Rule = void (*)(Call&);
using Rules = std::unordered_map<std::string_view, Rule>;

Rules with(Rules rules, std::initializer_list<std::string_view> ops, Rule rule) {
  for (const std::string_view op : ops) rules.emplace(op, rule);
  return rules;
}

const Rules& standard_rules() {
  static const Rules rules = with({{"LayerNormalization", layer_normalization},
                                   {"SimplifiedLayerNormalization", layer_normalization},
                                   {"RMSNormalization", layer_normalization},
                                   {"Attention", attention},
                                   {"QuantizeLinear", quantize},
                                   {"DequantizeLinear", dequantize},
                                   {"Cast", cast},
                                   {"CastLike", cast_like},
                                   {"Constant", constant}},
                                  {"RotaryEmbedding", "TensorScatter", "Swish", "Affine",
                                   "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"},
                                  as_first);
  return rules;
}

const Rules& runtime_rules() {
  static const Rules rules =
      with({{"SkipLayerNormalization", skip_normalization},
            {"SkipSimplifiedLayerNormalization", skip_normalization},
            {"FusedMatMul", product_of_floats},
            {"TransposeMatMul", product_of_floats},
            {"DynamicQuantizeMatMul", product_of_floats},
            {"MatMulIntegerToFloat", product_of_integers},
            {"MatMulNBits", product_with_blocks},
            {"QLinearAdd", quantized_binary},
            {"QLinearMul", quantized_binary},
            {"Attention", joint_attention},
            {"MultiHeadAttention", multi_head_attention},
            {"GroupQueryAttention", group_query_attention},
            {"EmbedLayerNormalization", embedding},
            {"QuantizeLinear", quantize},
            {"DequantizeLinear", dequantize}},
           {"BiasAdd", "BiasGelu", "FastGelu", "Gelu", "GroupNorm", "Inverse", "QLinearLeakyRelu",
            "QLinearSigmoid", "QLinearSoftmax", "QuickGelu", "RotaryEmbedding", "Trilu"},
           as_first);
  return rules;
}

}  // namespace

void infer_further(const onnx::NodeProto& node, const std::vector<onnx::TypeProto>& inputs,
                   std::vector<onnx::TypeProto>* outputs) {
  const bool is_standard = is_standard_domain(node.domain());
  if (!is_standard && node.domain() != kRuntimeDomain) return;
  const Rules& rules = is_standard ? standard_rules() : runtime_rules();
  const auto rule = rules.find(node.op_type());
  Call call(node, inputs, outputs);
  if (rule != rules.end()) rule->second(call);
}

}  // namespace reverie::proto
