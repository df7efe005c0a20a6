#include "core/rules/value_policy.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/exec/reference/reference.h"
#include "core/rules/known_constant.h"

namespace reverie {
namespace {

bool is_narrow(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

double rounded_to(DType dtype, double value) {
  return Tensor::of<double>({}, {value}).cast(dtype).to_doubles()[0];
}

bool is_arithmetic(const OpSchema& op) {
  return op.is("Add") || op.is("Sub") || op.is("Mul") || op.is("Div");
}

double largest(const Tensor& tensor) {
  double size = 0;
  for (const double x : tensor.to_doubles())
    if (std::isfinite(x)) size = std::max(size, std::fabs(x));
  return size;
}

/// A match and what it brings, seen node by node.
class Newcomers {
 public:
  Newcomers(const Instance& instance, const Graph& graph, const Binding& binding)
      : instance_(instance), graph_(graph), binding_(binding) {}

  const std::vector<NewNode>& nodes() const { return instance_.nodes; }
  ValueId existing(const Operand& operand) const {
    return binding_.values[static_cast<size_t>(operand.index)];
  }
  const TensorType& type(const Operand& operand) const {
    return operand.node < 0 ? graph_.type(existing(operand))
                            : nodes()[static_cast<size_t>(operand.node)]
                                  .types[static_cast<size_t>(operand.index)];
  }
  bool constant(const Operand& operand) const {
    return operand.node < 0 ? graph_.is_constant(existing(operand))
                            : nodes()[static_cast<size_t>(operand.node)].constant;
  }
  const Weight* weight(const Operand& operand) const {
    if (operand.node < 0) return graph_.weight(graph_.producer(existing(operand))).get();
    return nodes()[static_cast<size_t>(operand.node)].weight.get();
  }
  const Graph& graph() const { return graph_; }

 private:
  const Instance& instance_;
  const Graph& graph_;
  const Binding& binding_;
};

/// The new constants, in double precision. Those that depend on a weight which is not known, or
/// large, are left out unless all are wanted.
class Contents {
 public:
  Contents(const Newcomers& all, bool want_all)
      : all_(all), want_all_(want_all), results_(all.nodes().size()) {
    for (size_t i = 0; i < all.nodes().size(); ++i)
      if (all.nodes()[i].constant) compute(i);
  }

  std::optional<Tensor> of(const Operand& operand) const {
    if (operand.node < 0)
      return want_all_ ? constant_in_doubles(all_.graph(), all_.existing(operand))
                       : known_constant(all_.graph(), all_.existing(operand));
    const auto& results = results_[static_cast<size_t>(operand.node)];
    return results.empty() ? std::nullopt
                           : std::optional(results[static_cast<size_t>(operand.index)]);
  }

 private:
  void compute(size_t i) {
    const NewNode& node = all_.nodes()[i];
    const auto is_large = [](const TensorType& type) {
      return type.elements() > Weight::kSmallWeight;
    };
    if (!want_all_ && std::ranges::any_of(node.types, is_large)) return;
    if (node.weight) {
      results_[i] = {node.weight->materialize().cast(held(node.types[0].dtype))};
      return;
    }
    std::vector<Tensor> inputs;
    for (const Operand& operand : node.inputs) {
      std::optional<Tensor> input = operand.absent() ? Tensor() : of(operand);
      if (!input) return;
      inputs.push_back(std::move(*input));
    }
    try {
      results_[i] = evaluate_node(*node.op, *node.attributes, inputs,
                                  {.precision = Precision::kDouble, .cast_back = false});
    } catch (const InputError&) {
      return;  // what cannot be evaluated is not known
    }
  }

  static DType held(DType dtype) { return is_floating(dtype) ? DType::kFloat64 : dtype; }

  const Newcomers& all_;
  bool want_all_;
  std::vector<std::vector<Tensor>> results_;  // by new node
};

/// Whether combining two numbers to `result` keeps what evaluating one after the other would give.
bool keeps_precision(const OpSchema& op, DType dtype, double a, double b, double result) {
  constexpr double kHarmless = 1024, kCancelled = 0x1p-10, kFarFactor = 0x1p64;
  if (!std::isfinite(a) || !std::isfinite(b)) return true;
  if (!std::isfinite(rounded_to(dtype, result))) return false;
  const double size = std::max(std::fabs(a), std::fabs(b));
  if (op.is("Add") || op.is("Sub"))
    return size <= kHarmless || std::fabs(result) >= size * kCancelled;
  return size <= kFarFactor || a == 0 || b == 0;
}

/// An element of `tensor` where it broadcasts to `shape`.
double broadcast_element(const Tensor& tensor, const std::vector<double>& elements,
                         const Shape& shape, int64_t index) {
  int64_t at = 0, stride = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t extent = shape[shape.size() - 1 - i];
    const int64_t position = index % extent;
    index /= extent;
    if (i >= tensor.shape().size()) continue;
    const int64_t own = tensor.shape()[tensor.shape().size() - 1 - i];
    if (own > 1) at += position * stride;
    stride *= own;
  }
  return elements[static_cast<size_t>(at)];
}

bool keeps_precision(const NewNode& node, const Tensor& a, const Tensor& b, const Tensor& result) {
  if (!is_floating(node.types[0].dtype)) return true;
  const std::vector<double> x = a.to_doubles(), y = b.to_doubles(), z = result.to_doubles();
  for (int64_t i = 0; i < result.elements(); ++i)
    if (!keeps_precision(*node.op, node.types[0].dtype, broadcast_element(a, x, result.shape(), i),
                         broadcast_element(b, y, result.shape(), i), z[static_cast<size_t>(i)]))
      return false;
  return true;
}

bool constants_keep_precision(const Newcomers& all) {
  const auto combines = [](const NewNode& node) {
    return node.constant && is_arithmetic(*node.op);
  };
  if (std::ranges::none_of(all.nodes(), combines)) return true;
  const Contents contents(all, false);
  for (size_t i = 0; i < all.nodes().size(); ++i) {
    const NewNode& node = all.nodes()[i];
    if (!combines(node)) continue;
    const auto result = contents.of({static_cast<int32_t>(i), 0});
    if (result &&
        !keeps_precision(node, *contents.of(node.inputs[0]), *contents.of(node.inputs[1]), *result))
      return false;
  }
  return true;
}

/// Which of the new constants hold zeros that the rule puts beside numbers of weights.
std::vector<bool> padded_constants(const Newcomers& all) {
  std::vector<bool> padded(all.nodes().size());
  for (size_t i = 0; i < padded.size(); ++i) {
    const NewNode& node = all.nodes()[i];
    if (!node.constant) continue;
    const auto inherits = [&](const Operand& operand) {
      return operand.node >= 0 && padded[static_cast<size_t>(operand.node)];
    };
    const bool is_sum = node.op->is("Add") || node.op->is("Sub");
    padded[i] = node.op->is("Pad") ||
                (node.weight && (node.weight->is_identity_kernel() ||
                                 (node.weight->is_fill() && node.weight->fill_value() == 0))) ||
                (!is_sum && std::ranges::any_of(node.inputs, inherits));
  }
  return padded;
}

/// By new node.
std::vector<ValueRange> ranges_of(const Newcomers& all) {
  std::vector<ValueRange> found;
  for (const NewNode& node : all.nodes()) {
    std::vector<ValueRange> inputs;
    for (const Operand& operand : node.inputs)
      inputs.push_back(operand.absent()    ? ValueRange::kPositive
                       : operand.node >= 0 ? found[static_cast<size_t>(operand.node)]
                                           : all.graph().range(all.existing(operand)));
    const bool two = node.inputs.size() >= 2 && !node.inputs[1].absent();
    found.push_back(node.weight ? range_of(*node.weight)
                                : range_of({.op = *node.op,
                                            .attributes = *node.attributes,
                                            .inputs = inputs,
                                            .floating = is_floating(node.types[0].dtype),
                                            .square = two && node.inputs[0] == node.inputs[1],
                                            .second = two ? all.weight(node.inputs[1]) : nullptr}));
  }
  return found;
}

bool multiplies(const OpSchema& op) {
  return op.is("Conv") || op.is("MatMul") || op.is("Gemm") || op.is("Mul") ||
         op.is("ConvTranspose");
}

bool zeros_meet_finite_numbers(const Newcomers& all) {
  const std::vector<bool> padded = padded_constants(all);
  if (std::ranges::find(padded, true) == padded.end()) return true;
  const std::vector<ValueRange> ranges = ranges_of(all);
  const auto is_padded = [&](const Operand& operand) {
    return operand.node >= 0 && padded[static_cast<size_t>(operand.node)];
  };
  const auto may_be_infinite = [&](const Operand& operand) {
    return (operand.node >= 0 ? ranges[static_cast<size_t>(operand.node)]
                              : all.graph().range(all.existing(operand))) == ValueRange::kUnknown;
  };
  return std::ranges::none_of(all.nodes(), [&](const NewNode& node) {
    if (node.constant || !multiplies(*node.op)) return false;
    return (is_padded(node.inputs[0]) && may_be_infinite(node.inputs[1])) ||
           (is_padded(node.inputs[1]) && may_be_infinite(node.inputs[0]));
  });
}

/// New constants of 16 bits that work takes in.
template <typename Visit>
void for_each_narrow_weight(const Newcomers& all, Visit&& visit) {
  for (const NewNode& node : all.nodes())
    for (const Operand& operand : node.inputs)
      if (!node.constant && operand.node >= 0 && all.constant(operand) &&
          is_narrow(all.type(operand).dtype))
        visit(operand);
}

}  // namespace

bool keeps_values(const Instance& instance, const Graph& graph, const Binding& binding) {
  const Newcomers all(instance, graph, binding);
  return zeros_meet_finite_numbers(all) && constants_keep_precision(all);
}

bool computes_narrow_weights(const Instance& instance, const Graph& graph, const Binding& binding) {
  bool found = false;
  for_each_narrow_weight(Newcomers(instance, graph, binding),
                         [&](const Operand&) { found = true; });
  return found;
}

bool fits_narrow_types(const Instance& instance, const Graph& graph, const Binding& binding) {
  constexpr double kLargestError = 0x1p-8;
  const Newcomers all(instance, graph, binding);
  const Contents contents(all, true);
  bool fits = true;
  for_each_narrow_weight(all, [&](const Operand& operand) {
    const std::optional<Tensor> exact = contents.of(operand);
    fits = fits && exact;
    if (!fits) return;
    const std::vector<double> wanted = exact->to_doubles();
    const std::vector<double> stored = exact->cast(all.type(operand).dtype).to_doubles();
    const double most = largest(*exact) * kLargestError;
    for (size_t i = 0; fits && i < wanted.size(); ++i)
      fits = !std::isfinite(wanted[i]) ? !std::isnan(wanted[i])
                                       : std::fabs(stored[i] - wanted[i]) <= most;
  });
  return fits;
}

bool holds_number(DType dtype, double value) {
  if (!is_floating(dtype) || !std::isfinite(value)) return true;
  return std::fabs(rounded_to(dtype, value) - value) <= std::fabs(value) / 16;
}

}  // namespace reverie
