#include "core/onnx/write_node.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "core/onnx/newer_opsets.h"
#include "core/onnx/older_resize.h"
#include "core/onnx/runtime_forms.h"
#include "core/onnx/tensors.h"

namespace reverie::proto {

std::string name_at(const OpSchema& op, int opset) {
  constexpr int kScatterElementsSince = 11;
  if (op.is("ScatterElements") && opset < kScatterElementsSince) return "Scatter";
  return op.is("Resize") && opset < kResizeSince ? "Upsample" : op.name;
}

namespace {

/// The place that ONNX has for an input.
size_t onnx_place(const OpSchema& op, size_t input) {
  return op.is("OneHot") && input == 1 ? 2 : input;
}

/// Whether the input or output, one of `formal`, may have that type.
bool may_be(const std::vector<onnx::OpSchema::FormalParameter>& formal, size_t index, DType dtype) {
  if (formal.empty()) return false;
  onnx::TypeProto type;
  type.mutable_tensor_type()->set_elem_type(onnx_type_of(dtype));
  const auto& allowed = formal[std::min(index, formal.size() - 1)].GetTypes();
  return allowed.contains(onnx::Utils::DataTypeUtils::ToType(type));
}

enum class Elements { kIntegers, kOneInteger, kScalarInteger, kFloats, kOneOfInput };

/// Attributes that become an input from the opset on, in the order of the inputs.
struct MovedAttribute {
  const char* op;
  const char* attribute;
  int since;
  Elements elements = Elements::kIntegers;
};

constexpr MovedAttribute kMoved[] = {
    {"Reshape", "shape", 5},
    {"Expand", "shape", 8},
    {"Tile", "repeats", 6},
    {"Squeeze", "axes", 13},
    {"Unsqueeze", "axes", 13},
    {"ReduceSum", "axes", 13},
    {"Slice", "starts", 10},
    {"Slice", "ends", 10},
    {"Slice", "axes", 10},
    {"Slice", "steps", 10},
    {"Pad", "pads", 11},
    {"Pad", "value", 11, Elements::kOneOfInput},
    {"Clip", "min", 11, Elements::kOneOfInput},
    {"Clip", "max", 11, Elements::kOneOfInput},
    {"Split", "split", 13},
    {"Resize", "roi", 11, Elements::kFloats},  // of a mode that the table does not have
    {"Resize", "scales", 9, Elements::kFloats},
    {"Resize", "sizes", 11},
    {"TopK", "k", 10, Elements::kOneInteger},
    {"CumSum", "axis", 11, Elements::kScalarInteger},
    {"Trilu", "k", 14, Elements::kScalarInteger},
    {"OneHot", "depth", 9, Elements::kScalarInteger},
    {"ReduceL1", "axes", 18},
    {"ReduceL2", "axes", 18},
    {"ReduceLogSum", "axes", 18},
    {"ReduceLogSumExp", "axes", 18},
    {"ReduceMax", "axes", 18},
    {"ReduceMean", "axes", 18},
    {"ReduceMin", "axes", 18},
    {"ReduceProd", "axes", 18},
    {"ReduceSumSquare", "axes", 18},
};

bool moved(const OpSchema& op, const std::string& attribute, int opset) {
  return std::any_of(std::begin(kMoved), std::end(kMoved), [&](const MovedAttribute& row) {
    return op.is(row.op) && attribute == row.attribute && opset >= row.since;
  });
}

bool is_default(const OpSchema& op, const std::string& name, const AttrValue& value) {
  for (const AttrSpec& spec : op.attributes)
    if (spec.name == name && spec.fallback) return *spec.fallback == value;
  const auto* list = std::get_if<std::vector<int64_t>>(&value);
  const auto ones = [](int64_t extent) { return extent == 1; };
  return (name == "dilations" || name == "steps") && list != nullptr &&
         std::all_of(list->begin(), list->end(), ones);
}

bool keeps_zero_extent(const Graph& graph, NodeId node) {
  const Shape& from = graph.type(graph.inputs(node)[0]).shape;
  const Shape& to = graph.attributes(node).integers("shape");
  for (size_t i = 0; i < to.size(); ++i)
    if (to[i] == 0 && (i >= from.size() || from[i] != 0)) return true;
  return false;
}

bool trailing_extents_are_one(const Graph& graph, NodeId node) {
  const Shape& shape = graph.type(graph.inputs(node)[0]).shape;
  const auto axis = graph.attributes(node).integer("axis");
  return std::all_of(shape.begin() + axis + 1, shape.end(), [](int64_t e) { return e == 1; });
}

bool reduces_nothing(const Graph& graph, NodeId node) {
  return graph.op(node).name.starts_with("Reduce") &&
         graph.attributes(node).integers("axes").empty() &&
         graph.type(graph.inputs(node)[0]).rank() > 0;
}

bool broadcasts(const Graph& graph, NodeId node) {
  const Shape& shape = graph.type(graph.output(node)).shape;
  return std::ranges::any_of(graph.inputs(node),
                             [&](ValueId input) { return graph.type(input).shape != shape; });
}

bool is_softmax(const OpSchema& op) { return op.is("Softmax") || op.is("LogSoftmax"); }

constexpr int kScatteredExtremesSince = 18;

bool scatters_extremes(const Attributes& attributes) {
  const std::string& reduction = attributes.text("reduction");
  return reduction == "max" || reduction == "min";
}

/// Whether scale and bias of a GroupNormalization have as many elements as that opset wants.
bool has_factors_at(const Graph& graph, NodeId node, int opset) {
  const int64_t factors = graph.type(graph.inputs(node)[1]).elements();
  const int64_t channels = graph.type(graph.inputs(node)[0]).shape[1];
  return factors ==
         (opset < kScaledByChannelSince ? graph.attributes(node).integer("num_groups") : channels);
}

/// What an older or newer operator set cannot say although it has the operator and its attributes.
bool has_meaning(const Graph& graph, NodeId node, int opset) {
  const OpSchema& op = graph.op(node);
  if (is_softmax(op)) return opset >= 13 || trailing_extents_are_one(graph, node);
  if (op.is("Reshape")) return opset >= 14 || !keeps_zero_extent(graph, node);
  if (op.is("Gemm")) return opset >= 11 || graph.inputs(node).size() > 2;
  if (reduces_nothing(graph, node)) return opset >= (op.is("ReduceSum") ? 13 : 18);
  if (op.is("OneHot")) return opset >= 11;
  if (op.is("ScatterND") || op.is("ScatterElements"))
    return opset >= kScatteredExtremesSince || !scatters_extremes(graph.attributes(node));
  if (op.is("GroupNormalization")) return has_factors_at(graph, node, opset);
  if (op.is("Min") || op.is("Max")) return opset >= 8 || !broadcasts(graph, node);
  if (op.is("Resize")) return opset >= kNewerResizeSince || is_older_resize(graph.attributes(node));
  return true;
}

void set_attribute(const std::string& name, const AttrValue& value,
                   onnx::AttributeProto::AttributeType type, onnx::NodeProto* node) {
  onnx::AttributeProto* out = node->add_attribute();
  out->set_name(name);
  out->set_type(type);
  switch (type) {
    case onnx::AttributeProto::INT:
      out->set_i(std::get<int64_t>(value));
      break;
    case onnx::AttributeProto::FLOAT:
      out->set_f(static_cast<float>(std::get<double>(value)));
      break;
    case onnx::AttributeProto::STRING:
      out->set_s(std::get<std::string>(value));
      break;
    case onnx::AttributeProto::INTS:
      for (const int64_t entry : std::get<std::vector<int64_t>>(value)) out->add_ints(entry);
      break;
    case onnx::AttributeProto::FLOATS:
      for (const double entry : std::get<std::vector<double>>(value))
        out->add_floats(static_cast<float>(entry));
      break;
    case onnx::AttributeProto::STRINGS:
      for (const std::string& entry : std::get<std::vector<std::string>>(value))
        out->add_strings(entry);
      break;
    default:
      throw InternalError("attribute '" + name + "' has a type that no node has");
  }
}

Tensor scalar(double value, DType dtype) { return Tensor::of<double>({}, {value}).cast(dtype); }

Tensor floats(const std::vector<double>& values) {
  return Tensor::of<double>({static_cast<int64_t>(values.size())}, values).cast(DType::kFloat32);
}

void write_attributes(const OpSchema& op, const Attributes& attributes, int opset,
                      onnx::NodeProto* node) {
  const onnx::OpSchema* schema = schema_at(name_at(op, opset), opset);
  REVERIE_CHECK(schema != nullptr, "{} at opset {}", op.name, opset);
  for (const auto& [name, value] : attributes.entries()) {
    // The checker takes no empty list; leaving it out means the same for a scalar.
    const auto* list = std::get_if<std::vector<int64_t>>(&value);
    if (moved(op, name, opset) || (list != nullptr && list->empty())) continue;
    const auto known = schema->attributes().find(name);
    if (known != schema->attributes().end()) set_attribute(name, value, known->second.type, node);
  }
}

/// Leading extents that stay as they are become 0, which copies them; the first that does not, -1.
Shape relative_shape(const Graph& graph, NodeId node) {
  const Shape& from = graph.type(graph.inputs(node)[0]).shape;
  Shape to = graph.attributes(node).integers("shape");
  if (std::find(to.begin(), to.end(), 0) != to.end()) return to;
  size_t same = 0;
  while (same < from.size() && same < to.size() && from[same] == to[same]) to[same++] = 0;
  if (same < to.size()) to[same] = -1;
  return to;
}

std::string add_moved(const Graph& graph, NodeId id, const MovedAttribute& row,
                      const AttrValue& value, Target& target) {
  if (row.elements == Elements::kIntegers) {
    const bool is_relative = graph.op(id).is("Reshape") && target.relative_shapes;
    return target.add_integers(
        is_relative ? relative_shape(graph, id) : std::get<std::vector<int64_t>>(value),
        row.attribute);
  }
  if (row.elements == Elements::kFloats)
    return target.add_constant(floats(std::get<std::vector<double>>(value)), row.attribute);
  if (row.elements == Elements::kOneInteger)
    return target.add_integers({std::get<int64_t>(value)}, row.attribute);
  if (row.elements == Elements::kScalarInteger)
    return target.add_constant(Tensor::of<int64_t>({}, {std::get<int64_t>(value)}), row.attribute);
  const DType dtype = graph.type(graph.inputs(id)[0]).dtype;
  return target.add_constant(scalar(std::get<double>(value), dtype), row.attribute);
}

/// An input that may not be absent, and has nothing to say, is empty.
void fill_required_inputs(int opset, onnx::NodeProto* node, Target& target) {
  const onnx::OpSchema* schema = schema_at(node->op_type(), opset);
  for (int i = 1; i < node->input_size(); ++i) {
    const auto formal = std::min(static_cast<size_t>(i), schema->inputs().size() - 1);
    if (node->input(i).empty() && schema->inputs()[formal].GetOption() == onnx::OpSchema::Single)
      node->set_input(i, target.add_constant(floats({}), schema->inputs()[formal].GetName()));
  }
}

void write_moved_attributes(const Graph& graph, NodeId id, const Attributes& attributes,
                            onnx::NodeProto* node, Target& target) {
  for (const MovedAttribute& row : kMoved) {
    if (!graph.op(id).is(row.op) || target.language.opset < row.since) continue;
    const AttrValue* value = attributes.find(row.attribute);
    node->add_input(value == nullptr ? "" : add_moved(graph, id, row, *value, target));
  }
  if (graph.op(id).is("OneHot")) node->mutable_input()->SwapElements(1, 2);
  while (node->input_size() > 0 && node->input(node->input_size() - 1).empty())
    node->mutable_input()->RemoveLast();
  fill_required_inputs(target.language.opset, node, target);
}

/// The shape of a convolution's filter.
std::optional<Shape> filter_of(const Graph& graph, NodeId id) {
  const OpSchema& op = graph.op(id);
  const size_t at = op.is("QLinearConv") ? 3 : 1;
  const bool has = at == 3 || op.is("Conv") || op.is("ConvTranspose") || op.is("ConvInteger");
  return has ? std::optional(graph.type(graph.inputs(id)[at]).shape) : std::nullopt;
}

/// Optional outputs that nobody reads have no name.
void name_outputs(const Graph& graph, NodeId id, const std::vector<std::string>& names, int opset,
                  onnx::NodeProto* node) {
  const auto& formal = schema_at(node->op_type(), opset)->outputs();
  for (size_t i = 0; i < names.size(); ++i) {
    const bool is_optional = i < formal.size() && formal[i].GetOption() == onnx::OpSchema::Optional;
    const bool is_read = graph.use_count(graph.output(id, static_cast<int>(i))) > 0;
    node->add_output(is_optional && !is_read ? "" : names[i]);
  }
  while (node->output_size() > 1 && node->output(node->output_size() - 1).empty())
    node->mutable_output()->RemoveLast();
}

void add_integer(const char* name, int64_t value, onnx::NodeProto* node) {
  set_attribute(name, value, onnx::AttributeProto::INT, node);
}

/// Whether its inputs and outputs may have the types that they have.
bool may_have_types(const Graph& graph, NodeId node, const onnx::OpSchema& schema, int opset) {
  const OpSchema& op = graph.op(node);
  const auto fits = [&](const auto& formal, size_t index, ValueId value) {
    if (!value.valid()) return true;
    const DType dtype = graph.type(value).dtype;
    return may_be(formal, index, dtype) || takes_newer_type(op.name, opset, dtype);
  };
  const auto inputs = graph.inputs(node), outputs = graph.outputs(node);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!fits(schema.inputs(), onnx_place(op, i), inputs[i])) return false;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!fits(schema.outputs(), i, outputs[i])) return false;
  return true;
}

