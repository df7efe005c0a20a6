#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/config.h"
#include "worldmodel/batch/graph_batch.h"
#include "worldmodel/batch/latents.h"
#include "worldmodel/encoder/entity_pool.h"
#include "worldmodel/encoder/graph_network.h"
#include "worldmodel/network/checkpoint.h"
#include "worldmodel/network/modules.h"
#include "worldmodel/network/torch.h"

namespace reverie {

enum class EncoderKind { kVariational, kRandom };

inline EnumNames<EncoderKind> enum_names(EncoderKind) {
  return {{EncoderKind::kVariational, "variational"}, {EncoderKind::kRandom, "random"}};
}

struct EncoderConfig {
  EncoderKind kind = EncoderKind::kVariational;
  int latent = 32;
  int width = 64;
  int blocks = 3;

  template <class V>
  void fields(V& v) {
    v.field("kind", kind,
            "variational: reconstructs from samples; random: never trained, a control for "
            "comparisons");
    v.field("latent", latent, "Width of the latent, and of an entity's", at_least(1));
    v.field("width", width, "Width of the graph network", at_least(1));
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
  virtual void to_device(torch::Device device) = 0;
  virtual torch::Device device() const = 0;
  /// Adds everything that `load_encoder` needs, tensors under "encoder".
  virtual void store(Checkpoint& checkpoint) const = 0;

  /// Observations with the names of `spec()`.
  Latents encode(std::span<const Observation* const> observations);
  /// The same with their masks; on the encoder's device.
  EncodedStates see(std::span<const Observation> observations);
};

/// Statistics of observations over the training split, as part of the model.
struct ObservationNormalizerImpl : torch::nn::Module {
  explicit ObservationNormalizerImpl(const EnvSpec& spec);
  ObservationBatch forward(const ObservationBatch& batch);
  /// log(1 + count), normalised: [B, A].
  torch::Tensor counts(const torch::Tensor& counts);
  /// The same by entity, normalised over the entities where it is not 0: [B, S, A].
  torch::Tensor counts_by_entity(const LatentMask& mask);
  /// Nodes of a usual entity that has any. A scalar.
  torch::Tensor usual_entity();

  Normalizer nodes{nullptr}, edges{nullptr}, graph_targets{nullptr}, features{nullptr},
      log_counts{nullptr}, sizes{nullptr};
  Normalizer entity_features{nullptr}, entity_counts{nullptr}, entity_sizes{nullptr};
  torch::Tensor binary;  ///< [targets of graphs]: 1 for those that stay as they are, being 0 or 1
};
TORCH_MODULE(ObservationNormalizer);

/// Gathers the statistics of an ObservationNormalizer.
class ObservationStatistics {
 public:
  explicit ObservationStatistics(const EnvSpec& spec);
  void add(const ObservationBatch& batch);
  void store(ObservationNormalizerImpl& normalizer) const;
  /// Mean number of entities with nodes.
  double usual_entities() const;

 private:
  ColumnStatistics nodes_, edges_, graph_targets_, features_, log_counts_, sizes_;
  ColumnStatistics entity_features_, entity_counts_, entity_sizes_;
  int64_t graphs_ = 0;
  int64_t entities_ = 0;
};

/// log(1 + nodes) and log(1 + edges) of each graph, [B, 2].
torch::Tensor log_sizes(const GraphBatch& graph);

/// Of the entities' latents before they are bounded by tanh.
struct Posterior {
  torch::Tensor mean;          ///< [B, S, latent]
  torch::Tensor log_variance;  ///< likewise
};

/// A graph network with a Gaussian posterior (Kingma and Welling 2014) whose sample is bounded by
/// tanh. The latent of a state is tanh(mean).
///
/// Only the last block passes messages from one entity to another, and z is an EntityPool of the
/// entities' latents. So the latent of an entity says what is in
/// it and in the entities that share edges with it, and nothing else: what a step leaves as it was
/// keeps its latents.
class GraphEncoder : public torch::nn::Module, public Encoder {
 public:
  GraphEncoder(const EncoderConfig& config, const EnvSpec& spec);

  /// `batch` as it came from the environment, on the module's device.
  Posterior posterior(const ObservationBatch& batch);
  /// Of values of the shape of Posterior::mean.
  Latents latents(const torch::Tensor& unbounded, const GraphBatch& graph);
  void set_statistics(const ObservationStatistics& statistics);
  ObservationNormalizerImpl& normalizer() { return *normalizer_; }
  const EncoderConfig& config() const { return config_; }

  const EnvSpec& spec() const override { return spec_; }
  int latent() const override { return config_.latent; }
  Latents encode(const ObservationBatch& batch) override;
  using Encoder::encode;
  void to_device(torch::Device device) override { to(device); }
  torch::Device device() const override { return normalizer_->sizes->mean.device(); }
  void store(Checkpoint& checkpoint) const override;

 private:
  GraphHidden embed(const ObservationBatch& normal);
  GraphHidden pass_messages(GraphHidden hidden, const GraphBatch& graph);
  GraphHidden block(size_t i, const GraphHidden& hidden, const GraphBatch& graph);
  /// What can be done at each entity, [B * S, width].
  torch::Tensor entity_actions(const ObservationBatch& normal);
  torch::Tensor read_out(const GraphHidden& hidden, const ObservationBatch& normal);

  EncoderConfig config_;
  EnvSpec spec_;
  ObservationNormalizer normalizer_{nullptr};
  torch::nn::Embedding types_{nullptr};
  torch::nn::Linear nodes_{nullptr}, edges_{nullptr}, actions_{nullptr};
  torch::nn::ModuleList blocks_{nullptr};
  Mlp head_{nullptr};
  EntityPool pool_{nullptr};
};

/// From a checkpoint of kind "encoder", "world" or "policy".
std::shared_ptr<Encoder> load_encoder(const Checkpoint& checkpoint);

}  // namespace reverie
