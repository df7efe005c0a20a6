#include <algorithm>
#include <unordered_map>

#include "core/base/error.h"
#include "core/onnx/convert.h"
#include "core/onnx/opset.h"

/// Opsets 1 to 6 (ONNX's changelog of operators).
namespace reverie::proto {
namespace {

void reshape_second(Source& source, const Shape& shape) {
  source.inputs[1] = source.add("Reshape", {source.inputs[1]}, {{"shape", shape}})[0];
}

/// Gives the second input as many trailing extents of one that it stands at `axis` of the first.
void align_second(Source& source, int64_t axis) {
  const Shape& shape = source.type(0).shape;
  Shape aligned = source.type(1).shape;
  const auto at = static_cast<size_t>(normalize_axis(axis, source.type(0).rank()));
  if (at + aligned.size() > shape.size())
    throw InputError("axis {} has no room for {}", axis, to_string(aligned));
  const size_t missing = shape.size() - at - aligned.size();
  aligned.insert(aligned.end(), missing, 1);
  if (missing > 0) reshape_second(source, aligned);
}

/// The second was broadcast to the first where `broadcast` was set, at `axis` or at the end.
bool binary(Source& source) {
  const bool is_placed =
      source.attributes.integer("broadcast", 0) != 0 && source.attributes.has("axis");
  const int64_t axis = source.attributes.integer("axis", 0);
  for (const char* name : {"broadcast", "axis"}) source.attributes.erase(name);
  if (!source.has_input(0) || !source.has_input(1)) return true;
  if (source.type(1).elements() != 1 && is_placed) align_second(source, axis);
  if (source.type(1).rank() > source.type(0).rank()) reshape_second(source, {});
  return true;
}

/// A slope for each channel had no trailing extents.
bool parametric_relu(Source& source) {
  const bool by_channel =
      source.has_input(1) && source.type(1).elements() != 1 && source.type(1).rank() == 1;
  if (by_channel && source.type(0).rank() > 1) align_second(source, 1);
  return true;
}

bool gemm(Source& source) {
  source.attributes.erase("broadcast");
  return true;
}

/// What a graph that is deployed computes, whether or not the exporter said so.
bool in_inference(Source& source) {
  source.attributes.erase("is_test");
  return true;
}

bool concat(Source& source) {
  constexpr int kAxisRequiredSince = 4;
  if (source.opset < kAxisRequiredSince && !source.attributes.has("axis"))
    source.attributes.set("axis", int64_t{1});
  return true;
}

bool pad(Source& source) {
  const AttrValue* paddings = source.attributes.find("paddings");
  if (paddings == nullptr) return true;
  source.attributes.set("pads", AttrValue(*paddings));
  source.attributes.erase("paddings");
  return true;
}

/// Its power was a number.
bool lp_pool(Source& source) {
  if (source.attributes.has("p"))
    if (const auto* p = std::get_if<double>(source.attributes.find("p"))) {
      const auto whole = static_cast<int64_t>(*p);
      if (static_cast<double>(whole) != *p) return false;
      source.attributes.set("p", whole);
    }
  return true;
}

bool selu(Source& source) {
  constexpr int kExactDefaultsSince = 6;
  if (source.opset >= kExactDefaultsSince) return true;
  for (const auto& [name, value] : {std::pair{"alpha", 1.6732}, {"gamma", 1.0507}})
    if (!source.attributes.has(name)) source.attributes.set(name, value);
  return true;
}

bool recurrence(Source& source) {
  source.attributes.erase("output_sequence");
  return true;
}

bool upsample_by_attributes(Source& source) {
  if (source.type(0).rank() != 4) return false;
  const std::vector<double> scales = {1, 1, source.attributes.number("height_scale"),
                                      source.attributes.number("width_scale")};
  for (const char* name : {"height_scale", "width_scale"}) source.attributes.erase(name);
  source.attributes.set("scales", scales);
  if (source.attributes.text("mode", "nearest") == "bilinear")
    source.attributes.set("mode", std::string("linear"));
  return true;
}

/// `to` was a name.
bool cast(Source& source) {
  const AttrValue* given = source.attributes.find("to");
  const auto* name = given == nullptr ? nullptr : std::get_if<std::string>(given);
  if (name == nullptr) return true;
  onnx::TensorProto::DataType type = onnx::TensorProto::UNDEFINED;
  if (!onnx::TensorProto::DataType_Parse(*name, &type))
    throw InputError("there is no element type '{}'", *name);
  source.attributes.set("to", static_cast<int64_t>(type));
  return true;
}

void set_list_input(Source& source, const Shape& list) {
  source.inputs.resize(1);
  const Tensor tensor = Tensor::of<int64_t>({static_cast<int64_t>(list.size())}, list);
  source.inputs.push_back(source.graph.add_constant(Weight::dense(tensor)));
}

bool reshape(Source& source) {
  if (!source.attributes.has("shape")) return true;
  set_list_input(source, source.attributes.integers("shape"));
  source.attributes.erase("shape");
  return true;
}

/// Inputs were (data, how often, along which axis).
bool tile(Source& source) {
  constexpr int kRepeatsAllAxesSince = 6;
  if (source.opset >= kRepeatsAllAxesSince) return true;
  const auto count = source.constant(1), axis = source.constant(2);
  if (!count || !axis) return false;
  if (count->elements() != 1 || axis->elements() != 1)
    throw InputError("its counts should be scalars");
  Shape repeats(source.type(0).shape.size(), 1);
  const auto at =
      normalize_axis(static_cast<int64_t>(axis->to_doubles()[0]), source.type(0).rank());
  repeats[static_cast<size_t>(at)] = static_cast<int64_t>(count->to_doubles()[0]);
  set_list_input(source, repeats);
  return true;
}

/// Sizes could be an input, too.
bool split(Source& source) {
  if (!source.has_input(1)) return true;
  const auto sizes = source.constant_integers(1);
  if (sizes) source.attributes.set("split", *sizes);
  source.inputs.resize(1);
  return sizes.has_value();
}

/// Brings a node into its form at kOldestWritten; false where that has none.
using Step = bool (*)(Source&);

Step step_of(std::string_view op) {
  static const std::unordered_map<std::string_view, Step> steps = {
      {"Add", binary},
      {"And", binary},
      {"Div", binary},
      {"Equal", binary},
      {"Greater", binary},
      {"Less", binary},
      {"Mul", binary},
      {"Or", binary},
      {"Pow", binary},
      {"Sub", binary},
      {"Xor", binary},
      {"PRelu", parametric_relu},
      {"Gemm", gemm},
      {"BatchNormalization", in_inference},
      {"Dropout", in_inference},
      {"Concat", concat},
      {"Pad", pad},
      {"LpPool", lp_pool},
      {"GlobalLpPool", lp_pool},
      {"Selu", selu},
      {"LSTM", recurrence},
      {"GRU", recurrence},
      {"RNN", recurrence},
      {"Upsample", upsample_by_attributes},
      {"Cast", cast},
      {"Reshape", reshape},
      {"Tile", tile},
      {"Split", split}};
  const auto at = steps.find(op);
  return at == steps.end() ? nullptr : at->second;
}

}  // namespace

std::optional<Values> convert_older(Source& source) {
  source.attributes.erase("consumed_inputs");  // a hint that memory may be used again
  const Step step = step_of(source.node.op_type());
  if (step != nullptr && !step(source)) return std::nullopt;
  source.opset = kOldestWritten;
  return convert(source);
}

}  // namespace reverie::proto
