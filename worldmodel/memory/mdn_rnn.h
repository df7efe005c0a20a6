#pragma once

#include <array>
#include <memory>

#include "core/base/config.h"
#include "worldmodel/batch/choice_features.h"
#include "worldmodel/batch/latents.h"
#include "worldmodel/batch/rows.h"
#include "worldmodel/encoder/entity_pool.h"
#include "worldmodel/memory/count_change.h"
#include "worldmodel/memory/mdn.h"
#include "worldmodel/network/modules.h"
#include "worldmodel/network/torch.h"

namespace reverie {

struct WorldModelConfig {
  int hidden = 128;
  int mixtures = 5;
  int embedding = 16;

  template <class V>
  void fields(V& v) {
    v.field("hidden", hidden, "Width of the recurrent state h", at_least(1));
    v.field("mixtures", mixtures, "Gaussians in the mixture over the change of a latent",
            at_least(1));
    v.field("embedding", embedding, "Width of a primary action's embedding", at_least(1));
  }
};

/// What M looks at in one step, for any leading dimensions.
struct MdnInput {
  torch::Tensor latent;   ///< [*, latent], of an entity
  torch::Tensor counts;   ///< [*, A], of the mask at the entity
  torch::Tensor primary;  ///< [*] int64
  torch::Tensor choice;   ///< [*, kChoiceFeatures]
  /// Latent of the entity acted in and z, both normalised, and how this entity lies to the one
  /// acted in: [*, 2 latent + kRelationFeatures].
  torch::Tensor context;
};

/// What M says of one step, for any leading dimensions.
struct MdnOutput {
  torch::Tensor change;  ///< [*, columns of the mixture]: of the latent, normalised
  torch::Tensor reward;  ///< [*], in units of the rewards' deviation
  torch::Tensor end;     ///< [*], logit
  torch::Tensor counts;  ///< [*, K, CountChange::classes()], logits, of `MdnRnnImpl::seen_actions`
};

/// Of the heads, those rows that say something (`MdnRnnImpl::head_rows`).
struct HeadWeights {
  torch::Tensor actions;     ///< [K] int64, `MdnRnnImpl::seen_actions`
  torch::Tensor weight;      ///< [columns, hidden]
  torch::Tensor bias;        ///< [columns]
  torch::Tensor preference;  ///< [K, 1], for the same count
};

/// An LSTM (Hochreiter and Schmidhuber 1997) with mixture-density and further heads (Ha and
/// Schmidhuber 2018). Its input is a latent, the counts of the mask, and the action as an embedding
/// of its primary action with features of the choice; its output speaks of the change that the
/// action makes.
///
/// The network works on Rows: every entity has its latent, counts and recurrent state, and a step
/// takes those of the entity acted in and of its neighbours further, with shared weights. Reward
/// and end are what the row of the entity acted in says. z follows from the entities' latents by
/// V's pool, which stays as V has it.
struct MdnRnnImpl : torch::nn::Module {
  /// `pool`: that of V.
  MdnRnnImpl(const WorldModelConfig& config, const LatentSpec& spec, EntityPool pool);

  /// What M looks at in these rows when the actions are taken.
  MdnInput look(const Rows& rows, const Latents& latents, const LatentMask& mask,
                const LatentActions& actions);
  /// -> [*, hidden].
  torch::Tensor embed(const MdnInput& in);
  /// Gates before the recurrent part: [*, hidden] -> [*, 4 hidden].
  torch::Tensor input_gates(const torch::Tensor& embedded) { return gates_in(embedded); }
  /// Weights of the heads as they are now, with gradients.
  HeadWeights head_weights() const;
  /// `counts`: as in the input. The next counts' logits begin with a learned preference for the
  /// same.
  MdnOutput heads(const torch::Tensor& h, const torch::Tensor& embedded,
                  const torch::Tensor& counts, const HeadWeights& weights);
  /// Primary actions of which some state in training had choices, [K] int64. M speaks of their
  /// counts alone and takes the others' to stay as they are.
  torch::Tensor seen_actions() const;
  /// Rows of the head that say something: of change, reward and end, then of the counts of these
  /// actions.
  torch::Tensor head_rows(const torch::Tensor& actions) const;
  /// Columns of the heads of change, reward, end and of the counts of one action, in this order.
  std::array<int64_t, 4> columns() const;
  /// What MdnOutput::change says.
  Mixture mixture(const torch::Tensor& columns) const;
  /// A change drawn from it, not normalised, [n, latent] of [n, columns]; at temperature 0 the
  /// likeliest.
  torch::Tensor sample_change(const torch::Tensor& columns, double temperature,
                              torch::Generator noise);

  /// `before` with the rows' latents [n, latent], clamped to [-1, 1].
  Latents with_latents(const Latents& before, const Rows& rows, const torch::Tensor& latents);
  /// `before` with the counts [n, K] of the actions seen in the rows that the network looked at.
  LatentMask with_counts(const LatentMask& before, const Rows& rows, const MdnInput& in,
                         const torch::Tensor& counts) const;

  WorldModelConfig config;
  LatentSpec spec;
  Normalizer latent{nullptr}, change{nullptr}, log_counts{nullptr};
  Normalizer global{nullptr};  ///< of z
  torch::Tensor reward_scale;  ///< [1], the rewards' deviation
  torch::Tensor same_counts;   ///< [A, 1], weight of the preference for the same count
  torch::Tensor seen;          ///< [A] int64, 1 for seen_actions; never of NO-OP
  torch::nn::Embedding actions{nullptr};
  torch::nn::Linear input{nullptr}, gates_in{nullptr}, gates_hidden{nullptr}, trunk{nullptr},
      head{nullptr};
  EntityPool pool{nullptr};
};
TORCH_MODULE(MdnRnn);

}  // namespace reverie
