#include "tools/eager/node.h"

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/exec/reference/reference.h"

namespace reverie::eager {
namespace {

std::optional<at::ScalarType> scalar_type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return at::kFloat;
    case DType::kFloat64: return at::kDouble;
    case DType::kFloat16: return at::kHalf;
    case DType::kBFloat16: return at::kBFloat16;
    case DType::kInt8: return at::kChar;
    case DType::kInt16: return at::kShort;
    case DType::kInt32: return at::kInt;
    case DType::kInt64: return at::kLong;
    case DType::kUInt8: return at::kByte;
    case DType::kBool: return at::kBool;
    default: return {};
  }
}

/// How a value is carried.
at::ScalarType carrier(DType dtype) { return scalar_type_of(dtype).value_or(at::kByte); }
Shape carried_shape(const TensorType& type) {
  return has_scalar_type(type.dtype) ? type.shape : Shape{type.bytes()};
}

template <typename Pick>
bool all_types(const Node& node, Pick&& pick) {
  const auto fits = [&](const TensorType& type) { return !type.known() || pick(type); };
  return std::all_of(node.inputs.begin(), node.inputs.end(), fits) &&
         std::all_of(node.outputs.begin(), node.outputs.end(), fits);
}

}  // namespace

Node::Node(const Graph& graph, NodeId node, torch::Device d)
    : op(graph.op(node)),
      shared_attributes(graph.shared_attributes(node)),
      inputs(input_types(graph, node)),
      outputs(output_types(graph, node)),
      device(d) {
  for (const ValueId input : graph.inputs(node))
    weights.push_back(input.valid() ? graph.weight(graph.producer(input)) : nullptr);
}

Kernel find_kernel(const Node& node) {
  for (const auto family : {unary_kernel, binary_kernel, product_kernel, window_kernel,
                            reduction_kernel, movement_kernel})
    if (Kernel kernel = family(node)) return kernel;
  return {};
}

Kernel reference_kernel(const Node& node) {
  return [node](Arguments x) {
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      inputs.push_back(node.has_input(i) ? brought_back(x[i], node.inputs[i]) : Tensor());
    std::vector<at::Tensor> results;
    for (const Tensor& result : evaluate_node(node.op, node.attributes(), inputs))
      results.push_back(carried(result, node.device));
    return results;
  };
}

bool computes(const Node& node) {
  const DType dtype = node.inputs.at(0).dtype;
  const bool wide = dtype == DType::kFloat32 || dtype == DType::kFloat64;
  if (!wide && !(is_floating(dtype) && node.device.is_cuda())) return false;
  return all_types(node, [&](const TensorType& type) {
    return type.dtype == dtype && type.elements() > 0;
  });
}

bool can_hold(const Node& node) {
  return all_types(node, [](const TensorType& type) { return has_scalar_type(type.dtype); });
}

at::Tensor argument(Arguments arguments, size_t index) {
  return index < arguments.size() ? arguments[index] : at::Tensor();
}

at::Tensor finished(at::Tensor result, const at::Tensor& residual, const std::string& activation) {
  if (residual.defined()) result.add_(residual);
  if (activation == "relu") result.relu_();
  if (activation == "sigmoid") result.sigmoid_();
  if (activation == "tanh") result.tanh_();
  return result;
}

bool has_scalar_type(DType dtype) { return scalar_type_of(dtype).has_value(); }

at::ScalarType scalar_type(DType dtype) {
  if (const auto type = scalar_type_of(dtype)) return *type;
  throw InputError("LibTorch has no {}", name_of(dtype));
}

at::Tensor carried(const Tensor& tensor, torch::Device device) {
  const at::TensorOptions options(carrier(tensor.type().dtype));
  const auto keep = [tensor](void*) {};
  return at::from_blob(const_cast<std::byte*>(tensor.bytes().data()), carried_shape(tensor.type()),
                       keep, options)
      .to(device);
}

Tensor brought_back(const at::Tensor& tensor, const TensorType& type) {
  Tensor result(type);
  const at::Tensor dense = tensor.to(at::kCPU).contiguous();
  REVERIE_CHECK(dense.scalar_type() == carrier(type.dtype) && dense.sizes() == carried_shape(type),
                "{} instead of {}", dense.toString(), to_string(type));
  const auto* from = static_cast<const std::byte*>(dense.data_ptr());
  std::copy_n(from, result.bytes().size(), result.bytes().data());
  return result;
}

}  // namespace reverie::eager
