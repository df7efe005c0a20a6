#pragma once

#include "worldmodel/encoder/graph_encoder.h"
#include "worldmodel/network/modules.h"
#include "worldmodel/network/torch.h"

namespace reverie {

struct VaeLossConfig {
  double kl = 1e-3;
  double nodes = 0.5;
  double edges = 0.2;
  double statistics = 1;
  double shares = 0.5;
  double counts = 2;
  double gains = 2;

  template <class V>
  void fields(V& v) {
    v.field("kl", kl, "Weight of the divergence from the prior", at_least(0));
    v.field("nodes", nodes, "Weight of node types and attributes", at_least(0));
    v.field("edges", edges, "Weight of edges", at_least(0));
    v.field("statistics", statistics, "Weight of sizes, type histogram and the graph's targets",
            at_least(0));
    v.field("shares", shares, "Weight of the nodes' targets, which are shares", at_least(0));
    v.field("counts", counts, "Weight of the action mask", at_least(0));
    v.field("gains", gains, "Weight of the action features", at_least(0));
  }
};

/// Reconstructs an observation from its latent. Nodes and edges are asked for by position: a node's
/// query is its index in its entity, absolute and relative, in sines and cosines, with the latent
/// of the entity. What a graph is as a whole is told from z.
struct GraphDecoderImpl : torch::nn::Module {
  GraphDecoderImpl(const EncoderConfig& config, const EnvSpec& spec);

  /// Losses of each part. `normal`: the normalised observations; `log_counts`: their normalised log
  /// counts. Absent edges are drawn with `noise`, one for each edge, between the same two entities.
  LossTerms forward(const Latents& latents, const ObservationBatch& normal,
                    const torch::Tensor& log_counts, const torch::Tensor& log_sizes,
                    const VaeLossConfig& weights, torch::Generator noise);

 private:
  torch::Tensor query(const Latents& latents, const GraphBatch& graph);
  void node_losses(LossTerms& losses, const torch::Tensor& query, const GraphBatch& graph,
                   const VaeLossConfig& weights);
  void edge_losses(LossTerms& losses, const torch::Tensor& query, const GraphBatch& graph,
                   const VaeLossConfig& weights, torch::Generator noise);
  void statistics_losses(LossTerms& losses, const torch::Tensor& z, const GraphBatch& normal,
                         const torch::Tensor& log_sizes, const VaeLossConfig& weights);
  void action_losses(LossTerms& losses, const torch::Tensor& z, const ObservationBatch& normal,
                     const torch::Tensor& log_counts, const VaeLossConfig& weights);

  int64_t types_, node_features_, edge_features_, action_features_, actions_count_, shares_;
  std::vector<int64_t> regressions_, binaries_;  ///< columns of the graph's targets
  Mlp query_{nullptr}, node_{nullptr}, edge_{nullptr}, statistics_{nullptr}, actions_{nullptr};
  torch::nn::Linear sender_{nullptr}, receiver_{nullptr};
};
TORCH_MODULE(GraphDecoder);

/// Reconstructs from an entity's latent what is in the entity: log(1 + nodes of each type), its
/// share of each target of nodes, and by primary action whether it has choices, their log count and
/// their features. Shares are a softmax over the graph's entities of what each latent says, so that
/// one says nothing of the others. Presence is the mean over what is there and what is not, each
/// weighing a half.
struct EntityDecoderImpl : torch::nn::Module {
  EntityDecoderImpl(const EncoderConfig& config, const EnvSpec& spec);

  /// Adds losses over the entities that have nodes. entities: [B, S, latent]; `normal` as above;
  /// log_counts: [B, S, A], normalised.
  void add_losses(LossTerms& losses, const torch::Tensor& entities, const ObservationBatch& normal,
                  const torch::Tensor& log_counts, const VaeLossConfig& weights);

 private:
  void content_losses(LossTerms& losses, const torch::Tensor& entities, const GraphBatch& graph,
                      const torch::Tensor& present, const VaeLossConfig& weights);

  int64_t types_, action_features_, actions_count_, shares_;
  Mlp content_{nullptr}, actions_{nullptr};
};
TORCH_MODULE(EntityDecoder);

/// KL of N(mean, exp(log_variance)) from N(0, 1), summed over the last dimension, mean over the
/// rows where `present` [*] is not zero.
torch::Tensor gaussian_divergence(const Posterior& posterior, const torch::Tensor& present);

/// V with its decoders, as it is trained.
struct Vae : torch::nn::Module {
  Vae(const EncoderConfig& config, const EnvSpec& spec);

  /// What is minimised, in parts: the evidence lower bound. With `sample` it draws latents from the
  /// posterior, otherwise they are its means.
  LossTerms losses(const ObservationBatch& batch, const VaeLossConfig& weights, bool sample,
                   torch::Generator noise);

  std::shared_ptr<GraphEncoder> encoder;
  GraphDecoder decoder{nullptr};
  EntityDecoder entity_decoder{nullptr};

 private:
  LossTerms reconstruct(const Latents& latents, const ObservationBatch& batch,
                        const VaeLossConfig& weights, torch::Generator noise);
};

}  // namespace reverie
