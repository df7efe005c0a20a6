#include "core/onnx/newer_opsets.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/onnx/runtime_forms.h"

namespace reverie::proto {
namespace {

constexpr char kHiddenDomain[] = "reverie.newer";
constexpr int32_t kNewestType = 24;  // float8e8m0, of opset 24 (ONNX, onnx.proto)

bool is_zero(const onnx::AttributeProto& attribute) { return attribute.i() == 0; }
bool is_stretch(const onnx::AttributeProto& attribute) { return attribute.s() == "stretch"; }
bool are_ones(const onnx::AttributeProto& attribute) {
  return std::ranges::all_of(attribute.ints(), [](int64_t entry) { return entry == 1; });
}
bool is_anything(const onnx::AttributeProto&) { return true; }
bool is_nothing(const onnx::AttributeProto&) { return false; }

/// An attribute that the library does not know, and values of it that do not matter to shapes.
struct NewAttribute {
  const char* name;
  bool (*is_harmless)(const onnx::AttributeProto&);
};

/// What an operator is from an opset on (ONNX's changelog of operators).
struct Change {
  int since;
  const char* stand_in = nullptr;  ///< of the same shapes in the library; nullptr: none
  std::vector<NewAttribute> attributes = {};
  int most_inputs = 1 << 20;
  std::vector<int> again = {};  ///< opsets of later changes, ascending
};

using Changes = std::unordered_map<std::string_view, Change>;

/// Operators whose form changed, or that were added, after kNewestInLibrary. Those that only take
/// more element types are not among them.
const Changes& changes() {
  static const Changes table = {
      {"AffineGrid", {20, nullptr}},
      {"Attention", {.since = 23, .again = {24}}},
      {"AveragePool", {19, "AveragePool", {{"dilations", are_ones}}}},
      {"BitwiseAnd", {18, "Mod"}},
      {"BitwiseNot", {18, "Abs"}},
      {"BitwiseOr", {18, "Mod"}},
      {"BitwiseXor", {18, "Mod"}},
      {"Cast",
       {.since = 19,
        .stand_in = "Cast",
        .attributes = {{"saturate", is_anything}, {"round_mode", is_anything}},
        .again = {24}}},
      {"CastLike",
       {.since = 19,
        .stand_in = "CastLike",
        .attributes = {{"saturate", is_anything}, {"round_mode", is_anything}},
        .again = {24}}},
      {"CenterCropPad", {18, nullptr}},
      {"Col2Im", {18, nullptr}},
      {"DFT", {20, nullptr}},
      {"DeformConv", {19, nullptr}},
      {"DequantizeLinear",
       {.since = 19,
        .stand_in = "DequantizeLinear",
        .attributes = {{"block_size", is_zero}, {"output_dtype", is_zero}},
        .again = {21, 23}}},
      {"Gelu", {20, "Sigmoid", {{"approximate", is_anything}}}},
      {"GridSample", {20, nullptr}},
      {"GroupNormalization",
       {.since = 18,
        .stand_in = "InstanceNormalization",
        .attributes = {{"num_groups", is_anything}, {"stash_type", is_anything}},
        .again = {21}}},
      {"ImageDecoder", {20, nullptr}},
      {"LpPool", {18, "LpPool", {{"dilations", are_ones}, {"ceil_mode", is_zero}}}},
      {"Mish", {18, "Sigmoid"}},
      {"OptionalGetElement", {18, nullptr}},
      {"OptionalHasElement", {18, nullptr}},
      {"Pad", {.since = 18, .stand_in = "Pad", .most_inputs = 3, .again = {19}}},
      {"QuantizeLinear",
       {.since = 19,
        .stand_in = "QuantizeLinear",
        .attributes = {{"saturate", is_anything},
                       {"block_size", is_zero},
                       {"output_dtype", is_zero},
                       {"precision", is_zero}},
        .again = {21, 23}}},
      {"ReduceL1", {18, "ReduceSum"}},
      {"ReduceL2", {18, "ReduceSum"}},
      {"ReduceLogSum", {18, "ReduceSum"}},
      {"ReduceLogSumExp", {18, "ReduceSum"}},
      {"ReduceMax", {18, "ReduceSum"}},
      {"ReduceMean", {18, "ReduceSum"}},
      {"ReduceMin", {18, "ReduceSum"}},
      {"ReduceProd", {18, "ReduceSum"}},
      {"ReduceSumSquare", {18, "ReduceSum"}},
      {"RMSNormalization", {23, "LayerNormalization"}},
      {"RegexFullMatch", {20, nullptr}},
      {"Resize",
       {.since = 18,
        .stand_in = "Resize",
        .attributes = {{"antialias", is_anything},
                       {"keep_aspect_ratio_policy", is_stretch},
                       {"axes", is_nothing}},
        .again = {19}}},
      {"RotaryEmbedding", {23, nullptr}},
      {"Split", {18, "Split", {{"num_outputs", is_anything}}}},
      {"StringConcat", {20, nullptr}},
      {"StringSplit", {20, nullptr}},
      {"Swish", {24, "Sigmoid", {{"alpha", is_anything}}}},
      {"TensorScatter", {24, nullptr}},
  };
  return table;
}

onnx::OpSchema newer_schema(const char* op, int since, std::vector<const char*> inputs) {
  onnx::OpSchema schema(op, __FILE__, __LINE__);
  schema.SinceVersion(since).Output(0, "Y", "", "T");
  for (size_t i = 0; i < inputs.size(); ++i) schema.Input(static_cast<int>(i), inputs[i], "", "T");
  return schema.TypeConstraint(
      "T", {"tensor(float16)", "tensor(float)", "tensor(double)", "tensor(bfloat16)"}, "");
}

/// Operators of the table that were added after kNewestInLibrary.
const std::unordered_map<std::string_view, onnx::OpSchema>& newer_schemas() {
  using Attribute = onnx::AttributeProto;
  static const auto table = [] {
    std::unordered_map<std::string_view, onnx::OpSchema> all;
    all["Gelu"] = newer_schema("Gelu", 20, {"X"})
                      .Attr("approximate", "", Attribute::STRING, std::string("none"));
    all["GroupNormalization"] = newer_schema("GroupNormalization", 18, {"X", "scale", "bias"})
                                    .Attr("num_groups", "", Attribute::INT, true)
                                    .Attr("epsilon", "", Attribute::FLOAT, 1e-5f);
    all["RMSNormalization"] = newer_schema("RMSNormalization", 23, {"X", "scale"})
                                  .Attr("axis", "", Attribute::INT, static_cast<int64_t>(-1))
                                  .Attr("epsilon", "", Attribute::FLOAT, 1e-5f);
    all["Swish"] = newer_schema("Swish", 24, {"X"}).Attr("alpha", "", Attribute::FLOAT, 1.0f);
    for (auto& [op, schema] : all) schema.Finalize();
    return all;
  }();
  return table;
}

bool is_known_to_library(int32_t element_type) {
  return element_type <= onnx::TensorProto::BFLOAT16;
}

/// Bytes hold the narrow types as they lie in a tensor.
void restate(onnx::TensorProto* tensor) {
  if (!is_known_to_library(tensor->data_type())) tensor->set_data_type(onnx::TensorProto::UINT8);
}

/// Element types of the graph's inputs and initializers.
using ElementTypes = std::map<std::string, int32_t>;

ElementTypes element_types(const onnx::GraphProto& graph) {
  ElementTypes types;
  for (const auto& input : graph.input())
    types[input.name()] = input.type().tensor_type().elem_type();
  for (const auto& tensor : graph.initializer()) types[tensor.name()] = tensor.data_type();
  return types;
}

class Restatement {
 public:
  Restatement(int opset, ElementTypes types) : opset_(opset), types_(std::move(types)) {}

