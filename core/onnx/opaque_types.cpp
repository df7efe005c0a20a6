#include "core/onnx/opaque_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace reverie::proto {
namespace {

/// Primes, so that what is computed from one is seldom another; small, so that tensors of four of
/// them are.
constexpr int64_t kNumbers[] = {11, 13, 17, 19, 23, 29, 31, 37, 41, 43,  47,  53,
                                59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107};
constexpr int64_t kMostElements = int64_t{1} << 22;

const onnx::TensorShapeProto* shape_of(const onnx::TypeProto& type) {
  const bool has_shape = type.has_tensor_type() && type.tensor_type().has_shape();
  return has_shape ? &type.tensor_type().shape() : nullptr;
}

DType element_type_of(const onnx::TypeProto& type) {
  return type.has_tensor_type() ? dtype_of(type.tensor_type().elem_type()) : DType::kNone;
}

const onnx::GraphProto* subgraph(const onnx::NodeProto& node, const std::string& name) {
  for (const auto& attribute : node.attribute())
    if (attribute.name() == name && attribute.has_g()) return &attribute.g();
  return nullptr;
}

onnx::TypeProto output_type(const onnx::GraphProto* graph, int index) {
  if (graph == nullptr || index >= graph->output_size()) return {};
  return graph->output(index).type();
}

bool has_attribute(const onnx::NodeProto& node, const std::string& name) {
  return std::ranges::any_of(node.attribute(),
                             [&](const auto& attribute) { return attribute.name() == name; });
}

int64_t integer(const onnx::NodeProto& node, const std::string& name) {
  for (const auto& attribute : node.attribute())
    if (attribute.name() == name) return attribute.i();
  return 0;
}

onnx::TypeProto with_leading_axis(onnx::TypeProto type) {
  if (shape_of(type) == nullptr) return {};
  const onnx::TensorShapeProto inner = type.tensor_type().shape();
  auto* shape = type.mutable_tensor_type()->mutable_shape();
  shape->Clear();
  shape->add_dim();
  for (const auto& dim : inner.dim()) *shape->add_dim() = dim;
  return type;
}

}  // namespace

onnx::TypeProto declared_by_subgraphs(const onnx::NodeProto& node, int output) {
  if (node.op_type() == "If") {
    const onnx::TypeProto one = output_type(subgraph(node, "then_branch"), output);
    const onnx::TypeProto other = output_type(subgraph(node, "else_branch"), output);
    const auto a = tensor_type(one), b = tensor_type(other);
    return a && a == b ? one : onnx::TypeProto();
  }
  const onnx::GraphProto* body = subgraph(node, "body");
  const bool is_loop = node.op_type() == "Loop";
  if (!is_loop && node.op_type() != "Scan") return {};
  const int carried =
      node.input_size() - (is_loop ? 2 : static_cast<int>(integer(node, "num_scan_inputs")));
  const onnx::TypeProto type = output_type(body, is_loop ? output + 1 : output);
  if (output < carried) return tensor_type(type) ? type : onnx::TypeProto();
  return has_attribute(node, "scan_output_axes") ? onnx::TypeProto() : with_leading_axis(type);
}

OpaqueTypes::OpaqueTypes(const ImportOptions& options, std::map<std::string, int64_t> symbols)
    : given_(options.data_extents),
      bind_(options.bind_data_extents),
      symbols_(std::move(symbols)) {}

TensorType OpaqueTypes::type(const std::string& name, const onnx::TypeProto& inferred,
                             const onnx::TypeProto& declared) {
  if (const auto told = tensor_type(inferred)) return *told;
  if (const auto told = tensor_type(declared)) return *told;
  const onnx::TensorShapeProto* declared_shape = shape_of(declared);
  const onnx::TensorShapeProto* shape =
      shape_of(inferred) != nullptr ? shape_of(inferred) : declared_shape;
  TensorType type;
  type.dtype = element_type_of(inferred) != DType::kNone ? element_type_of(inferred)
                                                         : element_type_of(declared);
  if (shape == nullptr || !type.has_numbers()) return {};
  const bool same_rank =
      declared_shape != nullptr && declared_shape->dim_size() == shape->dim_size();
  std::map<std::string, int64_t> before = data_extents_;
  for (int axis = 0; axis < shape->dim_size(); ++axis) {
    const auto& declared_dim = same_rank ? declared_shape->dim(axis) : shape->dim(axis);
    const std::string place = fmt::format("{}[{}]", name, axis);
    const std::string& symbol = declared_dim.dim_param().empty() ? place : declared_dim.dim_param();
    if (has_extent(shape->dim(axis)))
      type.shape.push_back(shape->dim(axis).dim_value());
    else if (has_extent(declared_dim))
      type.shape.push_back(declared_dim.dim_value());
    else if (symbols_.contains(symbol))
      type.shape.push_back(symbols_.at(symbol));
    else
      type.shape.push_back(data_extent(symbol));
  }
  const bool is_bound = data_extents_.size() == before.size() || bind_;
  if (is_bound && is_sane(type.shape) && type.elements() <= kMostElements) return type;
  data_extents_ = std::move(before);
  return {};
}

int64_t OpaqueTypes::data_extent(const std::string& symbol) {
  const auto [known, added] = data_extents_.try_emplace(symbol, 0);
  if (!added) return known->second;
  const auto given = given_.find(symbol);
  const int64_t number = kNumbers[(data_extents_.size() - 1) % std::size(kNumbers)];
  return known->second = given != given_.end() ? given->second : number;
}

}  // namespace reverie::proto
