#include "worldmodel/encoder/latent_cache.h"

#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/files.h"
#include "core/base/hash.h"
#include "worldmodel/batch/packer.h"
#include "worldmodel/encoder/entity_latents.h"

namespace reverie {
namespace {

constexpr int kNodesAtOnce = 20000;
constexpr uint64_t kForm = 3;  // of a kept file
constexpr std::array<const char*, 3> kLatentNames = {"z", "entities", "neighbours"};  // of Latents

Latents take(const Checkpoint& kept) {
  Latents latents;
  for (size_t i = 0; i < kLatentNames.size(); ++i)
    if (const auto found = kept.tensors.find(kLatentNames[i]); found != kept.tensors.end())
      *latents.tensors()[i] = found->second;
  return latents;
}

uint64_t encoder_hash(const Encoder& encoder) {
  Checkpoint checkpoint;
  encoder.store(checkpoint);
  return hash_combine(hash_string(checkpoint.configs["encoder"]), hash_of_tensors(checkpoint));
}

}  // namespace

Latents encode_states(const EpisodeSource& data, Encoder& encoder,
                      const std::function<void(int)>& observe) {
  std::vector<int> all(data.state_count());
  std::iota(all.begin(), all.end(), 0);
  EntityLatents shared(encoder);
  std::vector<Latents> latents;
  int done = 0;
  for (const auto& states : pack_states(data, all, kNodesAtOnce, kNodesAtOnce)) {
    std::vector<Observation> observations;
    for (const int state : states) observations.push_back(data.state(state));
    std::vector<const Observation*> pointers;
    for (const Observation& one : observations) pointers.push_back(&one);
    latents.push_back(to_device(shared.encode(pointers), torch::kCPU));
    done += static_cast<int>(states.size());
    if (observe) observe(done);
  }
  return concatenate(std::move(latents));
}

Latents cached_latents(const std::string& path, const EpisodeSource& data, Encoder& encoder,
                       const std::function<void(int)>& observe) {
  const uint64_t key = hash_combine(hash_combine(kForm, data.fingerprint()), encoder_hash(encoder));
  if (file_exists(path)) {
    const Checkpoint kept = load_checkpoint(path, "latents");
    if (kept.data == key) return take(kept);
  }
  Checkpoint made;
  made.kind = "latents";
  made.spec = data.spec();
  made.data = key;
  Latents latents = encode_states(data, encoder, observe);
  for (size_t i = 0; i < kLatentNames.size(); ++i)
    if (latents.tensors()[i]->defined()) made.tensors[kLatentNames[i]] = *latents.tensors()[i];
  save_checkpoint(path, made);
  return latents;
}

Latents cached_latents(const std::string& path, const EpisodeSource& data, Encoder& encoder,
                       const Processes& processes, const std::function<void(int)>& observe) {
  if (!processes.is_first()) processes.meet();
  Latents latents = cached_latents(path, data, encoder, observe);
  if (processes.is_first()) processes.meet();
  return latents;
}

}  // namespace reverie
