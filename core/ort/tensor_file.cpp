#include "core/ort/tensor_file.h"

#include <cstring>
#include <fstream>

#include "core/base/error.h"
#include "core/base/files.h"

namespace reverie::ort {

void write_tensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors) {
  Json::Array entries;
  for (const auto& [name, tensor] : tensors) {
    const TensorType& type = tensor.type();
    if (!type.has_numbers() || type.dtype == DType::kBFloat16)
      throw InputError(
          "'{}' is of type {}, which ONNX Runtime's interface for Node.js does not take", name,
          name_of(type.dtype));
    entries.push_back({{"name", name},
                       {"type", name_of(type.dtype)},
                       {"dims", type.shape},
                       {"bytes", type.bytes()}});
  }
  std::ofstream file(path, std::ios::binary);
  file << Json(entries).dump() << '\n';
  for (const auto& [name, tensor] : tensors)
    file.write(reinterpret_cast<const char*>(tensor.bytes().data()),
               static_cast<std::streamsize>(tensor.bytes().size()));
  if (!file.flush()) throw InputError("{}: cannot be written", path.string());
}

std::vector<NamedTensor> read_tensors(const std::filesystem::path& path) {
  const std::string content = read_file(path);
  const size_t newline = content.find('\n');
  if (newline == std::string::npos) throw InputError("{}: is no file of tensors", path.string());
  std::vector<NamedTensor> tensors;
  size_t at = newline + 1;
  const Json header = Json::parse(std::string_view(content).substr(0, newline));
  for (const Json& entry : header.array()) {
    Tensor tensor(
        {dtype_named(entry.at("type").get<std::string>()), entry.at("dims").get<Shape>()});
    const size_t bytes = tensor.bytes().size();
    if (at + bytes > content.size()) throw InputError("{}: ends too early", path.string());
    std::memcpy(tensor.bytes().data(), content.data() + at, bytes);
    tensors.push_back({entry.at("name").get<std::string>(), std::move(tensor)});
    at += bytes;
  }
  return tensors;
}

}  // namespace reverie::ort
