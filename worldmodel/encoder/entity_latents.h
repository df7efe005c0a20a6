#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "worldmodel/encoder/encoder.h"

namespace reverie {

/// Encodes states, and keeps the latents of their entities. The latent of an entity says what is in
/// it and in its neighbours, and nothing else. So what a state shares with those before is not
/// encoded again, and a step on a large graph costs V what it changed.
class EntityLatents {
 public:
  /// The encoder must outlive it.
  explicit EntityLatents(Encoder& encoder) : encoder_(&encoder) {}

  /// As Encoder::encode, within rounding: what is encoded beside an entity moves its last bits.
  /// Equal calls since the beginning give equal bits.
  Latents encode(std::span<const Observation* const> observations);
  /// The same with their masks.
  EncodedStates see(std::span<const Observation> observations);
  /// As if nothing had been encoded.
  void clear();

  /// How many entities with nodes V has encoded for their own sake.
  int64_t encoded() const { return encoded_; }

 private:
  void keep(const torch::Tensor& latents);

  Encoder* encoder_;
  std::unordered_map<uint64_t, int64_t> rows_;  ///< of latents_, by what an entity looks like
  torch::Tensor latents_;  ///< [more than enough, latent]; the first row is 0, for no nodes
  int64_t filled_ = 0;     ///< rows
  int64_t encoded_ = 0;
};

}  // namespace reverie
