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

/// Truth values are 0 or 1 whatever the file holds.
Tensor normalised(Tensor tensor) {
  if (tensor.type().dtype == DType::kBool)
    for (std::byte& byte : tensor.bytes()) byte = std::byte{byte != std::byte{0}};
  return tensor;
}

void require_bytes(int64_t held, const TensorType& type) {
  if (held != type.bytes())
    throw InputError("holds {} bytes, {} needs {}", held, to_string(type), type.bytes());
}

Tensor from_bytes(const TensorType& type, const std::string& data) {
  require_bytes(static_cast<int64_t>(data.size()), type);
  Tensor tensor(type);
  if (!data.empty()) std::memcpy(tensor.bytes().data(), data.data(), data.size());
  return normalised(tensor);
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
    case DType::kFloat32:
      return from_field<float>(type, tensor.float_data());
    case DType::kFloat64:
      return from_field<double>(type, tensor.double_data());
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kUInt16:
      return from_field<uint16_t>(type, tensor.int32_data());
    case DType::kInt8:
      return from_field<int8_t>(type, tensor.int32_data());
    case DType::kInt16:
      return from_field<int16_t>(type, tensor.int32_data());
    case DType::kInt32:
      return from_field<int32_t>(type, tensor.int32_data());
    case DType::kInt64:
      return from_field<int64_t>(type, tensor.int64_data());
    case DType::kUInt8:
      return from_field<uint8_t>(type, tensor.int32_data());
    case DType::kBool:
      return from_field<bool>(type, tensor.int32_data());
    case DType::kUInt32:
      return from_field<uint32_t>(type, tensor.uint64_data());
    case DType::kUInt64:
      return from_field<uint64_t>(type, tensor.uint64_data());
    case DType::kNone:
    case DType::kString:
      break;
  }
  throw InputError("elements of type {} are not supported", tensor.data_type());
}

Tensor inline_tensor(const TensorType& type, const onnx::TensorProto& tensor) {
  if (!tensor.has_raw_data()) return from_fields(type, tensor);
  return from_bytes(type, tensor.raw_data());
}

/// Bytes of a file.
struct ExternalRange {
  std::shared_ptr<const InputFile> file;
  int64_t offset = 0;
  int64_t length = 0;

  void read(int64_t from, std::span<std::byte> out) const { file->read(offset + from, out); }
};

int64_t parse_extent(const std::string& text, const std::string& key) {
  int64_t value = -1;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size() || value < 0)
    throw InputError("its {} '{}' is no number", key, text);
  return value;
}

/// Of `needed` bytes where it does not say how many; up to the end of the file where that is
/// negative.
ExternalRange external_range(const onnx::TensorProto& tensor, int64_t needed,
                             ExternalFiles& files) {
  ExternalRange range;
  range.length = needed;
  std::string location;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") range.offset = parse_extent(entry.value(), "offset");
    if (entry.key() == "length") range.length = parse_extent(entry.value(), "length");
  }
  range.file = files.open(location);
  const int64_t rest = range.file->size() - range.offset;
  if (range.length < 0) range.length = std::max<int64_t>(rest, 0);
  if (range.length > rest)
    throw InputError("external data '{}' has {} bytes, but {} bytes from byte {} on are asked for",
                     location, range.file->size(), range.length, range.offset);
  return range;
}

ExternalRange external_range(const TensorType& type, const onnx::TensorProto& tensor,
                             ExternalFiles& files) {
  const ExternalRange range = external_range(tensor, type.bytes(), files);
  require_bytes(range.length, type);
  return range;
}

std::string describe(const onnx::TensorProto& tensor) {
  return fmt::format("tensor '{}'", tensor.name());
}

/// What is held in memory at once; among the others are no truth values.
bool is_held(const TensorType& type) {
  constexpr int64_t kLargestFloats = 16 << 10, kLargestOthers = 1 << 20;  // bytes
  return type.dtype == DType::kBool ||
         type.bytes() <= (is_floating(type.dtype) ? kLargestFloats : kLargestOthers);
}

WeightPtr external_weight(const TensorType& type, const ExternalRange& range,
                          const std::string& name) {
  const auto read = [range](int64_t offset, std::span<std::byte> out) { range.read(offset, out); };
  if (!is_held(type)) return Weight::stored(type, read, name);
  Tensor tensor(type);
  range.read(0, tensor.bytes());
  return Weight::dense(normalised(std::move(tensor)), name);
}

WeightPtr weight_of(const onnx::TensorProto& tensor, const std::string& name,
                    ExternalFiles& files) {
  return with_context(describe(tensor), [&] {
    const TensorType type = type_of(tensor);
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL)
      return Weight::dense(inline_tensor(type, tensor), name);
    return external_weight(type, external_range(type, tensor, files), name);
  });
}

