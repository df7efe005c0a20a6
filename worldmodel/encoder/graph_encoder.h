#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "worldmodel/encoder/encoder.h"
#include "worldmodel/encoder/entity_pool.h"
#include "worldmodel/encoder/observation_normalizer.h"
#include "worldmodel/network/modules.h"

namespace reverie {

/// Of the entities' latents before they are bounded by tanh.
struct Posterior {
  torch::Tensor mean;          ///< [B, S, latent]
  torch::Tensor log_variance;  ///< likewise
};

/// A network over a graph with a Gaussian posterior (Kingma and Welling 2014) whose sample is
/// bounded by tanh. The latent of a state is tanh(mean). Kinds differ in the network: a file of
/// encoder/kinds each.
///
/// The latent of an entity says what is in it and in its neighbours, and nothing else, so that what
/// a step leaves as it was keeps its latents: a network lets one layer pass what it knows from one
/// entity to another. z is an EntityPool of the entities' latents.
class GraphEncoder : public torch::nn::Module, public Encoder {
 public:
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
  torch::Tensor pool(const torch::Tensor& entities) override { return pool_(entities); }
  void to_device(torch::Device device) override { to(device); }
  torch::Device device() const override { return normalizer_->sizes->mean.device(); }
  void store(Checkpoint& checkpoint) const override;

 protected:
  GraphEncoder(const EncoderConfig& config, const EnvSpec& spec);
  /// For the end of a constructor: the layers that read `columns` of each entity.
  void add_outputs(int64_t columns);

  /// [N, width] and [E, width].
  torch::Tensor embed_nodes(const GraphBatch& normal);
  torch::Tensor embed_edges(const GraphBatch& normal);
  /// Of rows [N, width] by entity, [B * S, width] each. The sum is scaled to the size of a usual
  /// entity: how often something occurs is what a step changes.
  torch::Tensor sum_by_entity(const torch::Tensor& nodes, const GraphBatch& graph);
  static torch::Tensor mean_by_entity(const torch::Tensor& nodes, const GraphBatch& graph);

 private:
  /// What the network says of each entity, [B * S, columns].
  virtual torch::Tensor read(const ObservationBatch& normal) = 0;
  /// What can be done at each entity, [B * S, width].
  torch::Tensor entity_actions(const ObservationBatch& normal);

  EncoderConfig config_;
  EnvSpec spec_;
  ObservationNormalizer normalizer_{nullptr};
  torch::nn::Embedding types_{nullptr};
  torch::nn::Linear nodes_{nullptr}, edges_{nullptr}, actions_{nullptr};
  Mlp head_{nullptr};
  EntityPool pool_{nullptr};
};

/// Edges whose ends lie in one entity: [n] int64.
torch::Tensor edges_within_entities(const GraphBatch& graph);
/// The graph with these edges alone, as far as messages go.
GraphBatch with_edges(GraphBatch graph, const torch::Tensor& edges);

/// A kind of V. Each file NAME.cpp in encoder/kinds defines `RegisteredEncoder encoders::NAME()`;
/// the build makes the list from the files.
struct RegisteredEncoder {
  std::string_view name;
  std::string_view what;  ///< it is, in a few words
  bool trained = true;    ///< false: stays as it is initialised
  std::shared_ptr<GraphEncoder> (*make)(const EncoderConfig&, const EnvSpec&);
};

/// All of them, by name.
std::span<const RegisteredEncoder> registered_encoders();
const RegisteredEncoder& registered(EncoderKind kind);

/// That of the configuration's kind, its weights drawn by LibTorch's generator.
std::shared_ptr<GraphEncoder> make_encoder(const EncoderConfig& config, const EnvSpec& spec);

/// RegisteredEncoder::make of a class.
template <class Kind>
std::shared_ptr<GraphEncoder> make_kind(const EncoderConfig& config, const EnvSpec& spec) {
  return std::make_shared<Kind>(config, spec);
}

}  // namespace reverie
