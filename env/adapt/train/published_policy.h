#pragma once

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "env/adapt/network.h"

namespace reverie {

// The policy of Lamelas, "Applying Reinforcement Learning to Neural Network Adaptation in the
// Context of DNN Cluster Scheduling" (2023), section 5, as its code has it
// (github.com/ChamiLamelas/RL-Based-DNN-Scheduling-Adaptation, commit 10120b0).

/// As published, or with its defects mended: every layer has an id of its own, time is shown by
/// cosines too, and the temperature divides logits.
enum class PublishedKind : uint8_t { kPublished, kMended };

/// The layers of a network in their order, each as PyTorch prints it. InputError where it is no
/// chain.
std::vector<std::string> printed_layers(const Network& network);

/// An id for each printed layer.
class LayerVocabulary {
 public:
  /// Knows the layers of these networks, and those that deepening puts in. The published one begins
  /// with 12 known layers. It numbers those that it lacks from the network's count of layers on,
  /// where ids may be taken: in the second published network a convolution looks like a linear
  /// layer, and another one like its batch normalisation.
  LayerVocabulary(PublishedKind kind, const std::vector<Network>& networks);

  /// 0, which stands for no layer, then the layers' in their order. InputError for a layer that it
  /// does not know.
  std::vector<int64_t> ids(const Network& network) const;
  int64_t size() const;  ///< above every id

 private:
  void add(PublishedKind kind, const std::vector<std::string>& layers);
  std::map<std::string, int64_t> ids_;
};

/// What a policy sees of the time: v_i = 5 sin(2 pi i t), i = 1 to 8, t the share of the budget
/// that is left. All are 0 at t = 0, 1/2 and 1, and t and 1 - t differ in the sign alone. Mended: 5
/// sin(2 pi i t) and 5 cos(2 pi i t), i = 1 to 4.
std::vector<float> time_features(PublishedKind kind, double left);

/// A frozen random embedding of 16 for each layer; a bidirectional LSTM, 50 and 50, over the
/// layers; an LSTM of 16 over its outputs, whose last output and the time pass two hidden layers of
/// 128.
class PublishedPolicy {
 public:
  PublishedPolicy(PublishedKind kind, LayerVocabulary vocabulary, int actions, const Rng& rng);

  /// [actions], of a network and the share of the budget that is left. A temperature above 1 makes
  /// them more equal: softmax(p / temperature), which leaves no two further apart than by a factor
  /// of e^(1 / temperature); mended softmax(logits / temperature).
  torch::Tensor probabilities(const Network& network, double left, double temperature) const;

  /// What is learned.
  const std::vector<torch::Tensor>& parameters() const { return parameters_; }

 private:
  torch::Tensor encode(const Network& network) const;

  PublishedKind kind_;
  LayerVocabulary vocabulary_;
  torch::Tensor embedding_;  ///< [id, 16]
  std::vector<torch::Tensor>
      parameters_;  ///< of the LSTMs, then weight and bias of each further layer
};

}  // namespace reverie