  void restate_nodes(google::protobuf::RepeatedPtrField<onnx::NodeProto>* nodes) const {
    for (auto& node : *nodes) {
      if (is_standard_domain(node.domain()) && !restate_node(&node)) node.set_domain(kHiddenDomain);
      for (auto& attribute : *node.mutable_attribute()) restate_attribute(&attribute);
    }
  }

  void restate_graph(onnx::GraphProto* graph) const {
    for (auto& tensor : *graph->mutable_initializer()) restate(&tensor);
    for (auto& tensor : *graph->mutable_sparse_initializer()) restate(tensor.mutable_values());
    restate_nodes(graph->mutable_node());
  }

 private:
  static bool holds_narrow_tensor(const onnx::NodeProto& node) {
    return std::ranges::any_of(node.attribute(), [](const onnx::AttributeProto& attribute) {
      return (attribute.has_t() && !is_known_to_library(attribute.t().data_type())) ||
             (attribute.has_sparse_tensor() &&
              !is_known_to_library(attribute.sparse_tensor().values().data_type()));
    });
  }

  void restate_attribute(onnx::AttributeProto* attribute) const {
    if (attribute->has_t()) restate(attribute->mutable_t());
    if (attribute->has_sparse_tensor())
      restate(attribute->mutable_sparse_tensor()->mutable_values());
    if (attribute->has_g()) restate_graph(attribute->mutable_g());
    for (auto& tensor : *attribute->mutable_tensors()) restate(&tensor);
    for (auto& graph : *attribute->mutable_graphs()) restate_graph(&graph);
  }

  /// What DequantizeLinear gives has the type of the scale; before, it was float32.
  bool gives_another_type(const onnx::NodeProto& node) const {
    if (node.op_type() != "DequantizeLinear" || node.input_size() < 2) return false;
    const auto scale = types_.find(node.input(1));
    return scale == types_.end() || scale->second != onnx::TensorProto::FLOAT;
  }

