#include "worldmodel/network/checkpoint.h"

#include <cstring>
#include <sstream>
#include <type_traits>

#include "core/base/crc32c.h"
#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "env/spec_json.h"

namespace reverie {
namespace {

constexpr char kVersion = '2';                 // behind the magic
constexpr size_t kLengthAt = 8, kPrefix = 16;  // length of the header; all before it
constexpr size_t kChecksum = 4;

const std::map<std::string, torch::ScalarType>& types() {
  static const std::map<std::string, torch::ScalarType> table = {{"float32", torch::kFloat},
                                                                 {"float64", torch::kDouble},
                                                                 {"int32", torch::kInt32},
                                                                 {"int64", torch::kInt64},
                                                                 {"uint8", torch::kUInt8}};
  return table;
}

std::string type_name(torch::ScalarType type) {
  for (const auto& [name, known] : types())
    if (known == type) return name;
  throw InternalError("a checkpoint cannot hold tensors of this type");
}

void append_tensor(Json::Array& entries, std::string& body, const std::string& name,
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
  Json::Array tensors;
  for (const auto& [name, tensor] : checkpoint.tensors) append_tensor(tensors, body, name, tensor);
  const Json spec = checkpoint.spec.name.empty() ? Json() : spec_to_json(checkpoint.spec);
  const std::string header =
      Json{{"kind", checkpoint.kind},       {"spec", spec},
           {"data", checkpoint.data},       {"config", checkpoint.config},
           {"configs", checkpoint.configs}, {"counters", checkpoint.counters},
           {"scores", checkpoint.scores},   {"tensors", tensors}}
          .dump();
  const uint64_t length = header.size();
  std::string file(kCheckpointMagic);
  file += kVersion;
  file.append(reinterpret_cast<const char*>(&length), sizeof length);
  file += header;
  file += body;
  const uint32_t checksum = crc32c(file);
  return file.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
}

std::string_view slice(std::string_view body, const Json& entry, size_t size) {
  const size_t offset = entry.at("offset").get<size_t>();
  if (offset > body.size() || size > body.size() - offset) throw InputError("a part is cut off");
  return body.substr(offset, size);
}

torch::Tensor parse_tensor(std::string_view body, const Json& entry) {
  const auto shape = entry.at("shape").get<std::vector<int64_t>>();
  const auto type = types().find(entry.at("type").get<std::string>());
  if (type == types().end()) throw InputError("a tensor is of an unknown type");
  auto tensor = torch::empty(shape, type->second);
  const auto bytes = slice(body, entry, tensor.nbytes());
  std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  return tensor;
}

Checkpoint checkpoint_of(const Json& header, std::string_view body) {
  Checkpoint checkpoint;
  checkpoint.kind = header.at("kind").get<std::string>();
  if (const Json& spec = header.at("spec"); !spec.is_null()) checkpoint.spec = spec_from_json(spec);
  checkpoint.data = header.at("data").get<uint64_t>();
  checkpoint.config = header.at("config").get<std::string>();
  checkpoint.configs = header.at("configs").get<decltype(checkpoint.configs)>();
  checkpoint.counters = header.at("counters").get<decltype(checkpoint.counters)>();
  checkpoint.scores = header.at("scores").get<decltype(checkpoint.scores)>();
  for (const Json& entry : header.at("tensors").array())
    checkpoint.tensors[entry.at("name").get<std::string>()] = parse_tensor(body, entry);
  return checkpoint;
}

Checkpoint parse(std::string_view file) {
  if (file.size() < kPrefix + kChecksum || !file.starts_with(kCheckpointMagic))
    throw InputError("this is not a checkpoint of reverie");
  const char version = file[kCheckpointMagic.size()];
  if (version != kVersion)
    throw InputError("the checkpoint is of version {}, this program reads version {}; train again",
                     version - '0', kVersion - '0');
  uint32_t checksum;
  std::memcpy(&checksum, file.data() + file.size() - kChecksum, kChecksum);
  file.remove_suffix(kChecksum);
  if (checksum != crc32c(file)) throw InputError("the checkpoint is damaged (checksum)");
  uint64_t length;
  std::memcpy(&length, file.data() + kLengthAt, sizeof length);
  if (length > file.size() - kPrefix) throw InputError("the checkpoint is damaged (header)");
  return with_context("the checkpoint is damaged", [&] {
    return checkpoint_of(Json::parse(file.substr(kPrefix, length)), file.substr(kPrefix + length));
  });
}

void restore_tensor(const Checkpoint& checkpoint, const std::string& name, torch::Tensor& target) {
  const torch::Tensor& stored = stored_tensor(checkpoint, name);
  if (stored.sizes() != target.sizes() || stored.scalar_type() != target.scalar_type())
    throw InputError("'{}' of the {} checkpoint has another shape or type than this configuration",
                     name, checkpoint.kind);
  target.copy_(stored);
}

/// Under what an optimizer keeps the state of a parameter: an address, as text in LibTorch 1.
template <class States>
auto state_key(const States&, const torch::Tensor& parameter) {
  using Key = typename States::key_type;
  void* const address = parameter.unsafeGetTensorImpl();
  if constexpr (std::is_same_v<Key, std::string>) {
    std::ostringstream text;
    text << address;
    return text.str();
  } else {
    return Key{address};
  }
}

/// Names of the state of Adam for parameter i.
struct AdamNames {
  AdamNames(const std::string& prefix, size_t i)
      : step(fmt::format("{}.adam.{}.step", prefix, i)),
        mean(fmt::format("{}.adam.{}.mean", prefix, i)),
        square(fmt::format("{}.adam.{}.square", prefix, i)) {}
  std::string step, mean, square;
};

}  // namespace

void save_checkpoint(const std::string& path, const Checkpoint& checkpoint) {
  write_file(path, serialize(checkpoint));
}

Checkpoint load_checkpoint(const std::string& path, const std::string& kind) {
  return with_context(path, [&] {
    const std::string file = read_file(path);
    const Checkpoint checkpoint = parse(file);
    if (!kind.empty() && checkpoint.kind != kind)
      throw InputError("this is a checkpoint of kind '{}', '{}' is needed", checkpoint.kind, kind);
    return checkpoint;
  });
}

const torch::Tensor& stored_tensor(const Checkpoint& checkpoint, const std::string& name) {
  const auto found = checkpoint.tensors.find(name);
  if (found == checkpoint.tensors.end())
    throw InputError("the {} checkpoint lacks '{}'", checkpoint.kind, name);
  return found->second;
}

uint64_t hash_of_tensors(const Checkpoint& checkpoint) {
  uint64_t hash = 0;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    const auto plain = tensor.to(torch::kCPU).contiguous();
    hash = hash_combine(hash, hash_bytes(plain.data_ptr(), plain.nbytes(), hash_string(name)));
  }
  return hash;
}

