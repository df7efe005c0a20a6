#pragma once

#include <utility>

#include "core/base/config.h"
#include "worldmodel/count_code.h"
#include "worldmodel/latent.h"
#include "worldmodel/location.h"
#include "worldmodel/mdn.h"
#include "worldmodel/modules.h"
#include "worldmodel/torch.h"

namespace reverie {

struct WorldModelConfig {
  int hidden = 128;
  int mixtures = 5;
  int embedding = 16;

  template <class V>
  void fields(V& v) {
    v.field("hidden", hidden, "Width of the recurrent state h", at_least(1));
    v.field("mixtures", mixtures, "Gaussians in the mixture over the change of z", at_least(1));
    v.field("embedding", embedding, "Width of a rule's embedding", at_least(1));
  }
};

/// What M says of one step, for any leading dimensions.
struct MdnOutput {
  Mixture change;        ///< of z, normalised
  torch::Tensor reward;  ///< [*], in units of the training rewards' deviation
  torch::Tensor end;     ///< [*], logit
  torch::Tensor counts;  ///< [*, A, CountCode::classes()], logits
};

/// An LSTM (Hochreiter and Schmidhuber 1997) with mixture-density and further heads (Ha and
/// Schmidhuber 2018). Its input is z, the counts of the mask, and the action as a rule embedding
/// with location features; its output speaks of the change that the action makes.
struct MdnRnnImpl : torch::nn::Module {
  MdnRnnImpl(const WorldModelConfig& config, const LatentSpec& spec);

  /// z [*, latent], counts [*, A], actions [*] -> [*, hidden].
  torch::Tensor embed(const torch::Tensor& z, const torch::Tensor& counts,
                      const LatentActions& actions);
  /// Gates before the recurrent part: [*, hidden] -> [*, 4 hidden].
  torch::Tensor input_gates(const torch::Tensor& embedded) { return gates_in(embedded); }
  /// One step of B rows: (gates from the input, h, c) -> (h, c).
  std::pair<torch::Tensor, torch::Tensor> cell(const torch::Tensor& gates, const torch::Tensor& h,
                                               const torch::Tensor& c);
  /// `counts`: the mask at z. The next mask's logits begin with a learned preference for the same.
  MdnOutput heads(const torch::Tensor& h, const torch::Tensor& embedded,
                  const torch::Tensor& counts);
  /// log(1 + count), normalised, [*, A].
  torch::Tensor normal_counts(const torch::Tensor& counts);

  WorldModelConfig config;
  LatentSpec spec;
  Normalizer latent{nullptr}, change{nullptr}, log_counts{nullptr};
  torch::Tensor reward_scale;  ///< [1], the rewards' deviation
  torch::Tensor same_counts;   ///< [A, 1], weight of the preference for the same count
  torch::nn::Embedding rules{nullptr};
  torch::nn::Linear input{nullptr}, gates_in{nullptr}, gates_hidden{nullptr}, trunk{nullptr},
      head{nullptr};
};
TORCH_MODULE(MdnRnn);

}  // namespace reverie
