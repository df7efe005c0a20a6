#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "env/environment.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// With which every checkpoint begins, of whatever version.
inline constexpr std::string_view kCheckpointMagic = "REVERIE";

/// A file of trained state. Layout, little-endian:
///
///     8 bytes   "REVERIE2": kCheckpointMagic and the version
///     uint64    length of the header
///     header    JSON: kind, spec, config, counters, scores, and name, type, shape and offset
///               of each tensor
///     bytes     tensors, one after the other
///     uint32    CRC-32C of everything before
///
/// Equal content gives equal bytes.
struct Checkpoint {
  std::string kind;    ///< "encoder", "world" or "policy", these with "-training"; "latents"
  EnvSpec spec;        ///< of the environment, all its names included
  uint64_t data = 0;   ///< fingerprint of what it was trained on
  std::string config;  ///< resolved YAML
  std::map<std::string, std::string> configs;  ///< of the parts, by name, as YAML
  std::map<std::string, int64_t> counters;
  std::map<std::string, double> scores;
  std::map<std::string, torch::Tensor> tensors;  ///< float32, float64, int32, int64 or uint8
};

/// Written aside and renamed.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);
/// InputError, one line, when the file is missing, damaged, of another version or of another kind
/// than the one wanted (any where `kind` is empty).
Checkpoint load_checkpoint(const std::string& path, const std::string& kind);

/// A tensor of the checkpoint; InputError when it is not there.
const torch::Tensor& stored_tensor(const Checkpoint& checkpoint, const std::string& name);

/// Of the names and elements of the tensors.
uint64_t hash_of_tensors(const Checkpoint& checkpoint);

/// Parameters and buffers under `prefix` + "." + name.
void store_module(Checkpoint& checkpoint, const std::string& prefix,
                  const torch::nn::Module& module);
bool holds_module(const Checkpoint& checkpoint, const std::string& prefix);
/// InputError when one is missing or has another shape.
void restore_module(const Checkpoint& checkpoint, const std::string& prefix,
                    torch::nn::Module& module);

/// State of Adam for its first group of parameters, tensors under `prefix` + ".adam.". Learning
/// rates and other settings are the trainer's.
void store_optimizer(Checkpoint& checkpoint, const std::string& prefix,
                     const torch::optim::Adam& optimizer);
/// InputError when a tensor has another shape.
void restore_optimizer(const Checkpoint& checkpoint, const std::string& prefix,
                       torch::optim::Adam& optimizer);

}  // namespace reverie