void store_module(Checkpoint& checkpoint, const std::string& prefix,
                  const torch::nn::Module& module) {
  for (const auto& item : module.named_parameters())
    checkpoint.tensors[prefix + "." + item.key()] = item.value().detach().clone();
  for (const auto& item : module.named_buffers())
    checkpoint.tensors[prefix + "." + item.key()] = item.value().detach().clone();
}

bool holds_module(const Checkpoint& checkpoint, const std::string& prefix) {
  const auto first = checkpoint.tensors.lower_bound(prefix + ".");
  return first != checkpoint.tensors.end() && first->first.starts_with(prefix + ".");
}

void restore_module(const Checkpoint& checkpoint, const std::string& prefix,
                    torch::nn::Module& module) {
  torch::NoGradGuard guard;
  for (auto& item : module.named_parameters())
    restore_tensor(checkpoint, prefix + "." + item.key(), item.value());
  for (auto& item : module.named_buffers())
    restore_tensor(checkpoint, prefix + "." + item.key(), item.value());
}

void store_optimizer(Checkpoint& checkpoint, const std::string& prefix,
                     const torch::optim::Adam& optimizer) {
  const auto& parameters = optimizer.param_groups().at(0).params();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto found = optimizer.state().find(state_key(optimizer.state(), parameters[i]));
    if (found == optimizer.state().end()) continue;  // it has made no step yet
    const auto& state = static_cast<const torch::optim::AdamParamState&>(*found->second);
    const AdamNames names(prefix, i);
    checkpoint.tensors[names.step] = torch::tensor(state.step(), torch::kInt64);
    checkpoint.tensors[names.mean] = state.exp_avg().detach().clone();
    checkpoint.tensors[names.square] = state.exp_avg_sq().detach().clone();
  }
}

void restore_optimizer(const Checkpoint& checkpoint, const std::string& prefix,
                       torch::optim::Adam& optimizer) {
  const auto& parameters = optimizer.param_groups().at(0).params();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const AdamNames names(prefix, i);
    const auto step = checkpoint.tensors.find(names.step);
    if (step == checkpoint.tensors.end()) continue;
    auto state = std::make_unique<torch::optim::AdamParamState>();
    state->step(step->second.item<int64_t>());
    state->exp_avg(torch::zeros_like(parameters[i]));
    state->exp_avg_sq(torch::zeros_like(parameters[i]));
    restore_tensor(checkpoint, names.mean, state->exp_avg());
    restore_tensor(checkpoint, names.square, state->exp_avg_sq());
    optimizer.state()[state_key(optimizer.state(), parameters[i])] = std::move(state);
  }
}

}  // namespace reverie
