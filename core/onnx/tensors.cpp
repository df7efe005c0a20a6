#include "core/onnx/tensors.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "core/base/error.h"
#include "core/ir/formula.h"

namespace reverie::proto {
namespace {

TensorType type_of(const onnx::TensorProto& tensor) {
  TensorType type;
  type.dtype = dtype_of(tensor.data_type());
  if (size_of(type.dtype) == 0)
    throw InputError("elements of type {} are not supported", tensor.data_type());
  type.shape.assign(tensor.dims().begin(), tensor.dims().end());
  require_sane(type.shape);
  return type;
}

Tensor from_bytes(const TensorType& type, const void* data, size_t size) {
  if (static_cast<int64_t>(size) != type.bytes())
    throw InputError("holds {} bytes, {} needs {}", size, to_string(type), type.bytes());
  Tensor tensor(type);
  if (size > 0) std::memcpy(tensor.bytes().data(), data, size);
  if (type.dtype == DType::kBool)
    for (std::byte& byte : tensor.bytes()) byte = std::byte{byte != std::byte{0}};
  return tensor;
}

template <typename Element, typename Field>
Tensor from_field(const TensorType& type, const Field& field) {
  if (field.size() != type.elements())
    throw InputError("holds {} elements, {} needs {}", field.size(), to_string(type),
                     type.elements());
  Tensor tensor(type);
  auto* out = reinterpret_cast<Element*>(tensor.bytes().data());
  for (const auto value : field) *out++ = static_cast<Element>(value);
  return tensor;
}

Tensor from_fields(const TensorType& type, const onnx::TensorProto& tensor) {
  switch (type.dtype) {
    case DType::kFloat32: return from_field<float>(type, tensor.float_data());
    case DType::kFloat64: return from_field<double>(type, tensor.double_data());
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kUInt16: return from_field<uint16_t>(type, tensor.int32_data());
    case DType::kInt8: return from_field<int8_t>(type, tensor.int32_data());
    case DType::kInt16: return from_field<int16_t>(type, tensor.int32_data());
    case DType::kInt32: return from_field<int32_t>(type, tensor.int32_data());
    case DType::kInt64: return from_field<int64_t>(type, tensor.int64_data());
    case DType::kUInt8: return from_field<uint8_t>(type, tensor.int32_data());
    case DType::kBool: return from_field<bool>(type, tensor.int32_data());
    case DType::kUInt32: return from_field<uint32_t>(type, tensor.uint64_data());
    case DType::kUInt64: return from_field<uint64_t>(type, tensor.uint64_data());
    case DType::kNone:
    case DType::kString: break;
  }
  throw InputError("elements of type {} are not supported", tensor.data_type());
}

Tensor inline_tensor(const TensorType& type, const onnx::TensorProto& tensor) {
  if (!tensor.has_raw_data()) return from_fields(type, tensor);
  return from_bytes(type, tensor.raw_data().data(), tensor.raw_data().size());
}

struct ExternalRange {
  std::shared_ptr<const MappedFile> file;
  size_t offset = 0;
};

int64_t parse_extent(const std::string& text, const std::string& key) {
  int64_t value = -1;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() || value < 0)
    throw InputError("its {} '{}' is no number", key, text);
  return value;
}

ExternalRange external_range(const TensorType& type, const onnx::TensorProto& tensor,
                             ExternalFiles& files) {
  std::string location;
  int64_t offset = 0;
  int64_t length = type.bytes();
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_extent(entry.value(), "offset");
    if (entry.key() == "length") length = parse_extent(entry.value(), "length");
  }
  if (length != type.bytes())
    throw InputError("external data has length {}, {} needs {}", length, to_string(type),
                     type.bytes());
  ExternalRange range = {files.open(location), static_cast<size_t>(offset)};
  const auto size = static_cast<int64_t>(range.file->bytes().size());
  if (offset > size || length > size - offset)
    throw InputError("external data '{}' has {} bytes, but bytes {} to {} are asked for", location,
                     size, offset, offset + length);
  return range;
}

void embed(onnx::TensorProto* tensor, ExternalFiles& files) {
  const bool is_carried = size_of(dtype_of(tensor->data_type())) > 0;
  if (tensor->data_location() != onnx::TensorProto::EXTERNAL || !is_carried) return;
  const Tensor data = read_tensor(*tensor, files);
  const std::string name = tensor->name();
  tensor->Clear();
  write_tensor(data, name, tensor);
}

std::string describe(const onnx::TensorProto& tensor) {
  return fmt::format("tensor '{}'", tensor.name());
}

WeightPtr stored_weight(const onnx::TensorProto& tensor, ExternalFiles& files) {
  return with_context(describe(tensor), [&] {
    const TensorType type = type_of(tensor);
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL)
      return Weight::dense(inline_tensor(type, tensor), tensor.name());
    const ExternalRange range = external_range(type, tensor, files);
    const auto load = [type, range] {
      const auto bytes = range.file->bytes().subspan(range.offset);
      return from_bytes(type, bytes.data(), static_cast<size_t>(type.bytes()));
    };
    if (type.elements() <= Weight::kSmallWeight) return Weight::dense(load(), tensor.name());
    const auto bytes = range.file->bytes().subspan(range.offset, static_cast<size_t>(type.bytes()));
    return Weight::lazy(type, Weight::content_identity(type, bytes), load, tensor.name());
  });
}

}  // namespace

WeightPtr read_weight(const onnx::TensorProto& tensor, ExternalFiles& files) {
  const WeightPtr weight = stored_weight(tensor, files);
  if (tensor.doc_string() != kFormulaMark) return weight;
  const WeightPtr known = known_weight(weight->materialize());
  return known != nullptr ? known : weight;
}

Tensor read_tensor(const onnx::TensorProto& tensor, ExternalFiles& files) {
  return read_weight(tensor, files)->materialize();
}

void embed_external_data(onnx::NodeProto* node, ExternalFiles& files) {
  for (auto& attribute : *node->mutable_attribute()) {
    if (attribute.has_t()) embed(attribute.mutable_t(), files);
    if (attribute.has_g()) embed_external_data(attribute.mutable_g(), files);
    for (auto& tensor : *attribute.mutable_tensors()) embed(&tensor, files);
    for (auto& graph : *attribute.mutable_graphs()) embed_external_data(&graph, files);
  }
}

void embed_external_data(onnx::GraphProto* graph, ExternalFiles& files) {
  for (auto& tensor : *graph->mutable_initializer()) embed(&tensor, files);
  for (auto& node : *graph->mutable_node()) embed_external_data(&node, files);
}

void embed_external_data(onnx::SparseTensorProto* tensor, ExternalFiles& files) {
  if (tensor->has_values()) embed(tensor->mutable_values(), files);
  if (tensor->has_indices()) embed(tensor->mutable_indices(), files);
}

void write_tensor(const Tensor& tensor, const std::string& name, onnx::TensorProto* out) {
  out->set_name(name);
  out->set_data_type(onnx_type_of(tensor.type().dtype));
  for (const int64_t extent : tensor.shape()) out->add_dims(extent);
  const auto bytes = tensor.bytes();
  out->set_raw_data(bytes.data(), bytes.size());
}

}  // namespace reverie::proto
