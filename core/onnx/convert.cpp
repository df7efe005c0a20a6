#include "core/onnx/convert.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/onnx/opset.h"
#include "core/onnx/runtime_forms.h"

namespace reverie::proto {

void Source::leave_out(std::string_view name, const AttrValue& value) {
  const AttrValue* given = attributes.find(name);
  if (given != nullptr && *given == value) attributes.erase(name);
}

std::optional<Tensor> Source::constant(size_t index) const {
  if (!has_input(index)) return std::nullopt;
  const WeightPtr& weight = graph.weight(graph.producer(inputs[index]));
  if (weight == nullptr) {
    obstacle = fmt::format("input {} is not constant", index);
    return std::nullopt;
  }
  return weight->materialize();
}

std::optional<std::vector<int64_t>> Source::constant_integers(size_t index) const {
  if (!has_input(index) || is_floating(type(index).dtype)) return std::nullopt;
  const std::optional<Tensor> tensor = constant(index);
  return tensor ? std::optional(tensor->to_integers()) : std::nullopt;
}

Values Source::add(std::string_view op, std::span<const ValueId> with, Attributes has) const {
  const auto outputs = graph.outputs(graph.add_node(op_named(op), with, std::move(has)));
  return {outputs.begin(), outputs.end()};
}

Attributes read_attributes(const onnx::NodeProto& node, bool* has_others) {
  Attributes result;
  *has_others = false;
  for (const auto& attribute : node.attribute()) {
    switch (attribute.type()) {
      case onnx::AttributeProto::INT:
        result.set(attribute.name(), attribute.i());
        break;
      case onnx::AttributeProto::FLOAT:
        result.set(attribute.name(), decimal(attribute.f()));
        break;
      case onnx::AttributeProto::STRING:
        result.set(attribute.name(), attribute.s());
        break;
      case onnx::AttributeProto::INTS:
        result.set(attribute.name(),
                   std::vector<int64_t>(attribute.ints().begin(), attribute.ints().end()));
        break;
      case onnx::AttributeProto::FLOATS: {
        std::vector<double> values;
        for (const float value : attribute.floats()) values.push_back(decimal(value));
        result.set(attribute.name(), std::move(values));
        break;
      }
      case onnx::AttributeProto::STRINGS:
        result.set(attribute.name(), std::vector<std::string>(attribute.strings().begin(),
                                                              attribute.strings().end()));
        break;
      default:
        *has_others = true;
    }
  }
  return result;
}

std::optional<Values> convert_as_is(Source& source) {
  const OpSchema* row = find_op(source.node.op_type());
  const auto stays_out = [&](std::string reason) {
    source.obstacle = std::move(reason);
    return std::nullopt;
  };
  const bool is_special = row == &input_op() || row == &constant_op() || row == &opaque_op();
  if (row == nullptr || row->value_shaped || is_special)
    return stays_out("no such operator in the table");
  if (source.has_other_attributes) return stays_out("an attribute is no number, text or list");
  for (const auto& [name, value] : source.attributes.entries()) {
    const auto same = [&](const AttrSpec& spec) { return spec.name == name; };
    if (std::none_of(row->attributes.begin(), row->attributes.end(), same))
      return stays_out(fmt::format("the table does not know attribute '{}'", name));
  }
  for (int i = row->max_outputs; i < source.node.output_size(); ++i)
    if (source.wants_output(i)) return stays_out(fmt::format("output {} is used", i));
  return source.add(row->name, source.inputs, source.attributes);
}

/// Some take other numbers for true, and others for false.
void check_flags(const Attributes& attributes) {
  constexpr std::string_view kFlags[] = {"align_corners",
                                         "allowzero",
                                         "ceil_mode",
                                         "count_include_pad",
                                         "exclude_outside",
                                         "exclusive",
                                         "fmod",
                                         "input_forget",
                                         "keepdims",
                                         "largest",
                                         "reverse",
                                         "sorted",
                                         "spatial",
                                         "linear_before_reset",
                                         "noop_with_empty_axes",
                                         "transA",
                                         "transB",
                                         "upper",
                                         "select_last_index",
                                         "training_mode"};
  for (const std::string_view flag : kFlags) {
    const auto* value = attributes.find(flag);
    const auto* number = value == nullptr ? nullptr : std::get_if<int64_t>(value);
    if (number != nullptr && *number != 0 && *number != 1)
      throw InputError("attribute '{}' is {}, neither 0 nor 1", flag, *number);
  }
}

Converter standard_rule(std::string_view op) {
  for (const auto family : {constant_rule, shape_rule, window_rule, arithmetic_rule, image_rule,
                            recurrent_rule, indexing_rule, loss_rule, signal_rule, added_rule})
    if (const Converter rule = family(op)) return rule;
  return nullptr;
}

std::optional<Values> convert(Source& source) {
  check_flags(source.attributes);
  const std::string_view op = source.node.op_type();
  if (source.node.domain() == kRuntimeDomain) {
    if (const Converter rule = runtime_rule(op)) return rule(source);
    source.obstacle = "no such operator in the table";
    return std::nullopt;
  }
  if (source.opset < kOldestWritten) return convert_older(source);
  const Converter rule = standard_rule(op);
  return rule != nullptr ? rule(source) : convert_as_is(source);
}

}  // namespace reverie::proto
