#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/ir/graph.h"

namespace reverie {

/// Builds well-typed float graphs at random: convolutions, products, pools, normalizations,
/// elementwise operators, reductions, movement and indexing over one or two inputs, with weights
/// large and small, dense and fill, shared and computed. Values stay finite and tensors small (at
/// most kMaxElements), so that a graph runs in milliseconds. Equal seeds give equal graphs.
class RandomGraph {
 public:
  static constexpr int64_t kMaxElements = 2048;

  /// About `nodes` nodes of work.
  static Graph make(uint64_t seed, int nodes = 25) { return RandomGraph(seed).build(nodes); }

 private:
  using List = std::vector<int64_t>;

  explicit RandomGraph(uint64_t seed) : rng_(seed) {}

  Graph build(int nodes) {
    add(graph_.add_input("x",
                         floats(one_of<Shape>({{1, 4, 6, 6}, {2, 3, 5, 4}, {2, 8}, {3, 4, 6}}))));
    if (flip()) add(graph_.add_input("second", floats(one_of<Shape>({{1, 4, 6, 6}, {2, 8}, {6}}))));
    const std::vector<void (RandomGraph::*)()> makers = {
        &RandomGraph::unary,      &RandomGraph::binary,    &RandomGraph::binary,
        &RandomGraph::scale,      &RandomGraph::compare,   &RandomGraph::matmul,
        &RandomGraph::twins,      &RandomGraph::gemm,      &RandomGraph::attend,
        &RandomGraph::conv,       &RandomGraph::conv,      &RandomGraph::batch_norm,
        &RandomGraph::pool,       &RandomGraph::reduce,    &RandomGraph::softmax,
        &RandomGraph::layer_norm, &RandomGraph::transpose, &RandomGraph::reshape,
        &RandomGraph::concat,     &RandomGraph::split,     &RandomGraph::slice,
        &RandomGraph::pad,        &RandomGraph::repeat,    &RandomGraph::gather,
        &RandomGraph::squeeze,    &RandomGraph::enlarge,   &RandomGraph::normalize,
        &RandomGraph::index,      &RandomGraph::recur,     &RandomGraph::quantize};
    for (int tries = 0; work_ < nodes && tries < 100 * nodes; ++tries)
      (this->*makers[rng_.below(makers.size())])();
    int outputs = 0;
    for (const ValueId value : values_)
      if (graph_.use_count(value) == 0 || rng_.below(20) == 0)
        graph_.add_output(fmt::format("y{}", outputs++), value);
    return std::move(graph_);
  }