/// Whether the standard has the node at that opset.
bool in_standard(const Graph& graph, NodeId node, int opset) {
  const OpSchema& op = graph.op(node);
  const onnx::OpSchema* schema = schema_at(name_at(op, opset), opset);
  if (schema == nullptr || !has_meaning(graph, node, opset)) return false;
  if (!may_have_types(graph, node, *schema, opset)) return false;
  for (const auto& [name, value] : graph.attributes(node).entries())
    if (!moved(op, name, opset) && !schema->attributes().contains(name) &&
        !is_default(op, name, value) && !(op.is("Resize") && opset < kNewerResizeSince))
      return false;
  return true;
}

Dialect dialect_of(const RuntimeForm& form) {
  return is_standard_domain(std::string(form.domain)) ? Dialect::kRuntime : Dialect::kExtended;
}

onnx::AttributeProto::AttributeType attribute_type(const AttrValue& value) {
  constexpr onnx::AttributeProto::AttributeType kTypes[] = {
      onnx::AttributeProto::INT,  onnx::AttributeProto::FLOAT,  onnx::AttributeProto::STRING,
      onnx::AttributeProto::INTS, onnx::AttributeProto::FLOATS, onnx::AttributeProto::STRINGS};
  return kTypes[value.index()];
}

void write_runtime_form(const Graph& graph, NodeId id, const RuntimeForm& form,
                        const std::vector<std::string>& outputs, onnx::NodeProto* node) {
  node->set_domain(std::string(form.domain));
  node->set_op_type(std::string(form.name));
  while (node->input(node->input_size() - 1).empty()) node->mutable_input()->RemoveLast();
  for (size_t i = 0; i < form.places.size(); ++i) {
    if (i > 0 && graph.use_count(graph.output(id, static_cast<int>(i))) == 0) continue;
    while (node->output_size() < form.places[i]) node->add_output("");
    node->add_output(outputs[i]);
  }
  for (const auto& [name, value] : graph.attributes(id).entries())
    if (std::ranges::find(form.said, name) == form.said.end())
      set_attribute(name, value, attribute_type(value), node);
}

