#include "core/onnx/fold_constants.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "core/exec/reference/reference.h"
#include "core/ir/formula.h"

namespace reverie {
namespace {

/// Whether one of the stored weights that `value` is computed from is such.
bool uses(const Graph& graph, ValueId value, bool (*is_such)(const Weight&)) {
  const auto order = graph.topological_order({&value, 1});
  return std::any_of(order.begin(), order.end(), [&](NodeId node) {
    return graph.weight(node) != nullptr && is_such(*graph.weight(node));
  });
}

/// What was verified in double precision is not what a file would hold whose type ends below it.
void require_range(const Tensor& exact, const Tensor& rounded) {
  constexpr double kSafe = 60000;  // no floating type ends below
  const auto is_safe = [](double x) { return !std::isfinite(x) || std::abs(x) < kSafe; };
  if (exact.type() == rounded.type() || !is_floating(rounded.type().dtype) ||
      std::ranges::all_of(exact.data<double>(), is_safe))
    return;
  const std::vector<double> values = exact.to_doubles(), stored = rounded.to_doubles();
  for (size_t i = 0; i < values.size(); ++i)
    if (std::isfinite(values[i]) && !std::isfinite(stored[i]))
      throw InputError(
          "a constant of the result is {}, too large for {}: leave out the rewrite that makes it "
          "(--without RULE), or give the model in a wider type",
          values[i], name_of(rounded.type().dtype));
}

/// Computed in double precision, and rounded to its type once.
Tensor rounded_once(const Graph& graph, ValueId value) {
  if (is_only_moved(graph, value)) return fold(graph, value);
  const Tensor exact = fold_exactly(graph, value);
  const Tensor tensor = exact.cast(graph.type(value).dtype);
  require_range(exact, tensor);
  return tensor;
}

/// What `value` is computed from, alone.
Graph expression_of(const Graph& graph, ValueId value) {
  Graph expression;
  std::unordered_map<ValueId, ValueId> image;
  for (const NodeId node : graph.topological_order({&value, 1})) {
    if (const WeightPtr& weight = graph.weight(node)) {
      image[graph.output(node)] = expression.add_constant(weight);
      continue;
    }
    std::vector<ValueId> inputs;
    for (const ValueId input : graph.inputs(node))
      inputs.push_back(input.valid() ? image.at(input) : ValueId());
    const NodeId copy = expression.add_node(graph.op(node), inputs, graph.shared_attributes(node),
                                            output_types(graph, node));
    for (size_t i = 0; i < graph.outputs(node).size(); ++i)
      image[graph.outputs(node)[i]] = expression.output(copy, static_cast<int>(i));
  }
  expression.add_output("value", image.at(value));
  return expression;
}

bool is_drawn(const Weight& weight) { return !weight.is_small(); }
bool is_drawn_fill(const Weight& weight) { return weight.is_fill() && is_drawn(weight); }

/// Whether nobody trained it: a few numbers, a fill that stands for no weights, or what the import
/// itself computed.
bool is_of_shape_code(const Weight& weight, bool is_stored) {
  if (weight.type().elements() <= Weight::kSmallWeight) return true;
  if (weight.is_fill()) return !stands_for_weights(weight);
  return weight.is_small() && !is_stored;
}

}  // namespace

bool stands_for_weights(const Weight& weight) {
  const double size = std::abs(weight.fill_value());
  return weight.is_fill() && !weight.is_small() && size != 0 && size != 1 && !std::isinf(size);
}

Folded fold_computed(const Graph& graph, ValueId value, const std::unordered_set<ValueId>& stored,
                     const std::string& name) {
  constexpr int64_t kMaxElements = 1 << 22;
  if (!graph.is_constant(value)) return {};
  bool is_all_computed = true;
  for (const NodeId node : graph.topological_order({&value, 1})) {
    for (const ValueId output : graph.outputs(node))
      if (graph.type(output).elements() > kMaxElements) return {};
    const WeightPtr& weight = graph.weight(node);
    if (weight == nullptr) continue;
    const bool is_computed = is_of_shape_code(*weight, stored.contains(graph.output(node)));
    if (!is_computed && !weight->is_small()) return {};
    is_all_computed = is_all_computed && is_computed;
  }
  const Tensor result = fold(graph, value);
  const WeightPtr known = known_weight(result);
  if (known == nullptr && !is_all_computed) return {nullptr, true};
  return {with_expression(known != nullptr ? known : Weight::known(result, name), graph, value),
          !is_all_computed};
}

WeightPtr with_expression(const WeightPtr& weight, const Graph& graph, ValueId value) {
  constexpr int64_t kNode = 64;  // bytes of its operators in a file, about
  if (weight->type().bytes() <= kNode) return weight;
  WeightPtr computed =
      Weight::computed(*weight, std::make_shared<const Graph>(expression_of(graph, value)));
  return computed->least_bytes() + kNode < weight->type().bytes() ? computed : weight;
}

WeightPtr fold_constant(const Graph& graph, ValueId value, const std::string& name) {
  const Tensor tensor = rounded_once(graph, value);
  const WeightPtr known = known_weight(tensor);
  if (known != nullptr && is_formula(*known)) {
    if (!uses(graph, value, is_drawn)) return known;
    if (known->is_fill() && is_floating(tensor.type().dtype) && uses(graph, value, is_drawn_fill))
      return Weight::fill(tensor.type(), known->fill_value(), name);
  }
  const WeightPtr dense = Weight::dense(tensor, name);
  constexpr int64_t kLargestKept = 1 << 20;  // bytes
  if (tensor.type().bytes() <= kLargestKept) return dense;
  const auto again = [graph, value] { return rounded_once(graph, value); };
  return Weight::lazy(tensor.type(), dense->identity(), again, name);
}

}  // namespace reverie
