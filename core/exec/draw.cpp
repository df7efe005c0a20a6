#include "core/exec/draw.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_set>

#include "core/base/error.h"

namespace reverie {
namespace {

/// Their result is positive when their inputs are.
const std::set<std::string_view> kKeepPositive = {
    "Add", "Mul", "Div", "Reciprocal", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"};

bool is_recurrent(const OpSchema& op) { return op.is("LSTM") || op.is("GRU") || op.is("RNN"); }

bool is_integer(DType dtype) { return !is_floating(dtype) && dtype != DType::kBool; }
bool is_unsigned(DType dtype) { return name_of(dtype).starts_with("uint"); }

/// The same numbers, be it in other places or another type.
bool moves(const OpSchema& op) { return op.moves || op.is("Cast"); }

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
    for (const int64_t stride : graph.attributes(node).integers("strides"))
      strides *= count(stride);
    const int64_t groups = graph.attributes(node).integer("group");
    return count(element_count(shape) / std::max<int64_t>(shape[1] * groups, 1)) / strides / 2;
  }
  if (is_recurrent(op) && (index == 1 || index == 2)) return count(shape.back());
  if (op.is("JointAttention") && index == 1) return count(shape[0]);
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
      const auto at =
          static_cast<size_t>(std::find(inputs.begin(), inputs.end(), value) - inputs.begin());
      if (const double fan = fan_in(graph, user, at); fan > 0) return fan;
      if (moves(graph.op(user)))
        for (const ValueId output : graph.outputs(user)) walk.enter(output);
    }
  return 0;
}

/// Below what the integers of an input have to be that are indices, lengths or masks of attention;
/// 0 where they are neither.
int64_t extent_indexed(const Graph& graph, NodeId node, size_t input) {
  constexpr size_t kLengths = 4;
  const OpSchema& op = graph.op(node);
  if (input == 0 || !graph.inputs(node)[0].valid()) return 0;
  const Shape& data = graph.type(graph.inputs(node)[0]).shape;
  if (is_recurrent(op) && input == kLengths)
    return data[graph.attributes(node).integer("layout") != 0 ? 1 : 0] + 1;
  const bool is_joint = op.is("JointAttention");
  if ((is_joint && input == 3) || (op.is("MultiHeadAttention") && input == 4)) {
    const bool is_length = graph.type(graph.inputs(node)[input]).rank() == 1;
    return is_length ? graph.type(graph.inputs(node)[is_joint ? 0 : 1]).shape[1] + 1 : 2;
  }
  if (input != 1) return 0;
  if (op.is("Gather") || op.is("GatherElements") || op.is("ScatterElements"))
    return data[static_cast<size_t>(
        normalize_axis(graph.attributes(node).integer("axis"), static_cast<int>(data.size())))];
  if ((op.is("GatherND") || op.is("ScatterND")) && !data.empty())
    return *std::ranges::min_element(data);
  return 0;
}

/// The elements of a constant integer that is known; empty for anything else.
std::vector<double> known_elements(const Graph& graph, ValueId value) {
  if (!value.valid()) return {};
  const WeightPtr& weight = graph.weight(graph.producer(value));
  if (weight == nullptr || !weight->is_small()) return {};
  if (weight->is_fill()) return {weight->fill_value()};
  return weight->materialize().to_doubles();
}

/// Whether `op` hands on integers of input `index` as they are, some of them at least.
bool hands_on(const OpSchema& op, size_t index) {
  if (op.is("Where")) return index > 0;
  return moves(op) || op.is("Clip") || op.is("Min") || op.is("Max") || op.is("Add") ||
         op.is("Sub") || op.is("ScatterND") || op.is("ScatterElements") || op.is("GatherND") ||
         op.is("GatherElements");
}

/// By how much the node makes integers of input `index` larger at most, as far as that is known.
int64_t growth(const Graph& graph, NodeId node, size_t index) {
  const OpSchema& op = graph.op(node);
  if (!(op.is("Add") || (op.is("Sub") && index == 0))) return 0;
  const std::vector<double> others = known_elements(graph, graph.inputs(node)[1 - index]);
  if (others.empty()) return 0;
  const auto [low, high] = std::ranges::minmax(others);
  return std::max<int64_t>(static_cast<int64_t>(op.is("Add") ? high : -low), 0);
}

/// What is below the extent of every table that `start` indexes, itself or after movement, choices
/// and the addition of constants; 0 where there is none.
int64_t index_limit_of(const Graph& graph, ValueId start) {
  std::unordered_map<ValueId, int64_t> grown = {{start, 0}};
  std::vector<ValueId> pending = {start};
  int64_t limit = 0;
  while (!pending.empty()) {
    const ValueId value = pending.back();
    pending.pop_back();
    for (const NodeId user : graph.users(value)) {
      const auto inputs = graph.inputs(user);
      const auto at = static_cast<size_t>(std::ranges::find(inputs, value) - inputs.begin());
      if (const int64_t extent = extent_indexed(graph, user, at); extent > 0) {
        const int64_t most = std::max<int64_t>(extent - grown[value], 1);
        limit = limit == 0 ? most : std::min(limit, most);
      } else if (hands_on(graph.op(user), at)) {
        const int64_t more = grown[value] + growth(graph, user, at);
        for (const ValueId output : graph.outputs(user))
          if (is_integer(graph.type(output).dtype) && grown.try_emplace(output, more).second)
            pending.push_back(output);
      }
    }
  }
  return limit;
}

