#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/config.h"
#include "worldmodel/batch/graph_batch.h"
#include "worldmodel/batch/latents.h"
#include "worldmodel/network/checkpoint.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// Which V: one of those that files in encoder/kinds register (graph_encoder.h).
enum class EncoderKind : int {};

/// InputError that lists the names where there is none of this name.
EncoderKind encoder_kind(std::string_view name);
/// By name; and those that older files call a kind by.
EnumNames<EncoderKind> enum_names(EncoderKind);
/// What each does, for help.
std::string encoder_kinds_text();

struct EncoderConfig {
  EncoderKind kind = encoder_kind("gn");
  int latent = 32;
  int width = 64;
  int blocks = 3;

  template <class V>
  void fields(V& v) {
    v.field("kind", kind, encoder_kinds_text());
    v.field("latent", latent, "Width of the latent, and of an entity's", at_least(1));
    v.field("width", width, "Width of the network", at_least(1));
    v.field("blocks", blocks, "Message-passing blocks", at_least(1));
  }
};

/// States as V sees them, and what can be done there.
struct EncodedStates {
  Latents latents;
  LatentMask mask;
};

/// V: from observations to latents.
class Encoder {
 public:
  virtual ~Encoder() = default;
  virtual const EnvSpec& spec() const = 0;
  virtual int latent() const = 0;
  /// Posterior means, in (-1, 1); on the encoder's device, without gradients.
  virtual Latents encode(const ObservationBatch& batch) = 0;
  /// z of entities' latents [B, S, latent].
  virtual torch::Tensor pool(const torch::Tensor& entities) = 0;
  virtual void to_device(torch::Device device) = 0;
  virtual torch::Device device() const = 0;
  /// Adds everything that `load_encoder` needs, tensors under "encoder".
  virtual void store(Checkpoint& checkpoint) const = 0;

  /// Observations with the names of `spec()`.
  Latents encode(std::span<const Observation* const> observations);
  /// The same with their masks; on the encoder's device.
  EncodedStates see(std::span<const Observation> observations);
};

/// From a checkpoint of kind "encoder", "world" or "policy".
std::shared_ptr<Encoder> load_encoder(const Checkpoint& checkpoint);

}  // namespace reverie