  /// False when it is to be hidden.
  bool restate_node(onnx::NodeProto* node) const {
    if (is_added_by_runtime(node->op_type()) && since_version(node->op_type(), opset_) == 0)
      return false;
    return opset_ <= kNewestInLibrary || (!holds_narrow_tensor(*node) && restate_form(node));
  }

  /// False when the library has no operator of these shapes.
  bool restate_form(onnx::NodeProto* node) const {
    const auto at = changes().find(node->op_type());
    if (at == changes().end() || opset_ < at->second.since) return true;
    const Change& change = at->second;
    if (change.stand_in == nullptr || node->input_size() > change.most_inputs) return false;
    if (gives_another_type(*node)) return false;
    auto* attributes = node->mutable_attribute();
    for (const NewAttribute& row : change.attributes) {
      const auto found = std::ranges::find(*attributes, row.name, &onnx::AttributeProto::name);
      if (found == attributes->end()) continue;
      if (!row.is_harmless(*found)) return false;
      attributes->erase(found);
    }
    node->set_op_type(change.stand_in);
    return true;
  }

  int opset_;
  ElementTypes types_;
};

/// The opset that the imports had. Where the library does not know it, they then import the newest
/// that it knows.
int restate_imports(google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>* imports) {
  int opset = kNewestInLibrary;
  for (auto& import : *imports) {
    if (!is_standard_domain(import.domain())) continue;
    opset = static_cast<int>(import.version());
    import.set_version(std::min(opset, kNewestInLibrary));
  }
  auto* hidden = imports->Add();
  hidden->set_domain(kHiddenDomain);
  hidden->set_version(1);
  return opset;
}

}  // namespace

bool is_element_type(int32_t type) {
  return onnx::TensorProto_DataType_IsValid(type) ||
         (type > onnx::TensorProto::BFLOAT16 && type <= kNewestType);
}

bool takes_newer_type(std::string_view op, int opset, DType dtype) {
  static const std::unordered_map<std::string_view, int> halves_since = {{"QuantizeLinear", 19},
                                                                         {"DequantizeLinear", 19},
                                                                         {"IsInf", 20},
                                                                         {"IsNaN", 20},
                                                                         {"QLinearMatMul", 21}};
  static const std::unordered_set<std::string_view> brief_since_22 = {"Acos",
                                                                      "Acosh",
                                                                      "Asin",
                                                                      "Asinh",
                                                                      "Atan",
                                                                      "Atanh",
                                                                      "AveragePool",
                                                                      "Conv",
                                                                      "ConvTranspose",
                                                                      "Cos",
                                                                      "Cosh",
                                                                      "Elu",
                                                                      "GRU",
                                                                      "GlobalAveragePool",
                                                                      "GlobalLpPool",
                                                                      "GlobalMaxPool",
                                                                      "GridSample",
                                                                      "HardSigmoid",
                                                                      "HardSwish",
                                                                      "InstanceNormalization",
                                                                      "LSTM",
                                                                      "LpNormalization",
                                                                      "LpPool",
                                                                      "MaxPool",
                                                                      "RNN",
                                                                      "Round",
                                                                      "Selu",
                                                                      "Sin",
                                                                      "Sinh",
                                                                      "Softplus",
                                                                      "Softsign",
                                                                      "Tan",
                                                                      "ThresholdedRelu"};
  const bool is_brief = dtype == DType::kBFloat16;
  if (is_brief && ((opset >= 22 && brief_since_22.contains(op)) || (opset >= 24 && op == "TopK")))
    return true;
  const auto since = halves_since.find(op);
  const bool is_half = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  return is_half && since != halves_since.end() && opset >= since->second;
}

const onnx::OpSchema* schema_at(const std::string& op, int opset) {
  const auto newer = newer_schemas().find(op);
  if (newer == newer_schemas().end())
    return onnx::OpSchemaRegistry::Schema(op, std::min(opset, kNewestInLibrary), "");
  return newer->second.SinceVersion() <= opset ? &newer->second : nullptr;
}

int since_version(const std::string& op, int opset) {
  const auto change = changes().find(op);
  if (change != changes().end() && opset >= change->second.since) {
    int since = change->second.since;
    for (const int again : change->second.again)
      if (opset >= again) since = again;
    return since;
  }
  const auto* schema = onnx::OpSchemaRegistry::Schema(op, std::min(opset, kNewestInLibrary), "");
  return schema == nullptr ? 0 : schema->SinceVersion();
}

void restate_for_library(onnx::ModelProto* model) {
  for (auto& function : *model->mutable_functions())
    Restatement(restate_imports(function.mutable_opset_import()), {})
        .restate_nodes(function.mutable_node());
  ElementTypes types = element_types(model->graph());
  Restatement(restate_imports(model->mutable_opset_import()), std::move(types))
      .restate_graph(model->mutable_graph());
}

}  // namespace reverie::proto