  // --- Drawing --------------------------------------------------------------------------------
  static TensorType floats(Shape shape) { return {DType::kFloat32, std::move(shape)}; }
  bool flip() { return rng_.below(2) == 0; }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng_.below(static_cast<uint64_t>(high - low + 1)));
  }
  template <typename T>
  T one_of(std::vector<T> choices) {
    return choices[rng_.below(choices.size())];
  }
  const Shape& shape(ValueId value) const { return graph_.type(value).shape; }

  /// Recent values are likelier, so that graphs get deep.
  ValueId any() {
    const size_t n = values_.size();
    return values_[n - 1 -
                   static_cast<size_t>(static_cast<double>(n) * rng_.uniform() * rng_.uniform())];
  }
  /// A value of that rank, or an invalid id.
  ValueId of_rank(size_t rank) {
    for (int i = 0; i < 8; ++i)
      if (const ValueId value = any(); shape(value).size() == rank) return value;
    return {};
  }
  ValueId other_of_shape(ValueId like) {
    for (int i = 0; i < 8; ++i)
      if (const ValueId value = any(); value != like && shape(value) == shape(like)) return value;
    return like;
  }
  std::string activation() { return one_of<std::string>({"none", "none", "relu", "tanh"}); }

  // --- Adding ---------------------------------------------------------------------------------
  void add(ValueId value) { values_.push_back(value); }

  ValueId node(std::string_view op, const std::vector<ValueId>& inputs,
               Attributes attributes = {}) {
    const NodeId id = graph_.add_node(op_named(op), inputs, std::move(attributes));
    ++work_;
    return graph_.output(id);
  }
  void keep(std::string_view op, const std::vector<ValueId>& inputs, Attributes attributes = {}) {
    add(node(op, inputs, std::move(attributes)));
  }

  ValueId constant(WeightPtr weight) {
    weights_.push_back(graph_.add_constant(std::move(weight)));
    return weights_.back();
  }
  /// Elements of variance 1 / fan_in, or in [0.5, 1.5]. Sometimes one that exists already, or one
  /// computed from two others.
  ValueId weight(const Shape& shape, double fan_in = 1, bool positive = false) {
    for (const ValueId old : weights_)
      if (!positive && rng_.below(4) == 0 && this->shape(old) == shape) return old;
    const std::string name = fmt::format("w{}", weights_.size());
    if (!positive && element_count(shape) > Weight::kSmallWeight && rng_.below(3) == 0)
      return constant(Weight::fill(floats(shape), 0.5 / fan_in, name));
    Tensor tensor(floats(shape));
    const double reach = std::sqrt(3 / fan_in);
    for (float& x : tensor.data<float>())
      x = static_cast<float>(positive ? rng_.uniform(0.5, 1.5) : rng_.uniform(-reach, reach));
    const ValueId first = constant(Weight::dense(tensor, name));
    if (positive || rng_.below(6) != 0) return first;
    return graph_.add("Add", {first, weight(shape, fan_in)});
  }
  ValueId scalar(float value) {
    return constant(Weight::dense(Tensor::of<float>({}, {value}), ""));
  }

  // --- One operator (or a few) of each kind ----------------------------------------------------
  void unary() {
    const ValueId x = any();
    switch (rng_.below(5)) {
      case 0:
        return keep("Sqrt", {node("Abs", {x})});
      case 1:
        return keep("Exp", {node("Tanh", {x})});
      case 2:
        return keep("Clip", {x}, {{"min", -1.0}, {"max", 2.0}});
      case 3:
        return keep("Cast", {node("Cast", {x}, {{"to", std::string("float64")}})},
                    {{"to", std::string("float32")}});
      default:
        keep(one_of<std::string>({"Relu", "Relu", "Sigmoid", "Tanh", "Neg", "Erf", "Identity",
                                  "LeakyRelu", "HardSigmoid", "HardSwish", "Elu", "Dropout"}),
             {x});
    }
  }
  /// A weight that broadcasts to `x`.
  ValueId broadcastable(ValueId x, bool positive = false) {
    Shape small = shape(x);
    for (int64_t& extent : small)
      if (flip()) extent = 1;
    if (flip())
      small.erase(small.begin(), std::find_if(small.begin(), small.end(),
                                              [](int64_t extent) { return extent != 1; }));
    return weight(small, 1, positive);
  }
  void binary() {
    const ValueId x = any();
    const ValueId y = flip() ? other_of_shape(x) : broadcastable(x);
    const auto op = one_of<std::string>({"Add", "Add", "Sub", "Max", "Min"});
    flip() ? keep(op, {x, y}) : keep(op, {y, x});
  }
  void scale() {
    const ValueId x = any();
    if (rng_.below(3) == 0) return keep("Div", {x, broadcastable(x, true)});
    if (flip()) return keep("Mul", {x, node("Sigmoid", {other_of_shape(x)})});
    keep("Mul", {x, flip() ? broadcastable(x) : scalar(static_cast<float>(rng_.uniform(-2, 2)))});
  }
  void compare() {
    const ValueId x = any();
    const ValueId y = other_of_shape(x);
    const ValueId condition = node(one_of<std::string>({"Greater", "Less"}), {x, scalar(0.1F)});
    keep("Where", {rng_.below(3) == 0 ? node("Not", {condition}) : condition, x, y});
  }
  ValueId matrix_for(ValueId x, int64_t columns) {
    const int64_t inner = shape(x).back();
    return weight({inner, columns}, static_cast<double>(inner));
  }
  void matmul() {
    const ValueId x = any();
    if (shape(x).empty() || shape(x).size() == 1) return;
    const int64_t columns = one_of<int64_t>({4, 8, 12});
    std::vector<ValueId> inputs = {x, matrix_for(x, columns)};
    if (rng_.below(3) == 0) inputs.push_back(weight({columns}));
    keep("MatMul", inputs, {{"activation", activation()}});
  }
  /// Two like operators on one value, joined again.
  void twins() {
    const ValueId x = any();
    if (shape(x).size() < 2) return;
    const bool spatial = shape(x).size() == 4 && flip();
    const auto branch = [&] {
      return spatial ? node("Conv", {x, filter_for(x, 4, 1, 1)})
                     : node("MatMul", {x, matrix_for(x, 4)});
    };
    const ValueId left = branch();
    const ValueId right = branch();
    if (flip()) return keep("Add", {left, right});
    keep("Concat", {left, right}, {{"axis", spatial ? int64_t{1} : int64_t{-1}}});
  }
  void gemm() {
    const ValueId x = of_rank(2);
    if (!x.valid()) return;
    const bool transposed = flip();
    const int64_t inner = shape(x)[1];
    const ValueId w =
        weight(transposed ? Shape{6, inner} : Shape{inner, 6}, static_cast<double>(inner));
    keep("Gemm", {x, w, weight({6})},
         {{"transB", int64_t{transposed}}, {"activation", activation()}});
  }
  /// softmax(x x^T) x
  void attend() {
    const ValueId x = of_rank(3);
    if (!x.valid() || shape(x)[0] * shape(x)[1] * shape(x)[1] > kMaxElements) return;
    const ValueId turned = node("Transpose", {x}, {{"perm", List{0, 2, 1}}});
    keep("MatMul", {node("Softmax", {node("MatMul", {x, turned})}), x});
  }
  ValueId filter_for(ValueId x, int64_t filters, int64_t kernel, int64_t group) {
    const int64_t channels = shape(x)[1] / group;
    return weight({filters, channels, kernel, kernel},
                  static_cast<double>(channels * kernel * kernel));
  }
  void conv() {
    const ValueId x = of_rank(4);
    if (!x.valid()) return;
    const int64_t kernel = one_of<int64_t>({1, 3});
    const int64_t group = shape(x)[1] % 2 == 0 && rng_.below(3) == 0 ? 2 : 1;
    const int64_t filters =
        flip() && shape(x)[1] % group == 0 ? shape(x)[1] : one_of<int64_t>({4, 6});
    if (element_count(shape(x)) / shape(x)[1] * filters > kMaxElements) return;
    std::vector<ValueId> inputs = {x, filter_for(x, filters, kernel, group)};
    if (flip()) inputs.push_back(weight({filters}));
    const int64_t pad = kernel / 2;
    keep("Conv", inputs,
         {{"group", group},
          {"pads", List(4, pad)},
          {"strides", List(2, rng_.below(4) == 0 ? 2 : 1)},
          {"activation", activation()}});
  }
  /// By a transposed convolution, or by repeating or interpolating elements.
  void enlarge() {
    const ValueId x = of_rank(4);
    if (!x.valid() || element_count(shape(x)) > kMaxElements / 8) return;
    const auto mode = one_of<std::string>({"nearest", "linear", "cubic"});
    const Shape& from = shape(x);
    if (rng_.below(4) == 0)
      return keep("Resize", {x},
                  {{"mode", mode}, {"sizes", List{from[0], from[1], from[2] + 1, 3}}});
    if (flip())
      return keep("Resize", {x}, {{"mode", mode}, {"scales", std::vector<double>{1, 1, 2, 1.5}}});
    const int64_t group = from[1] % 2 == 0 && rng_.below(3) == 0 ? 2 : 1;
    const ValueId filter = weight({from[1], 4, 2, 2}, static_cast<double>(from[1]));
    std::vector<ValueId> inputs = {x, filter};
    if (flip()) inputs.push_back(weight({4 * group}));
    keep("ConvTranspose", inputs,
         {{"group", group},
          {"strides", List{2, 1}},
          {"pads", List{between(0, 1), 0, 0, 0}},
          {"output_padding", List{between(0, 1), 0}}});
  }
  void normalize() {
    const ValueId x = any();
    if (shape(x).size() < 3) return;
    const Shape channels = {shape(x)[1]};
    if (rng_.below(3) == 0) return keep("LRN", {x}, {{"size", between(1, 4)}});
    keep("InstanceNormalization", {x, weight(channels), weight(channels)}, {{"epsilon", 0.1}});
  }
  void recur() {
    const ValueId x = of_rank(3);
    if (!x.valid()) return;
    const bool is_gru = flip(), both = rng_.below(3) == 0;
    const int64_t rows = is_gru ? 12 : 16, directions = both ? 2 : 1, width = shape(x)[2];
    std::vector<ValueId> inputs = {x, weight({directions, rows, width}, static_cast<double>(width)),
                                   weight({directions, rows, 4}, 4)};
    if (flip()) inputs.push_back(weight({directions, 2 * rows}));
    const NodeId id =
        graph_.add_node(op_named(is_gru ? "GRU" : "LSTM"), inputs,
                        {{"direction", both ? std::string("bidirectional")
                                            : one_of<std::string>({"forward", "reverse"})}});
    ++work_;
    add(graph_.output(id));
    if (flip()) add(graph_.output(id, 1));
  }
  /// To bytes and back.
  void quantize() {
    const ValueId x = any();
    if (rng_.below(3) != 0) return;
    const ValueId scale = scalar(static_cast<float>(rng_.uniform(0.01, 0.1)));
    const ValueId zero =
        graph_.add_constant(Weight::dense(Tensor::of<double>({}, {3}).cast(DType::kInt8), ""));
    keep("DequantizeLinear", {node("QuantizeLinear", {x, scale, zero}), scale, zero});
  }
  void batch_norm() {
    const ValueId x = any();
    if (shape(x).size() < 2) return;
    const Shape channels = {shape(x)[1]};
    keep("BatchNormalization",
         {x, weight(channels), weight(channels), weight(channels), weight(channels, 1, true)});
  }
  void pool() {
    const ValueId x = of_rank(4);
    if (!x.valid() || std::min(shape(x)[2], shape(x)[3]) < 2) return;
    if (rng_.below(4) == 0)
      return keep(one_of<std::string>({"GlobalAveragePool", "GlobalMaxPool"}), {x});
    keep(one_of<std::string>({"MaxPool", "AveragePool"}), {x},
         {{"kernel_shape", List{2, 2}},
          {"strides", List(2, between(1, 2))},
          {"ceil_mode", between(0, 1)}});
  }
  void reduce() {
    const ValueId x = any();
    if (shape(x).empty()) return;
    const int64_t axis = between(0, static_cast<int64_t>(shape(x).size()) - 1);
    keep(one_of<std::string>({"ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum"}), {x},
         {{"axes", List{axis}}, {"keepdims", int64_t{rng_.below(4) != 0}}});
  }
  void softmax() {
    const ValueId x = any();
    if (shape(x).empty()) return;
    keep("Softmax", {x}, {{"axis", between(0, static_cast<int64_t>(shape(x).size()) - 1)}});
  }
  void layer_norm() {
    const ValueId x = any();
    if (shape(x).empty()) return;
    const Shape last = {shape(x).back()};
    keep("LayerNormalization", {x, weight(last), weight(last)}, {{"epsilon", 0.1}});
  }
  void transpose() {
    const ValueId x = any();
    if (shape(x).empty()) return;
    List perm(shape(x).size());
    std::iota(perm.begin(), perm.end(), 0);
    for (size_t i = perm.size(); i > 1; --i) std::swap(perm[i - 1], perm[rng_.below(i)]);
    keep("Transpose", {x}, {{"perm", perm}});
  }
  void reshape() {
    const ValueId x = any();
    Shape to = shape(x);
    if (to.size() > 1 && flip()) {
      const size_t axis = rng_.below(to.size() - 1);
      to[axis] *= to[axis + 1];
      to.erase(to.begin() + static_cast<ptrdiff_t>(axis) + 1);
    } else if (!to.empty() && to.size() < 4 && to.back() % 2 == 0) {
      to.back() /= 2;
      to.push_back(2);
    } else {
      return keep("Flatten", {x}, {{"axis", between(0, static_cast<int64_t>(to.size()))}});
    }
    keep("Reshape", {x}, {{"shape", to}});
  }
  void concat() {
    const ValueId x = any();
    if (shape(x).empty() || element_count(shape(x)) > kMaxElements / 2) return;
    const int64_t axis = between(0, static_cast<int64_t>(shape(x).size()) - 1);
    keep("Concat", {x, rng_.below(4) == 0 ? weight(shape(x)) : other_of_shape(x)},
         {{"axis", axis}});
  }
  void split() {
    const ValueId x = any();
    if (shape(x).empty()) return;
    const auto axis = rng_.below(shape(x).size());
    const int64_t extent = shape(x)[axis];
    if (extent < 2) return;
    const int64_t first = flip() && extent % 2 == 0 ? extent / 2 : between(1, extent - 1);
    const std::vector<ValueId> input = {x};
    const NodeId id = graph_.add_node(
        op_named("Split"), input,
        {{"axis", static_cast<int64_t>(axis)}, {"split", List{first, extent - first}}});
    ++work_;
    for (const ValueId part : graph_.outputs(id)) add(part);
  }
  void slice() {
    const ValueId x = any();
    if (shape(x).empty()) return;
    const auto axis = rng_.below(shape(x).size());
    const int64_t start = between(0, shape(x)[axis] - 1);
    keep("Slice", {x},
         {{"axes", List{static_cast<int64_t>(axis)}},
          {"starts", List{start}},
          {"ends", List{between(start + 1, shape(x)[axis] + 2)}},
          {"steps", List{between(1, 2)}}});
  }
  void pad() {
    const ValueId x = any();
    if (shape(x).empty() || element_count(shape(x)) > kMaxElements / 4) return;
    List pads(2 * shape(x).size(), 0);
    pads[rng_.below(pads.size())] = 1;
    keep("Pad", {x}, {{"pads", pads}, {"value", flip() ? 0.0 : 1.0}});
  }
  void repeat() {
    const ValueId x = any();
    if (shape(x).empty() || element_count(shape(x)) > kMaxElements / 4) return;
    if (shape(x)[0] == 1) {
      Shape to = shape(x);
      to[0] = 2;
      return keep("Expand", {x}, {{"shape", to}});
    }
    List repeats(shape(x).size(), 1);
    repeats[rng_.below(repeats.size())] = 2;
    keep("Tile", {x}, {{"repeats", repeats}});
  }
  void gather() {
    const ValueId x = any();
    if (shape(x).empty()) return;
    const auto axis = rng_.below(shape(x).size());
    Tensor indices({DType::kInt64, flip() ? Shape{} : Shape{2}});
    for (int64_t& index : indices.data<int64_t>()) index = between(0, shape(x)[axis] - 1);
    const ValueId at = graph_.add_constant(Weight::dense(indices, ""));
    keep("Gather", {x, at}, {{"axis", static_cast<int64_t>(axis)}});
  }
  ValueId indices(const Shape& shape, int64_t extent) {
    Tensor places({DType::kInt64, shape});
    for (int64_t& place : places.data<int64_t>()) place = between(-extent, extent - 1);
    return graph_.add_constant(Weight::dense(places, ""));
  }
  void index() {
    const ValueId x = any();
    if (shape(x).empty()) return;
    const auto at = rng_.below(shape(x).size());
    const auto axis = static_cast<int64_t>(at);
    const int64_t extent = shape(x)[at];
    Shape rest(shape(x).begin() + 1, shape(x).end());
    switch (rng_.below(8)) {
      case 0:
        return keep("CumSum", {x}, {{"axis", axis}, {"reverse", between(0, 1)}});
      case 1:
        return keep("LogSoftmax", {x}, {{"axis", axis}});
      case 2:
        return keep("TopK", {x}, {{"axis", axis}, {"k", between(1, extent)}});
      case 3:
        return keep("GatherElements", {x, indices(shape(x), extent)}, {{"axis", axis}});
      case 4:
        return keep("ScatterElements", {x, indices(shape(x), extent), other_of_shape(x)},
                    {{"axis", axis}, {"reduction", one_of<std::string>({"none", "add"})}});
      case 5:
        return keep("GatherND", {x, indices({2, 1}, shape(x)[0])});
      case 6:
        rest.insert(rest.begin(), 1);
        return keep("ScatterND", {x, indices({1, 1}, shape(x)[0]), weight(rest)});
      default:
        if (shape(x).size() > 1)
          keep("Trilu", {x}, {{"k", between(-1, 1)}, {"upper", between(0, 1)}});
    }
  }
  void squeeze() {
    const ValueId x = any();
    const auto& extents = shape(x);
    if (std::count(extents.begin(), extents.end(), 1) > 0) return keep("Squeeze", {x});
    if (extents.size() < 4)
      keep("Unsqueeze", {x}, {{"axes", List{between(0, static_cast<int64_t>(extents.size()))}}});
  }

  Rng rng_;
  Graph graph_;
  std::vector<ValueId> values_;
  std::vector<ValueId> weights_;
  int work_ = 0;
};

inline Graph random_graph(uint64_t seed, int nodes = 25) { return RandomGraph::make(seed, nodes); }

}  // namespace reverie
