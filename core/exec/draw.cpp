#include "core/exec/draw.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_set>

#include "core/base/error.h"

namespace reverie {
namespace {

const std::set<std::string_view> kMovement = {
    "Identity", "Dropout", "Cast",  "Transpose", "Concat", "Split",   "Slice",    "Gather", "Pad",
    "Tile",     "Expand",  "Reshape", "Flatten", "Squeeze", "Unsqueeze"};
/// Their result is positive when their inputs are.
const std::set<std::string_view> kKeepPositive = {
    "Add", "Mul", "Div", "Reciprocal", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"};

bool is_recurrent(const OpSchema& op) { return op.is("LSTM") || op.is("GRU") || op.is("RNN"); }

bool is_integer(DType dtype) { return !is_floating(dtype) && dtype != DType::kBool; }
bool is_unsigned(DType dtype) { return name_of(dtype).starts_with("uint"); }

bool moves(const OpSchema& op) { return kMovement.count(op.name) > 0; }

/// Elements that one element of the product adds up, where `value` is its input `index`; 0 where
/// the node is no product with it.
double fan_in(const Graph& graph, NodeId node, size_t index) {
  const OpSchema& op = graph.op(node);
  const Shape& shape = graph.type(graph.inputs(node)[index]).shape;
  const auto count = [](int64_t extent) {
    return static_cast<double>(std::max<int64_t>(extent, 1));
  };
  if (op.is("Conv") && index == 1)
    return count(element_count(shape) / std::max<int64_t>(shape[0], 1)) / 2;
  if (op.is("ConvTranspose") && index == 1) {
    double strides = 1;
    for (const int64_t stride : graph.attributes(node).integers("strides")) strides *= count(stride);
    const int64_t groups = graph.attributes(node).integer("group");
    return count(element_count(shape) / std::max<int64_t>(shape[1] * groups, 1)) / strides / 2;
  }
  if (is_recurrent(op) && (index == 1 || index == 2)) return count(shape.back());
  if (op.is("MatMul") && index < 2)
    return count(index == 0 || shape.size() == 1 ? shape.back() : shape[shape.size() - 2]);
  if (op.is("Gemm") && index < 2) {
    const bool transposed = graph.attributes(node).integer(index == 0 ? "transA" : "transB") != 0;
    return count(shape[(index == 0) != transposed ? 1 : 0]);
  }
  return 0;
}

/// Walks from values to what is computed from them (or what they are computed from).
class Walk {
 public:
  void enter(ValueId value) {
    if (value.valid() && seen_.insert(value).second) pending_.push_back(value);
  }
  bool next(ValueId& value) {
    if (pending_.empty()) return false;
    value = pending_.back();
    pending_.pop_back();
    return true;
  }

 private:
  std::unordered_set<ValueId> seen_;
  std::vector<ValueId> pending_;
};

/// The fan-in of the first product that `start` reaches through movement alone; 0 where none.
double fan_in_of(const Graph& graph, ValueId start) {
  Walk walk;
  walk.enter(start);
  for (ValueId value; walk.next(value);)
    for (const NodeId user : graph.users(value)) {
      const auto inputs = graph.inputs(user);
      const auto at = static_cast<size_t>(std::find(inputs.begin(), inputs.end(), value) -
                                          inputs.begin());
      if (const double fan = fan_in(graph, user, at); fan > 0) return fan;
      if (moves(graph.op(user)))
        for (const ValueId output : graph.outputs(user)) walk.enter(output);
    }
  return 0;
}

/// Below what an index has to be that `value` gives the node; 0 where it gives it none.
int64_t index_limit(const Graph& graph, NodeId node, ValueId value) {
  const OpSchema& op = graph.op(node);
  const auto inputs = graph.inputs(node);
  constexpr size_t kLengths = 4;
  if (op.is("Gather") && inputs[1] == value)
    return graph.type(inputs[0]).shape[static_cast<size_t>(graph.attributes(node).integer("axis"))];
  if (is_recurrent(op) && inputs.size() > kLengths && inputs[kLengths] == value)
    return graph.type(inputs[0]).shape[graph.attributes(node).integer("layout") != 0 ? 1 : 0] + 1;
  return 0;
}

/// The smallest extent of a table that `start` indexes, itself or after movement and the addition
/// of constants; 0 where there is none.
int64_t index_limit_of(const Graph& graph, ValueId start) {
  Walk walk;
  walk.enter(start);
  int64_t limit = 0;
  for (ValueId value; walk.next(value);)
    for (const NodeId user : graph.users(value)) {
      const OpSchema& op = graph.op(user);
      if (const int64_t extent = index_limit(graph, user, value); extent > 0) {
        limit = limit == 0 ? extent : std::min(limit, extent);
      } else if (moves(op) || op.is("Add")) {
        for (const ValueId output : graph.outputs(user))
          if (!is_floating(graph.type(output).dtype)) walk.enter(output);
      }
    }
  return limit;
}

/// Whether operators that do more than move integers take them from `start`, and none that wants them in a certain
/// range: what numbers the rows of a table, and exponents.
bool is_computed_with(const Graph& graph, ValueId start) {
  Walk walk;
  walk.enter(start);
  bool computed = false;
  for (ValueId value; walk.next(value);)
    for (const NodeId user : graph.users(value)) {
      const OpSchema& op = graph.op(user);
      if (op.is("Pow") || (op.is("Gather") && graph.inputs(user)[1] == value)) return false;
      computed = computed || !moves(op);
      for (const ValueId output : graph.outputs(user))
        if (is_integer(graph.type(output).dtype)) walk.enter(output);
    }
  return computed;
}

bool is_whole(const Graph& graph, ValueId value) {
  const WeightPtr& weight = graph.weight(graph.producer(value));
  if (weight == nullptr || !weight->is_small()) return false;
  const std::vector<double> numbers = weight->materialize().to_doubles();
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return x == std::floor(x); });
}

/// What the node takes a root or a logarithm of, or else divides by.
ValueId restricted_input(const Graph& graph, NodeId node, Signs signs) {
  const OpSchema& op = graph.op(node);
  const auto inputs = graph.inputs(node);
  if (signs == Signs::kNonzero)
    return op.is("Div") ? inputs[1] : op.is("Reciprocal") ? inputs[0] : ValueId{};
  if (op.is("BatchNormalization")) return inputs[4];
  if (op.is("QuantizeLinear") || op.is("DequantizeLinear")) return inputs[1];
  if (op.is("Sqrt") || op.is("Log")) return inputs[0];
  return op.is("Pow") && !is_whole(graph, inputs[1]) ? inputs[0] : ValueId{};
}

/// Values that have to be of these signs for the graph to make sense.
std::vector<ValueId> restricted_values(const Graph& graph, Signs signs) {
  Walk walk;
  std::vector<ValueId> found;
  for (const NodeId node : graph.nodes()) walk.enter(restricted_input(graph, node, signs));
  for (ValueId value; walk.next(value);) {
    found.push_back(value);
    const NodeId node = graph.producer(value);
    if (!moves(graph.op(node)) && kKeepPositive.count(graph.op(node).name) == 0) continue;
    const auto inputs = graph.inputs(node);
    if (graph.op(node).is("Mul") && inputs[0] == inputs[1]) continue;  // a square is as it is
    for (const ValueId input : inputs) walk.enter(input);
  }
  return found;
}

double root_mean_square(const Tensor& tensor) {
  double sum = 0;
  for (const double x : tensor.data<double>()) sum += x * x;
  return std::sqrt(sum / static_cast<double>(std::max<int64_t>(tensor.elements(), 1)));
}

bool is_source(const Graph& graph, NodeId node) {
  return graph.weight(node) != nullptr || &graph.op(node) == &input_op();
}

/// Takes over what `graph` says of a weight or graph input; what an earlier graph said stays.
void refine(DrawRole& role, const Graph& graph, NodeId node) {
  const ValueId value = graph.output(node);
  const bool unset = role == DrawRole{};
  if (!is_floating(graph.type(value).dtype)) {
    const int64_t limit = index_limit_of(graph, value);
    if (limit > 0) role.index_limit = role.index_limit == 0 ? limit : std::min(role.index_limit, limit);
    role.computed_with = role.computed_with || is_computed_with(graph, value);
  } else if (graph.weight(node) && unset) {
    if (const double fan = fan_in_of(graph, value); fan > 0) role.variance = 1 / fan;
  }
}

}  // namespace

