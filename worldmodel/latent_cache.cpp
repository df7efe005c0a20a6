#include "worldmodel/latent_cache.h"

#include <numeric>
#include <vector>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/hash.h"
#include "worldmodel/packer.h"

namespace reverie {
namespace {

constexpr int kNodesAtOnce = 20000;

uint64_t encoder_hash(const Encoder& encoder) {
  Checkpoint checkpoint;
  encoder.store(checkpoint);
  uint64_t hash = hash_string(checkpoint.configs["encoder"]);
  for (const auto& [name, tensor] : checkpoint.tensors) {
    const auto plain = tensor.to(torch::kCPU).contiguous();
    hash = hash_combine(hash, hash_bytes(plain.data_ptr(), plain.nbytes(), hash_string(name)));
  }
  return hash;
}

}  // namespace

torch::Tensor encode_states(const EpisodeSource& data, Encoder& encoder,
                            const std::function<void(int)>& observe) {
  std::vector<int> all(data.state_count());
  std::iota(all.begin(), all.end(), 0);
  auto latents = torch::empty({data.state_count(), encoder.latent()});
  int done = 0;
  for (const auto& states : pack_states(data, all, kNodesAtOnce, kNodesAtOnce)) {
    const auto z = encoder.encode(load_states(data, states).to(encoder.device()));
    latents.narrow(0, done, z.size(0)).copy_(z);
    done += static_cast<int>(states.size());
    if (observe) observe(done);
  }
  return latents;
}

torch::Tensor cached_latents(const std::string& path, const EpisodeSource& data, Encoder& encoder,
                             const std::function<void(int)>& observe) {
  const uint64_t key = hash_combine(data.fingerprint(), encoder_hash(encoder));
  if (file_exists(path)) {
    const Checkpoint kept = load_checkpoint(path, "latents");
    if (kept.data == key) return kept.tensors.at("latents");
  }
  Checkpoint made;
  made.kind = "latents";
  made.spec = data.spec();
  made.data = key;
  made.tensors["latents"] = encode_states(data, encoder, observe);
  save_checkpoint(path, made);
  return made.tensors["latents"];
}

}  // namespace reverie
