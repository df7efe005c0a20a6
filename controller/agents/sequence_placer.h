#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "controller/agents/lstm.h"
#include "core/base/random.h"
#include "worldmodel/network/torch.h"

namespace reverie {

/// A policy that reads a sequence of groups and gives each a device: an LSTM encoder, and an LSTM
/// decoder with additive attention (Bahdanau et al. 2015) that emits one device a step and is fed
/// the embedding of that device at the next. Logits are a linear map of the decoder's state and of
/// what it attends to, W [s, c] + b.
class SequencePlacer : public torch::nn::Module {
 public:
  struct Sizes {
    int64_t inputs = 0, devices = 0;
    int64_t hidden = 0;          ///< of decoder, attention and embeddings; even
    bool bidirectional = false;  ///< the encoder has hidden / 2 each way, else hidden one way
    double temperature = 1;      ///< logits are divided by it, ...
    double limit = 0;            ///< ... and become limit x tanh of that; 0: they stay
  };
  SequencePlacer(const Sizes& sizes, Rng rng);

  /// [samples][groups] devices, drawn for groups [groups, inputs].
  std::vector<std::vector<int>> draw(const torch::Tensor& groups, int samples, Rng& rng) const;
  /// The likeliest device of each group, given those of the groups before.
  std::vector<int> likeliest(const torch::Tensor& groups) const;
  /// [samples, groups, devices], each given the devices [samples][groups] of the groups before.
  torch::Tensor log_probabilities(const torch::Tensor& groups,
                                  const std::vector<std::vector<int>>& devices) const;
  /// [samples]: the logarithm of the probability of all these devices.
  torch::Tensor log_probability(const torch::Tensor& groups,
                                const std::vector<std::vector<int>>& devices) const;

 private:
  struct Encoded {
    torch::Tensor outputs, keys;  ///< [groups, hidden]
    RecurrentStates states;       ///< [1, hidden]: where the decoder begins
    /// For decoders of so many samples side by side.
    RecurrentStates states_of(int64_t samples) const;
  };
  /// From log-probabilities [samples, devices] of one group to the devices, int64 [samples].
  using Choose = std::function<torch::Tensor(const torch::Tensor&)>;

  Encoded encode(const torch::Tensor& groups) const;
  std::vector<std::vector<int>> decode(const torch::Tensor& groups, int samples,
                                       const Choose& choose) const;
  /// [states, devices] of decoder states [states, hidden].
  torch::Tensor log_softmax_of(const Encoded& encoded, const torch::Tensor& states) const;

  Sizes sizes_;
  std::vector<LstmParameters> encoder_;  ///< forward, and backward where there is one
  LstmParameters decoder_;
  torch::Tensor embedding_;  ///< [devices + 1, hidden], the last starts a sequence
  torch::Tensor of_key_, of_query_, attention_;  ///< [hidden, hidden] twice, [hidden]
  torch::Tensor head_, head_bias_;               ///< [devices, 2 hidden], [devices]
};

}  // namespace reverie