DrawPlan::DrawPlan(std::span<const Graph* const> graphs) {
  for (const Graph* graph : graphs)
    for (const NodeId node : graph->nodes())
      if (is_source(*graph, node)) refine(role_of(*graph, node), *graph, node);
  const Graph& first = *graphs.front();
  for (const Signs signs : {Signs::kNonzero, Signs::kPositive})
    for (const ValueId value : restricted_values(first, signs))
      if (const NodeId node = first.producer(value); is_source(first, node)) {
        role_of(first, node).signs = signs;
        has_divisors_ = has_divisors_ || signs == Signs::kNonzero;
      }
}

DrawRole DrawPlan::now(DrawRole role) const {
  if (role.signs == Signs::kNonzero && !mixed_) role.signs = Signs::kPositive;
  return role;
}

DrawRole& DrawPlan::role_of(const Graph& graph, NodeId node) {
  return graph.weight(node) ? weights_[graph.weight(node)->identity()]
                            : inputs_[graph.input_name(node)];
}

void DrawPlan::calibrate(const Graph& graph, NodeId node, std::vector<Tensor>& results) {
  const auto inputs = graph.inputs(node);
  Walk walk;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].valid() && graph.is_constant(inputs[i]) && fan_in(graph, node, i) > 0)
      walk.enter(inputs[i]);
  ValueId value;
  if (graph.is_constant(node) || !walk.next(value)) return;
  const double size = root_mean_square(results[0]);
  if (!(size > kLargest)) return;
  for (double& x : results[0].data<double>()) x /= size;
  do {
    const NodeId from = graph.producer(value);
    if (graph.weight(from)) role_of(graph, from).variance /= size * size;
    if (moves(graph.op(from)) || graph.op(from).is("Add"))
      for (const ValueId input : graph.inputs(from)) walk.enter(input);
  } while (walk.next(value));
}

