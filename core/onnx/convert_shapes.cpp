#include <cmath>
#include <set>
#include <unordered_map>

#include "core/base/error.h"
#include "core/exec/reference/reference.h"
#include "core/onnx/convert.h"
#include "core/onnx/fold_constants.h"

namespace reverie::proto {
namespace {

/// Operators whose lists were attributes and became constant inputs. Takes the list from whichever
/// it is and makes it the attribute `name`. False when the input is not constant.
bool take_integers(Source& source, std::string_view name, size_t input) {
  if (!source.has_input(input)) return true;
  const auto values = source.constant_integers(input);
  if (!values) return false;
  source.attributes.set(name, *values);
  return true;
}

Values with_first_input(Source& source) {
  return source.add(source.node.op_type(), {source.inputs[0]}, source.attributes);
}

std::optional<Values> reshape(Source& source) {
  const auto shape = source.constant_integers(1);
  if (!shape) return std::nullopt;
  Shape target = *shape;
  const bool allow_zero = source.attributes.integer("allowzero", 0) != 0;
  if (allow_zero) {
    const Shape& extents = source.type(0).shape;
    for (size_t i = 0; i < target.size(); ++i)
      if (target[i] == 0 && i < extents.size() && extents[i] != 0) return std::nullopt;
  }
  try {
    return source.add("Reshape", {source.inputs[0]}, {{"shape", target}});
  } catch (const InputError& objection) {
    if (allow_zero) throw;
    throw WrongNode("{}", objection.what());
  }
}

std::optional<Values> shape_from_input(Source& source, std::string_view name) {
  if (!source.has_input(1) || !take_integers(source, name, 1)) return std::nullopt;
  return with_first_input(source);
}

/// One element that is known by its value makes a tensor that is, too.
std::optional<Values> expand(Source& source) {
  auto result = shape_from_input(source, "shape");
  if (!result || source.type(0).elements() != 1) return result;
  const auto element = source.constant(0);
  if (!element) return result;
  const double number = element->to_doubles()[0];
  if (!is_floating(element->type().dtype) && std::abs(number) > kExactIntegers) return result;
  const TensorType type = source.graph.type(result->at(0));
  return Values{source.graph.add_constant(Weight::constant(type, number))};
}

std::optional<Values> tile(Source& source) { return shape_from_input(source, "repeats"); }

std::optional<Values> unsqueeze(Source& source) {
  if (!take_integers(source, "axes", 1)) return std::nullopt;
  return with_first_input(source);
}

/// An empty list says as little as none, as in ONNX Runtime.
std::optional<Values> squeeze(Source& source) {
  if (!take_integers(source, "axes", 1)) return std::nullopt;
  source.leave_out("axes", std::vector<int64_t>{});
  return with_first_input(source);
}

/// Whether a reduction along no axis does something to the elements: so the standard says since
/// 1.20 and ONNX Runtime since 1.24; before, none did.
bool may_change_elements(const std::string& reduction) {
  return reduction == "ReduceL1" || reduction == "ReduceL2" || reduction == "ReduceLogSum" ||
         reduction == "ReduceSumSquare";
}

std::optional<Values> reduce(Source& source) {
  if (find_op(source.node.op_type()) == nullptr) return std::nullopt;
  if (!take_integers(source, "axes", 1)) return std::nullopt;
  const bool empty = source.attributes.integers("axes", {}).empty();
  if (empty && source.attributes.integer("noop_with_empty_axes", 0) != 0) {
    if (!may_change_elements(source.node.op_type())) return Values{source.inputs[0]};
    source.obstacle = "what it means without axes depends on the runtime's version";
    return std::nullopt;
  }
  if (empty) source.attributes.erase("axes");
  source.attributes.erase("noop_with_empty_axes");
  return with_first_input(source);
}

std::optional<Values> slice(Source& source) {
  if (source.opset >= 10) {
    constexpr const char* kLists[] = {"starts", "ends", "axes", "steps"};
    for (size_t i = 0; i < 4; ++i)
      if (!take_integers(source, kLists[i], i + 1)) return std::nullopt;
  }
  return with_first_input(source);
}

/// The scalar constant at `input` as the attribute `name`. False when it is not constant, or no
/// double.
bool take_number(Source& source, std::string_view name, size_t input) {
  if (!source.has_input(input)) return true;
  const auto value = source.constant(input);
  if (!value || value->elements() != 1) return false;
  const double number = value->to_doubles()[0];
  if (!is_floating(value->type().dtype) && std::abs(number) > kExactIntegers) return false;
  const bool is_single = value->type().dtype != DType::kFloat64 && is_floating(value->type().dtype);
  source.attributes.set(name, is_single ? decimal(static_cast<float>(number)) : number);
  return true;
}

/// Pads of some axes (since opset 18) as those of all. InputError when they do not fit.
std::vector<int64_t> pads_of_all_axes(const std::vector<int64_t>& pads,
                                      const std::vector<int64_t>& axes, int rank) {
  if (pads.size() != 2 * axes.size())
    throw InputError("has {} pads for {} axes", pads.size(), axes.size());
  std::vector<int64_t> all(2 * static_cast<size_t>(rank), 0);
  std::set<int> seen;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = normalize_axis(axes[i], rank);
    if (!seen.insert(axis).second) throw InputError("pads axis {} twice", axis);
    all[static_cast<size_t>(axis)] = pads[i];
    all[static_cast<size_t>(axis + rank)] = pads[i + axes.size()];
  }
  return all;
}

std::optional<Values> pad(Source& source) {
  if (source.opset >= 11 && (!take_integers(source, "pads", 1) || !take_number(source, "value", 2)))
    return std::nullopt;
  if (source.has_input(3)) {
    const auto axes = source.constant_integers(3);
    if (!axes) return std::nullopt;
    source.attributes.set(
        "pads", pads_of_all_axes(source.attributes.integers("pads"), *axes, source.type(0).rank()));
  }
  return with_first_input(source);
}

std::optional<Values> clip(Source& source) {
  if (source.opset >= 11 && (!take_number(source, "min", 1) || !take_number(source, "max", 2)))
    return std::nullopt;
  return with_first_input(source);
}

/// Equal parts; with `num_outputs`, which is there since opset 18, the last is what is left.
std::vector<int64_t> even_split(const Source& source) {
  const TensorType& type = source.type(0);
  const int axis = normalize_axis(source.attributes.integer("axis", 0), type.rank());
  const int64_t extent = type.shape[static_cast<size_t>(axis)];
  const int64_t parts = source.node.output_size();
  const bool may_differ = source.attributes.integer("num_outputs", 0) == parts;
  const int64_t part = parts == 0 ? 0 : (extent + parts - 1) / parts;
  const int64_t last = extent - part * (parts - 1);
  if (parts == 0 || last < 0 || (last != part && !may_differ))
    throw InputError("an extent of {} does not split into {} equal parts", extent, parts);
  std::vector<int64_t> split(static_cast<size_t>(parts), part);
  split.back() = last;
  return split;
}

std::optional<Values> split(Source& source) {
  if (!take_integers(source, "split", 1)) return std::nullopt;
  if (!source.attributes.has("split")) source.attributes.set("split", even_split(source));
  source.attributes.erase("num_outputs");
  const size_t parts = source.attributes.integers("split").size();
  if (parts != static_cast<size_t>(source.node.output_size()))
    throw InputError("it has {} outputs for {} parts", source.node.output_size(), parts);
  return with_first_input(source);
}

std::optional<Values> range(Source& source) {
  std::vector<Tensor> bounds;
  for (size_t i = 0; i < 3; ++i) {
    const auto bound = source.constant(i);
    if (!bound) return std::nullopt;
    if (bound->elements() != 1) throw InputError("its bounds should be scalars");
    bounds.push_back(*bound);
  }
  constexpr double kMaxElements = 1 << 24;
  const auto number = [&](size_t i) { return bounds[i].to_doubles()[0]; };
  if (!(std::abs(number(1) - number(0)) <= kMaxElements * std::abs(number(2))) || number(2) == 0)
    return std::nullopt;
  const Tensor values = evaluate_node(op_named("Range"), {}, bounds)[0];
  const TensorType type = values.type();
  const NodeId node = source.graph.add_node(op_named("Range"), source.inputs,
                                            std::make_shared<const Attributes>(), {&type, 1});
  const WeightPtr known = Weight::known(values, source.node.output(0));
  return Values{
      source.graph.add_constant(with_expression(known, source.graph, source.graph.output(node)))};
}

}  // namespace

Converter shape_rule(std::string_view op) {
  static const std::unordered_map<std::string_view, Converter> rules = {{"Reshape", reshape},
                                                                        {"Expand", expand},
                                                                        {"Tile", tile},
                                                                        {"Squeeze", squeeze},
                                                                        {"Slice", slice},
                                                                        {"Unsqueeze", unsqueeze},
                                                                        {"Pad", pad},
                                                                        {"Clip", clip},
                                                                        {"Split", split},
                                                                        {"ReduceMean", reduce},
                                                                        {"ReduceSum", reduce},
                                                                        {"ReduceMax", reduce},
                                                                        {"ReduceMin", reduce},
                                                                        {"ReduceProd", reduce},
                                                                        {"ReduceL1", reduce},
                                                                        {"ReduceL2", reduce},
                                                                        {"ReduceSumSquare", reduce},
                                                                        {"ReduceLogSum", reduce},
                                                                        {"ReduceLogSumExp", reduce},
                                                                        {"Range", range}};
  const auto at = rules.find(op);
  return at == rules.end() ? nullptr : at->second;
}

}  // namespace reverie::proto