using Visit = std::function<void(onnx::TensorProto*)>;

void visit_tensors_of(onnx::SparseTensorProto* tensor, const Visit& visit) {
  if (tensor->has_values()) visit(tensor->mutable_values());
  if (tensor->has_indices()) visit(tensor->mutable_indices());
}

void visit_tensors_of(onnx::GraphProto* graph, const Visit& visit);

void visit_tensors_of(onnx::NodeProto* node, const Visit& visit) {
  for (auto& attribute : *node->mutable_attribute()) {
    if (attribute.has_t()) visit(attribute.mutable_t());
    if (attribute.has_g()) visit_tensors_of(attribute.mutable_g(), visit);
    if (attribute.has_sparse_tensor()) visit_tensors_of(attribute.mutable_sparse_tensor(), visit);
    for (auto& tensor : *attribute.mutable_tensors()) visit(&tensor);
    for (auto& graph : *attribute.mutable_graphs()) visit_tensors_of(&graph, visit);
    for (auto& tensor : *attribute.mutable_sparse_tensors()) visit_tensors_of(&tensor, visit);
  }
}

void visit_tensors_of(onnx::GraphProto* graph, const Visit& visit) {
  for (auto& tensor : *graph->mutable_initializer()) visit(&tensor);
  for (auto& tensor : *graph->mutable_sparse_initializer()) visit_tensors_of(&tensor, visit);
  for (auto& node : *graph->mutable_node()) visit_tensors_of(&node, visit);
}

void embed(onnx::TensorProto* tensor, ExternalFiles& files) {
  if (tensor->data_location() != onnx::TensorProto::EXTERNAL) return;
  with_context(describe(*tensor), [&] {
    const bool is_carried = size_of(dtype_of(tensor->data_type())) > 0;
    const ExternalRange range = is_carried ? external_range(type_of(*tensor), *tensor, files)
                                           : external_range(*tensor, -1, files);
    if (range.length > kLargestMessage)
      throw InputError("its {} bytes are too many to lie inside of a model", range.length);
    std::string data(static_cast<size_t>(range.length), '\0');
    range.read(0, std::as_writable_bytes(std::span(data)));
    tensor->clear_data_location();
    tensor->clear_external_data();
    tensor->set_raw_data(std::move(data));
  });
}

}  // namespace

WeightPtr read_weight(const onnx::TensorProto& tensor, ExternalFiles& files) {
  const WeightPtr weight = weight_of(tensor, tensor.name(), files);
  if (tensor.doc_string() != kFormulaMark) return weight;
  const Tensor value = weight->materialize();
  const WeightPtr formula = known_weight(value);
  return formula != nullptr ? formula : Weight::known(value, tensor.name());
}

WeightPtr read_constant(const onnx::TensorProto& tensor, const std::string& name,
                        ExternalFiles& files) {
  return weight_of(tensor, name, files);
}

Tensor read_tensor(const onnx::TensorProto& tensor, ExternalFiles& files) {
  return read_weight(tensor, files)->materialize();
}

void embed_external_data(onnx::NodeProto* node, ExternalFiles& files) {
  visit_tensors_of(node, [&](onnx::TensorProto* tensor) { embed(tensor, files); });
  if (node->ByteSizeLong() > kLargestMessage)
    throw InputError("with the data that it keeps outside it is larger than 2 GiB");
}

void embed_external_data(onnx::GraphProto* graph, ExternalFiles& files) {
  visit_tensors_of(graph, [&](onnx::TensorProto* tensor) { embed(tensor, files); });
}

void embed_external_data(onnx::SparseTensorProto* tensor, ExternalFiles& files) {
  visit_tensors_of(tensor, [&](onnx::TensorProto* data) { embed(data, files); });
}

void visit_tensors(onnx::ModelProto* model, const std::function<void(onnx::TensorProto*)>& visit) {
  visit_tensors_of(model->mutable_graph(), visit);
  for (auto& function : *model->mutable_functions())
    for (auto& node : *function.mutable_node()) visit_tensors_of(&node, visit);
}

void write_type(const TensorType& type, const std::string& name, onnx::TensorProto* out) {
  out->set_name(name);
  out->set_data_type(onnx_type_of(type.dtype));
  for (const int64_t extent : type.shape) out->add_dims(extent);
}

void write_tensor(const Tensor& tensor, const std::string& name, onnx::TensorProto* out) {
  write_type(tensor.type(), name, out);
  const auto bytes = tensor.bytes();
  out->set_raw_data(bytes.data(), bytes.size());
}

}  // namespace reverie::proto
