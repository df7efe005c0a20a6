#include "core/ir/value_range.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace reverie {
namespace {

using Rule = ValueRange (*)(const RangeContext&);

ValueRange least(ValueRange a, ValueRange b) { return std::min(a, b); }
ValueRange greatest(ValueRange a, ValueRange b) { return std::max(a, b); }

ValueRange finite(const RangeContext&) { return ValueRange::kFinite; }
ValueRange non_negative(const RangeContext&) { return ValueRange::kNonNegative; }
/// Moves elements of its first input, picks from them or averages them.
ValueRange as_first(const RangeContext& node) { return node.inputs[0]; }
ValueRange as_all(const RangeContext& node) { return *std::ranges::min_element(node.inputs); }

ValueRange sum(const RangeContext& node) {
  const ValueRange low = least(node.inputs[0], node.inputs[1]);
  return low == ValueRange::kNonNegative ? greatest(node.inputs[0], node.inputs[1]) : low;
}

/// A product of what is positive may be too small for its type, and 0.
ValueRange product(const RangeContext& node) {
  if (node.square) return ValueRange::kNonNegative;
  return least(least(node.inputs[0], node.inputs[1]), ValueRange::kNonNegative);
}

ValueRange maximum(const RangeContext& node) { return greatest(node.inputs[0], node.inputs[1]); }
ValueRange choice(const RangeContext& node) { return least(node.inputs[1], node.inputs[2]); }

/// Of a weight that is known by its value; empty for another.
std::vector<double> known_elements(const Weight& weight) {
  if (!weight.is_small()) return {};
  if (weight.is_fill()) return {weight.fill_value()};
  return weight.materialize().to_doubles();
}

std::vector<double> few_elements(const Weight* weight) {
  if (weight == nullptr || weight->type().elements() > Weight::kSmallWeight) return {};
  return known_elements(*weight);
}

ValueRange quotient(const RangeContext& node) {
  if (node.inputs[1] == ValueRange::kPositive)
    return least(node.inputs[0], ValueRange::kNonNegative);
  const std::vector<double> divisors = few_elements(node.second);
  const bool safe =
      !divisors.empty() && std::ranges::all_of(divisors, [](double x) { return x != 0; });
  return safe ? ValueRange::kFinite : ValueRange::kUnknown;
}

ValueRange reciprocal(const RangeContext& node) {
  return node.inputs[0] == ValueRange::kPositive ? ValueRange::kNonNegative : ValueRange::kUnknown;
}

ValueRange power(const RangeContext& node) {
  const std::vector<double> exponents = few_elements(node.second);
  const auto all = [&](auto holds) {
    return !exponents.empty() && std::ranges::all_of(exponents, holds);
  };
  if (all([](double e) { return e >= 0 && std::fmod(e, 2) == 0; })) return ValueRange::kNonNegative;
  if (all([](double e) { return e >= 0 && std::fmod(e, 1) == 0; })) return ValueRange::kFinite;
  const bool root =
      all([](double e) { return e >= 0; }) && node.inputs[0] >= ValueRange::kNonNegative;
  return root ? ValueRange::kNonNegative : ValueRange::kUnknown;
}

ValueRange root(const RangeContext& node) {
  return node.inputs[0] >= ValueRange::kNonNegative ? node.inputs[0] : ValueRange::kUnknown;
}

ValueRange logarithm(const RangeContext& node) {
  return node.inputs[0] == ValueRange::kPositive ? ValueRange::kFinite : ValueRange::kUnknown;
}

ValueRange sign_of(double x) {
  if (!std::isfinite(x)) return ValueRange::kUnknown;
  return x > 0 ? ValueRange::kPositive : x == 0 ? ValueRange::kNonNegative : ValueRange::kFinite;
}

ValueRange clip(const RangeContext& node) {
  ValueRange range = node.inputs[0];
  if (node.attributes.has("min")) range = greatest(range, sign_of(node.attributes.number("min")));
  if (node.attributes.has("max"))
    range = least(range, greatest(sign_of(node.attributes.number("max")), ValueRange::kFinite));
  return range;
}

ValueRange pad(const RangeContext& node) {
  if (node.attributes.text("mode") != "constant") return node.inputs[0];
  return least(node.inputs[0], sign_of(node.attributes.number("value")));
}

/// A window in the padding alone, whose elements count as -infinity, is dilated or smaller than
/// that.
ValueRange max_pool(const RangeContext& node) {
  const auto& kernel = node.attributes.integers("kernel_shape");
  const auto& pads = node.attributes.integers("pads");
  bool sees_data = std::ranges::all_of(node.attributes.integers("dilations"),
                                       [](int64_t dilation) { return dilation == 1; });
  for (size_t i = 0; i < pads.size(); ++i)
    sees_data = sees_data && pads[i] < kernel[i % kernel.size()];
  return sees_data ? node.inputs[0] : ValueRange::kUnknown;
}

ValueRange normalized(const RangeContext& node) {
  return node.attributes.number("epsilon") > 0 ? ValueRange::kFinite : ValueRange::kUnknown;
}

/// What is not listed, as Exp, which soon leaves the range of its type, is unknown.
const std::unordered_map<std::string_view, Rule>& rules() {
  static const auto table = [] {
    std::unordered_map<std::string_view, Rule> all = {
        {"Add", sum},
        {"Mul", product},
        {"Div", quotient},
        {"Reciprocal", reciprocal},
        {"Pow", power},
        {"Sqrt", root},
        {"Log", logarithm},
        {"Clip", clip},
        {"Pad", pad},
        {"Max", maximum},
        {"Min", as_all},
        {"Concat", as_all},
        {"Where", choice},
        {"MaxPool", max_pool},
        {"LayerNormalization", normalized},
        {"RMSNormalization", normalized},
        {"SkipLayerNormalization", normalized},
        {"SkipSimplifiedLayerNormalization", normalized},
        {"InstanceNormalization", normalized},
        {"GroupNormalization", normalized},
        {"BatchNormalization", finite}};
    for (const char* op : {"Relu", "Abs", "Sigmoid", "HardSigmoid", "Softplus", "Softmax",
                           "ReduceL1", "ReduceL2", "ReduceSumSquare", "LpPool", "GlobalLpPool"})
      all[op] = non_negative;
    for (const char* op : {"Identity",
                           "Dropout",
                           "Cast",
                           "Transpose",
                           "Split",
                           "Slice",
                           "Gather",
                           "Tile",
                           "Expand",
                           "Reshape",
                           "Flatten",
                           "Squeeze",
                           "Unsqueeze",
                           "ReduceMean",
                           "ReduceSum",
                           "ReduceMax",
                           "ReduceMin",
                           "AveragePool",
                           "GlobalAveragePool",
                           "GlobalMaxPool",
                           "DepthToSpace",
                           "SpaceToDepth",
                           "ReverseSequence",
                           "GatherND",
                           "GatherElements",
                           "TopK"})
      all[op] = as_first;
    for (const char* op : {"Sub",
                           "Neg",
                           "Erf",
                           "Tanh",
                           "Sin",
                           "Cos",
                           "Atan",
                           "Asinh",
                           "Sign",
                           "Floor",
                           "Ceil",
                           "Round",
                           "LeakyRelu",
                           "PRelu",
                           "Elu",
                           "Celu",
                           "Selu",
                           "ThresholdedRelu",
                           "Softsign",
                           "HardSwish",
                           "Conv",
                           "MatMul",
                           "Gemm",
                           "ConvTranspose",
                           "Einsum",
                           "Gelu",
                           "BiasGelu",
                           "Swish",
                           "FusedMatMul",
                           "JointAttention",
                           "MultiHeadAttention",
                           "Resize",
                           "GridSample",
                           "LRN",
                           "CumSum",
                           "Trilu",
                           "ScatterND",
                           "ScatterElements",
                           "LogSoftmax",
                           "LSTM",
                           "GRU",
                           "RNN",
                           "DequantizeLinear"})
      all[op] = finite;
    return all;
  }();
  return table;
}

Rule rule_of(const OpSchema& op) {
  static const std::vector<Rule> by_id = [] {
    std::vector<Rule> found;
    for (const OpSchema& row : all_ops()) {
      const auto at = rules().find(row.name);
      found.push_back(at == rules().end() ? nullptr : at->second);
    }
    return found;
  }();
  return op.id >= 0 ? by_id[static_cast<size_t>(op.id)] : nullptr;
}

}  // namespace

ValueRange range_of(const RangeContext& node) {
  if (&node.op == &opaque_op()) return ValueRange::kUnknown;
  if (!node.floating) return ValueRange::kFinite;
  const Rule rule = rule_of(node.op);
  if (rule == nullptr || std::ranges::find(node.inputs, ValueRange::kUnknown) != node.inputs.end())
    return ValueRange::kUnknown;
  return rule(node);
}

ValueRange range_of(const Weight& weight) {
  if (weight.varies()) {
    ValueRange range = ValueRange::kPositive;
    for (size_t sample = 0; sample < weight.samples(); ++sample)
      range = least(range, range_of(*weight.at(sample)));
    return range;
  }
  if (!is_floating(weight.type().dtype)) return ValueRange::kFinite;
  const std::vector<double> elements = known_elements(weight);
  if (elements.empty()) return ValueRange::kFinite;
  ValueRange range = ValueRange::kPositive;
  for (const double element : elements) range = least(range, sign_of(element));
  return range;
}

}  // namespace reverie
