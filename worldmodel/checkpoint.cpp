#include "worldmodel/checkpoint.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <sstream>
#include <string_view>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/files.h"
#include "worldmodel/spec_json.h"

namespace reverie {
namespace {

using nlohmann::json;

constexpr std::string_view kMagic = "REVERIE1";
constexpr size_t kPrefix = 16;  // magic and length of the header
constexpr size_t kChecksum = 4;

const std::map<std::string, torch::ScalarType>& types() {
  static const std::map<std::string, torch::ScalarType> table = {{"float32", torch::kFloat},
                                                                 {"float64", torch::kDouble},
                                                                 {"int64", torch::kInt64},
                                                                 {"uint8", torch::kUInt8}};
  return table;
}

std::string type_name(torch::ScalarType type) {
  for (const auto& [name, known] : types())
    if (known == type) return name;
  throw InternalError("a checkpoint cannot hold tensors of this type");
}

void append_tensor(json& entries, std::string& body, const std::string& name,
                   const torch::Tensor& tensor) {
  const auto plain = tensor.detach().to(torch::kCPU).contiguous();
  entries.push_back({{"name", name},
                     {"type", type_name(plain.scalar_type())},
                     {"shape", plain.sizes().vec()},
                     {"offset", body.size()}});
  body.append(static_cast<const char*>(plain.data_ptr()), plain.nbytes());
}

std::string serialize(const Checkpoint& checkpoint) {
  std::string body;
  json tensors = json::array();
  json blobs = json::array();
  for (const auto& [name, tensor] : checkpoint.tensors) append_tensor(tensors, body, name, tensor);
  for (const auto& [name, blob] : checkpoint.blobs) {
    blobs.push_back({{"name", name}, {"offset", body.size()}, {"size", blob.size()}});
    body += blob;
  }
  const std::string header = json{{"kind", checkpoint.kind},
                                  {"spec", spec_to_json(checkpoint.spec)},
                                  {"data", checkpoint.data},
                                  {"config", checkpoint.config},
                                  {"configs", checkpoint.configs},
                                  {"counters", checkpoint.counters},
                                  {"scores", checkpoint.scores},
                                  {"tensors", tensors},
                                  {"blobs", blobs}}
                                 .dump();
  const uint64_t length = header.size();
  std::string file(kMagic);
  file.append(reinterpret_cast<const char*>(&length), sizeof length);
  file += header;
  file += body;
  const uint32_t checksum = crc32c(file);
  return file.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
}

std::string_view slice(std::string_view body, const json& entry, size_t size) {
  const size_t offset = entry.at("offset").get<size_t>();
  if (offset > body.size() || size > body.size() - offset) throw InputError("a part is cut off");
  return body.substr(offset, size);
}

torch::Tensor parse_tensor(std::string_view body, const json& entry) {
  const auto shape = entry.at("shape").get<std::vector<int64_t>>();
  auto tensor = torch::empty(shape, types().at(entry.at("type").get<std::string>()));
  const auto bytes = slice(body, entry, tensor.nbytes());
  std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

Checkpoint parse(std::string_view file) {
  if (file.size() < kPrefix + kChecksum || file.substr(0, kMagic.size()) != kMagic)
    throw InputError("this is not a checkpoint of reverie");
  uint32_t checksum;
  std::memcpy(&checksum, file.data() + file.size() - kChecksum, kChecksum);
  file.remove_suffix(kChecksum);
  if (checksum != crc32c(file)) throw InputError("the checkpoint is damaged (checksum)");
  uint64_t length;
  std::memcpy(&length, file.data() + kMagic.size(), sizeof length);
  if (length > file.size() - kPrefix) throw InputError("the checkpoint is damaged (header)");
  const auto body = file.substr(kPrefix + length);
  const json header = json::parse(file.substr(kPrefix, length));
  Checkpoint checkpoint;
  checkpoint.kind = header.at("kind");
  checkpoint.spec = spec_from_json(header.at("spec"));
  checkpoint.data = header.at("data");
  checkpoint.config = header.at("config");
  header.at("configs").get_to(checkpoint.configs);
  header.at("counters").get_to(checkpoint.counters);
  header.at("scores").get_to(checkpoint.scores);
  for (const auto& entry : header.at("tensors"))
    checkpoint.tensors[entry.at("name")] = parse_tensor(body, entry);
  for (const auto& entry : header.at("blobs"))
    checkpoint.blobs[entry.at("name")] = slice(body, entry, entry.at("size").get<size_t>());
  return checkpoint;
}

void restore_tensor(const Checkpoint& checkpoint, const std::string& name, torch::Tensor& target) {
  const auto found = checkpoint.tensors.find(name);
  if (found == checkpoint.tensors.end())
    throw InputError("the {} checkpoint lacks '{}'", checkpoint.kind, name);
  if (found->second.sizes() != target.sizes() ||
      found->second.scalar_type() != target.scalar_type())
    throw InputError("'{}' of the {} checkpoint has another shape or type than this configuration",
                     name, checkpoint.kind);
  target.copy_(found->second);
}

}  // namespace

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  write_file(path, serialize(checkpoint));
}

Checkpoint load_checkpoint(const std::string& path, const std::string& kind) {
  return with_context(path, [&] {
    const std::string file = read_file(path);
    Checkpoint checkpoint;
    try {
      checkpoint = parse(file);
    } catch (const json::exception& error) {
      throw InputError("the checkpoint is damaged ({})", error.what());
    } catch (const std::out_of_range&) {
      throw InputError("the checkpoint holds a tensor of an unknown type");
    }
    if (!kind.empty() && checkpoint.kind != kind)
      throw InputError("this is a checkpoint of kind '{}', '{}' is needed", checkpoint.kind, kind);
    return checkpoint;
  });
}

void require_same_actions(const std::string& path, const Checkpoint& checkpoint,
                          const EnvSpec& spec) {
  if (checkpoint.spec.name != spec.name)
    throw InputError("{}: trained on environment '{}', not on '{}'", path, checkpoint.spec.name,
                     spec.name);
  if (checkpoint.spec.fingerprint != spec.fingerprint || checkpoint.spec.actions != spec.actions)
    throw InputError(
        "{}: trained with another rule set (fingerprint {:016x}, here {:016x}); collect and train "
        "again, or pass the rules that it was trained with",
        path, checkpoint.spec.fingerprint, spec.fingerprint);
}

void store_module(Checkpoint& checkpoint, const std::string& prefix,
                  const torch::nn::Module& module) {
  for (const auto& item : module.named_parameters())
    checkpoint.tensors[prefix + "." + item.key()] = item.value().detach().clone();
  for (const auto& item : module.named_buffers())
    checkpoint.tensors[prefix + "." + item.key()] = item.value().detach().clone();
}

void restore_module(const Checkpoint& checkpoint, const std::string& prefix,
                    torch::nn::Module& module) {
  torch::NoGradGuard guard;
  for (auto& item : module.named_parameters())
    restore_tensor(checkpoint, prefix + "." + item.key(), item.value());
  for (auto& item : module.named_buffers())
    restore_tensor(checkpoint, prefix + "." + item.key(), item.value());
}

void store_optimizer(Checkpoint& checkpoint, const std::string& name,
                     const torch::optim::Optimizer& optimizer) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  std::ostringstream stream;
  archive.save_to(stream);
  checkpoint.blobs[name] = stream.str();
}

void restore_optimizer(const Checkpoint& checkpoint, const std::string& name,
                       torch::optim::Optimizer& optimizer) {
  const auto found = checkpoint.blobs.find(name);
  if (found == checkpoint.blobs.end())
    throw InputError("the {} checkpoint lacks '{}'", checkpoint.kind, name);
  std::istringstream stream(found->second);
  torch::serialize::InputArchive archive;
  archive.load_from(stream, optimizer.param_groups().at(0).params().at(0).device());
  optimizer.load(archive);
}

}  // namespace reverie
