#pragma once

#include "worldmodel/encoder.h"
#include "worldmodel/modules.h"
#include "worldmodel/torch.h"

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
    v.field("statistics", statistics, "Weight of sizes, type histogram and globals", at_least(0));
    v.field("shares", shares, "Weight of the nodes' cost shares", at_least(0));
    v.field("counts", counts, "Weight of the action mask", at_least(0));
    v.field("gains", gains, "Weight of the best cost change per rule", at_least(0));
  }
};

/// Reconstructs an observation from its latent. Nodes and edges are asked for by position: a node's
/// query is its index in the graph, absolute and relative, in sines and cosines.
struct GraphDecoderImpl : torch::nn::Module {
  GraphDecoderImpl(const EncoderConfig& config, const EnvSpec& spec);

  /// Losses of each part. `z`: [B, latent]; `normal`: the normalised observations; `log_counts`:
  /// their normalised log counts. Absent edges are drawn with `noise`, as many as there are edges.
  LossTerms forward(const torch::Tensor& z, const ObservationBatch& normal,
                    const torch::Tensor& log_counts, const torch::Tensor& log_sizes,
                    const VaeLossConfig& weights, torch::Generator noise);

 private:
  torch::Tensor query(const torch::Tensor& z, const GraphBatch& graph);
  void node_losses(LossTerms& losses, const torch::Tensor& query, const GraphBatch& graph,
                   const VaeLossConfig& weights);
  void edge_losses(LossTerms& losses, const torch::Tensor& query, const GraphBatch& graph,
                   const VaeLossConfig& weights, torch::Generator noise);
  void statistics_losses(LossTerms& losses, const torch::Tensor& z, const GraphBatch& graph,
                         const torch::Tensor& log_sizes, const VaeLossConfig& weights);
  void action_losses(LossTerms& losses, const torch::Tensor& z, const ObservationBatch& normal,
                     const torch::Tensor& log_counts, const VaeLossConfig& weights);

  EnvSpec spec_;
  Mlp query_{nullptr}, node_{nullptr}, edge_{nullptr}, statistics_{nullptr}, actions_{nullptr};
  torch::nn::Linear sender_{nullptr}, receiver_{nullptr};
};
TORCH_MODULE(GraphDecoder);

/// KL of N(mean, exp(log_variance)) from N(0, 1), mean over the batch, summed over dimensions.
torch::Tensor gaussian_divergence(const Posterior& posterior);

/// V with its decoder, as it is trained.
struct Vae : torch::nn::Module {
  Vae(const EncoderConfig& config, const EnvSpec& spec);

  /// Evidence lower bound in parts. With `sample` the latent is drawn from the posterior, otherwise
  /// it is the posterior mean.
  LossTerms losses(const ObservationBatch& batch, const VaeLossConfig& weights, bool sample,
                   torch::Generator noise);

  std::shared_ptr<GraphEncoder> encoder;
  GraphDecoder decoder{nullptr};
};

}  // namespace reverie
