#pragma once

#include "controller/agents/lstm.h"
#include "controller/agents/node_features.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// A Beta distribution by its quantised mean and variance. A mean m is the middle of one of kMeans
/// equal parts of [0, 1]; a variance is one of kShares times m (1 - m), which all variances are
/// below. The middle ones give the uniform distribution Beta(1, 1).
struct QuantisedBeta {
  static constexpr int64_t kMeans = 11;                                 ///< chosen
  static constexpr double kShares[] = {0.02, 0.1, 1.0 / 3, 0.6, 0.85};  ///< chosen
  static constexpr int64_t kVariances = std::size(kShares);
  static constexpr int64_t kMiddleMean = kMeans / 2, kMiddleVariance = kVariances / 2;

  /// Numbers of a mean and of a variance.
  QuantisedBeta(int64_t mean, int64_t variance);

  double alpha, beta;
};

/// Sizes that the sources do not tell.
struct RegalSizes {
  int64_t width = 64;  ///< of the states of nodes; chosen
  int64_t rounds = 4;  ///< of message passing; chosen
};

/// For each gene of GeneLayout, what mean and what variance its distribution has (REGAL: Paliwal et
/// al., ICLR 2020).
///
/// - With edges: rounds of message passing with weights of their own,
///   h' = norm(h + W2 relu(W1 [h, sum over inputs of h, sum over outputs of h, mean of the
///   graph])), sums over the root of their number.
/// - Without: an LSTM in both directions over the nodes in topological order ("graph as sequence").
/// - Heads read the states: devices + 1 pairs of a mean and a variance. Affinities of an entity are
///   the mean over its nodes. At first the middle ones are the likeliest.
class RegalNetworkImpl : public torch::nn::Module {
 public:
  RegalNetworkImpl(int devices, bool edges, const RegalSizes& sizes = {});

  struct Logits {
    torch::Tensor means;      ///< [genes, kMeans]
    torch::Tensor variances;  ///< [genes, kVariances]
  };
  Logits forward(const NodeFeatures& features);

  /// Makes the middle ones the likeliest everywhere; after weights were drawn.
  void begin_in_the_middle();

 private:
  torch::Tensor states(const NodeFeatures& features);
  torch::Tensor passed(torch::Tensor states, const NodeFeatures& features);

  int devices_;
  bool edges_;
  torch::nn::Embedding operators_;
  torch::nn::Linear input_, head_;
  torch::nn::ModuleList first_, second_, norms_;
  std::vector<LstmParameters> sequence_;  ///< both directions; empty with edges
};
TORCH_MODULE(RegalNetwork);

}  // namespace reverie
