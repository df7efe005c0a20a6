#pragma once

#include "controller/agents/node_features.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// What is decided of a gene, as numbers of classes: how its Beta differs from a usual one, in mean
/// and in variance. The middle ones leave it as it is.
struct BetaClasses {
  static constexpr int64_t kMeans = 11, kVariances = 5;  ///< chosen
  static constexpr int64_t kMiddleMean = kMeans / 2, kMiddleVariance = kVariances / 2;

  double mean = kMiddleMean, variance = kMiddleVariance;  ///< may lie between two classes
};

struct Beta {
  double alpha = 1, beta = 1;
};

/// Half a class changes the log-odds of the mean by a quarter, and alpha + beta by the factor
/// sqrt(e): both chosen. Means stay between 0.01 and 0.99.
Beta changed(const Beta& usual, const BetaClasses& classes);

/// Sizes that the sources do not tell.
struct RegalSizes {
  int64_t width = 64;  ///< of the states of nodes; chosen
  int64_t rounds = 4;  ///< of message passing; chosen
};

/// For each affinity of GeneLayout, the classes of its distribution's mean and variance (REGAL:
/// Paliwal et al., ICLR 2020).
///
/// - Rounds of message passing with weights of their own, h' = norm(h + W2 relu(W1 [h, sum over
///   inputs of h, sum over outputs of h, mean of the graph])), sums over the root of their number.
/// - Heads read the states: a pair of a mean and a variance for each device. An entity has those of
///   its first node: over all of its nodes early operators, whose gradients run late, and late ones
///   look alike. At first the middle classes are a little likelier than others.
class RegalNetworkImpl : public torch::nn::Module {
 public:
  explicit RegalNetworkImpl(int devices, const RegalSizes& sizes = {});

  struct Logits {
    torch::Tensor means;      ///< [affinities, kMeans]
    torch::Tensor variances;  ///< [affinities, kVariances]
  };
  Logits forward(const NodeFeatures& features);

  /// Makes the middle classes the likeliest everywhere; after weights were drawn.
  void begin_in_the_middle();

 private:
  torch::Tensor states(const NodeFeatures& features);

  int devices_;
  torch::nn::Embedding operators_;
  torch::nn::Linear input_, head_;
  torch::nn::ModuleList first_, second_, norms_;
};
TORCH_MODULE(RegalNetwork);

}  // namespace reverie