bool is_comparison(const OpSchema& op) {
  return op.is("Equal") || op.is("Greater") || op.is("GreaterOrEqual") || op.is("Less") ||
         op.is("LessOrEqual");
}

/// Whether the node asks `value` for a truth: compares it with 0 or 1, takes it from 1, or makes a
/// truth of it.
bool asks_for_truth(const Graph& graph, NodeId node, ValueId value) {
  const OpSchema& op = graph.op(node);
  const auto inputs = graph.inputs(node);
  const auto is_number = [&](ValueId other, bool zero_too) {
    const std::vector<double> elements = known_elements(graph, other);
    return !elements.empty() &&
           std::ranges::all_of(elements, [&](double x) { return x == 1 || (zero_too && x == 0); });
  };
  if (op.is("Cast")) return graph.type(graph.output(node)).dtype == DType::kBool;
  if (op.is("Sub")) return inputs[1] == value && is_number(inputs[0], false);
  return is_comparison(op) && is_number(inputs[inputs[0] == value ? 1 : 0], true);
}

/// Whether `start` is a mask or the like, itself or after movement, also where that makes floats of
/// it.
bool is_truth(const Graph& graph, ValueId start) {
  Walk walk;
  walk.enter(start);
  for (ValueId value; walk.next(value);)
    for (const NodeId user : graph.users(value)) {
      if (asks_for_truth(graph, user, value)) return true;
      if (moves(graph.op(user)))
        for (const ValueId output : graph.outputs(user)) walk.enter(output);
    }
  return false;
}

/// Whether operators that do more than move integers take them from `start`, and none that wants
/// them in a certain range: what numbers the rows of a table, and exponents.
bool is_computed_with(const Graph& graph, ValueId start) {
  Walk walk;
  walk.enter(start);
  bool computed = false;
  for (ValueId value; walk.next(value);)
    for (const NodeId user : graph.users(value)) {
      const OpSchema& op = graph.op(user);
      const auto inputs = graph.inputs(user);
      const auto at = static_cast<size_t>(std::ranges::find(inputs, value) - inputs.begin());
      if (op.is("Pow") || extent_indexed(graph, user, at) > 0) return false;
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
    if (limit > 0)
      role.index_limit = role.index_limit == 0 ? limit : std::min(role.index_limit, limit);
    role.computed_with = role.computed_with || is_computed_with(graph, value);
    role.is_truth = role.is_truth || (graph.weight(node) == nullptr && is_truth(graph, value));
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
  const auto below = [&](int64_t limit) {
    return static_cast<int64_t>(rng.below(static_cast<uint64_t>(limit)));
  };
  if (role.given) {
    const auto low = static_cast<int64_t>(role.given->low),
               high = static_cast<int64_t>(role.given->high);
    return low + below(high - low + 1);
  }
  if (dtype == DType::kBool) return below(2);
  if (role.index_limit > 0) return below(role.index_limit);
  if (role.is_truth || !role.computed_with) return below(2);
  const int64_t size =
      role.signs == Signs::kBoth ? below(kLargestInteger + 1) : 1 + below(kLargestInteger);
  return role.signs != Signs::kPositive && !is_unsigned(dtype) && below(2) == 1 ? -size : size;
}

}  // namespace

namespace {

double draw_number(const DrawRole& role, Rng& rng) {
  if (role.given) return rng.uniform(role.given->low, role.given->high);
  if (role.signs == Signs::kBoth) {
    const double reach = std::sqrt(3 * role.variance);
    return rng.uniform(-reach, reach);
  }
  const double size = rng.uniform(0.5, 1.5);
  return role.signs == Signs::kNonzero && rng.below(2) == 1 ? -size : size;
}

/// One element in eight becomes what is asked for.
void plant(std::span<double> elements, Extremes extremes, Rng& rng) {
  for (double& x : elements) {
    if (rng.below(8) != 0) continue;
    x = extremes == Extremes::kZeros ? 0 : x * std::pow(kLargestNumber, rng.uniform(0, 1));
  }
}

}  // namespace

Tensor draw(const TensorType& type, const DrawRole& role, Rng rng, Extremes extremes) {
  if (size_of(type.dtype) == 0) throw InputError("cannot draw a tensor of {}", to_string(type));
  if (is_floating(type.dtype)) {
    Tensor tensor({DType::kFloat64, type.shape});
    for (double& x : tensor.data<double>()) x = draw_number(role, rng);
    if (extremes != Extremes::kNone && !role.given) plant(tensor.data<double>(), extremes, rng);
    return tensor;
  }
  Tensor tensor({DType::kInt64, type.shape});
  for (int64_t& x : tensor.data<int64_t>()) x = draw_integer(type.dtype, role, rng);
  return tensor.cast(type.dtype);
}

namespace {

template <typename T>
Tensor drawn_as(const TensorType& type, const DrawRole& role, Rng& rng) {
  Tensor tensor(type);
  for (T& x : tensor.data<T>()) x = static_cast<T>(draw_number(role, rng));
  return tensor;
}

}  // namespace

Tensor draw_weight(const TensorType& type, const DrawRole& role, Rng rng) {
  switch (type.dtype) {
    case DType::kFloat32:
      return drawn_as<float>(type, role, rng);
    case DType::kFloat16:
      return drawn_as<Float16>(type, role, rng);
    case DType::kBFloat16:
      return drawn_as<BFloat16>(type, role, rng);
    default:
      return draw(type, role, rng);
  }
}

}  // namespace reverie