void write_standard_form(const Graph& graph, NodeId id, const std::vector<std::string>& outputs,
                         onnx::NodeProto* node, Target& target) {
  const OpSchema& op = graph.op(id);
  node->set_op_type(name_at(op, target.language.opset));
  name_outputs(graph, id, outputs, target.language.opset, node);
  Attributes attributes = graph.attributes(id);
  if (op.is("Cast")) {
    attributes.erase("to");
    add_integer("to", onnx_type_of(dtype_named(graph.attributes(id).text("to"))), node);
  }
  if (const auto filter = filter_of(graph, id))
    attributes.set("kernel_shape", Shape(filter->begin() + 2, filter->end()));
  if (op.is("Resize") && target.relative_shapes)
    attributes = with_scales(attributes, graph.type(graph.inputs(id)[0]).shape);
  if (op.is("GridSample") && target.language.opset >= kRenamedGridModesSince &&
      attributes.text("mode") == "bilinear")
    attributes.set("mode", std::string("linear"));
  if (op.is("Reshape") && keeps_zero_extent(graph, id)) add_integer("allowzero", 1, node);
  if (reduces_nothing(graph, id)) add_integer("noop_with_empty_axes", 1, node);
  write_attributes(op, attributes, target.language.opset, node);
  write_moved_attributes(graph, id, attributes, node, target);
}

}  // namespace

std::string Target::add_constant(const Tensor& tensor, const std::string& stem) {
  const std::string name = fresh_name(stem);
  write_tensor(tensor, name, graph->add_initializer());
  return name;
}

std::string Target::add_integers(const std::vector<int64_t>& values, const std::string& stem) {
  return add_constant(Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values), stem);
}

bool can_write(const Graph& graph, NodeId node, const Language& language) {
  if (in_standard(graph, node, language.opset)) return true;
  const RuntimeForm* form = runtime_form(graph.op(node), graph.attributes(node));
  return form != nullptr && language.dialect >= dialect_of(*form);
}

void write_node(const Graph& graph, NodeId id, const std::string& name,
                const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                Target& target) {
  onnx::NodeProto node;
  node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  if (in_standard(graph, id, target.language.opset))
    write_standard_form(graph, id, outputs, &node, target);
  else
    write_runtime_form(graph, id, *runtime_form(graph.op(id), graph.attributes(id)), outputs,
                       &node);
  *target.graph->add_node() = std::move(node);
}

}  // namespace reverie::proto