namespace {

int64_t draw_integer(DType dtype, const DrawRole& role, Rng& rng) {
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(rng.below(static_cast<uint64_t>(limit))); };
  if (dtype == DType::kBool) return below(2);
  if (role.index_limit > 0) return below(role.index_limit);
  if (!role.computed_with) return below(2);
  const int64_t size = role.signs == Signs::kBoth ? below(kLargestInteger + 1) : 1 + below(kLargestInteger);
  return role.signs != Signs::kPositive && !is_unsigned(dtype) && below(2) == 1 ? -size : size;
}

}  // namespace

Tensor draw(const TensorType& type, const DrawRole& role, Rng rng) {
  if (size_of(type.dtype) == 0) throw InputError("cannot draw a tensor of {}", to_string(type));
  if (is_floating(type.dtype)) {
    Tensor tensor({DType::kFloat64, type.shape});
    const double reach = std::sqrt(3 * role.variance);
    const double low = role.signs == Signs::kBoth ? -reach : 0.5;
    const double high = role.signs == Signs::kBoth ? reach : 1.5;
    for (double& x : tensor.data<double>()) {
      x = rng.uniform(low, high);
      if (role.signs == Signs::kNonzero && rng.below(2) == 1) x = -x;
    }
    return tensor;
  }
  Tensor tensor({DType::kInt64, type.shape});
  for (int64_t& x : tensor.data<int64_t>()) x = draw_integer(type.dtype, role, rng);
  return tensor.cast(type.dtype);
}

}  // namespace reverie
