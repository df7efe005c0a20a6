#pragma once

#include <array>
#include <vector>

#include "controller/policy/policy.h"
#include "core/base/config.h"
#include "worldmodel/batch/choice_features.h"
#include "worldmodel/network/torch.h"

namespace reverie {

struct ActionHeadConfig {
  int64_t action_embedding = 16;
  int64_t choice_width = 32;
  double no_op_logit = -4;

  template <class V>
  void fields(V& v) {
    v.field("action_embedding", action_embedding, "Width of the embedding of a primary action",
            at_least(1));
    v.field("choice_width", choice_width, "Width in which entities and choices are scored",
            at_least(1));
    v.field("no_op_logit", no_op_logit, "Logit of NO-OP before training; low: episodes run on");
  }
};

/// Log-probability, entropy and value of a batch of chosen actions, with gradients.
struct Evaluation {
  torch::Tensor log_probability;  ///< [B]
  torch::Tensor entropy;          ///< [B], of the joint distribution of all choices, exact
  torch::Tensor value;            ///< [B], undefined without a critic
};

/// Chosen actions with their joint log-probability.
struct Choice {
  LatentActions actions;
  torch::Tensor log_probability;  ///< [B]
};

/// Of every valid action of B states, listed as in ActionPriors, the sum of its logits.
struct ActionScores {
  torch::Tensor state;  ///< [N] int64, row of the observation
  LatentActions actions;
  torch::Tensor score;  ///< [N]
};
/// The rows [B] at which the list has these actions, one of each state in turn.
torch::Tensor rows_of(const ActionScores& list, const LatentActions& actions);

/// What actions are scored by.
struct ActionInputs {
  torch::Tensor features;  ///< [B, width], of the state as a whole
  LatentMask mask;         ///< at least one valid choice a row
  torch::Tensor entities;  ///< [B, S, *]: what is known of each entity
  /// [B, S, *]: more of it, apart so that it need not be joined for entities that nobody asks for;
  /// may be undefined. The widths of both sum to the head's entity width.
  torch::Tensor memories = {};

  /// Of these entities [N], what is known and what more: [N, *] each, entity width together.
  std::vector<torch::Tensor> entity_parts(const torch::Tensor& batch,
                                          const torch::Tensor& entity) const;

  std::array<torch::Tensor*, 5> tensors() {
    return {&features, &mask.totals, &mask.by_entity, &entities, &memories};
  }
};

/// A distribution over actions: p(primary) is a softmax over the primary actions that have choices.
/// p(entity | primary) is a softmax over the entities that have choices of it, of
///   b(q(features, primary) . k(entity, log(1 + its choices))).
/// p(index | primary, entity) is a softmax over the choices there, of
///   b(q(features, primary, entity) . k(choice_features(index, count))).
/// b(x) = 10 tanh(x / sqrt(width)), bounded as by Bello et al. 2017, appendix A.3, so that sums of
/// exponentials do not overflow.
class ActionHeadImpl : public torch::nn::Module {
 public:
  /// `entity_width`: of ActionInputs::entity_parts.
  ActionHeadImpl(int64_t features, const EnvSpec& spec, const ActionHeadConfig& config,
                 int64_t entity_width);

  Evaluation evaluate(const ActionInputs& inputs, const LatentActions& actions);
  /// Greedy takes the most probable primary action, then its most probable entity, then the most
  /// probable choice there.
  Choice choose(const ActionInputs& inputs, bool greedy, Rng& rng);
  /// Every valid action; without values.
  ActionPriors priors(const ActionInputs& inputs);
  /// The logits themselves, before any softmax.
  ActionScores scores(const ActionInputs& inputs);

 private:
  struct Groups;
  struct Rows;
  torch::Tensor primary_log_probability(const ActionInputs& inputs);
  /// Of these states and primary actions [N], [N, width]: what choices and, after more layers, what
  /// entities are asked with.
  torch::Tensor action_queries(const ActionInputs& inputs, const torch::Tensor& batch,
                               const torch::Tensor& primary);
  torch::Tensor entity_queries(const ActionInputs& inputs, const torch::Tensor& batch,
                               const torch::Tensor& primary);
  torch::Tensor entity_keys(const ActionInputs& inputs, const Groups& groups);
  /// Sets the groups' log-probabilities given their pairs, numbered below `pairs`; `query` [G,
  /// width] of entity_queries.
  void score_groups(const ActionInputs& inputs, const torch::Tensor& query, int64_t pairs,
                    Groups& groups);
  Groups all_groups(const ActionInputs& inputs);
  Groups draw_groups(const ActionInputs& inputs, const torch::Tensor& primary, bool greedy,
                     Rng& rng);
  Rows score_rows(const ActionInputs& inputs, const Groups& groups);
  torch::Tensor choice_keys(const torch::Tensor& index, const torch::Tensor& count);

  int max_choices_;
  torch::nn::Linear primary_{nullptr}, query_features_{nullptr}, query_action_{nullptr},
      query_out_{nullptr};
  torch::nn::Embedding actions_{nullptr};
  torch::nn::Sequential keys_{nullptr};
  torch::nn::Linear query_entity_{nullptr}, entity_out_{nullptr};
  torch::nn::Sequential entity_keys_{nullptr};
};
TORCH_MODULE(ActionHead);

/// [n] uniform numbers in [0, 1) as float64 on the CPU.
torch::Tensor uniform_numbers(int64_t n, Rng& rng);
/// Index of the first entry whose running sum passes u times the total, per row of `weights`
/// [B, A] (float64, not negative, one positive a row); never an entry of weight 0.
torch::Tensor draw_index(const torch::Tensor& weights, const torch::Tensor& u);
/// A column of each row of log-probabilities [B, n]: the likeliest, or drawn.
torch::Tensor pick(const torch::Tensor& log_probability, bool greedy, Rng& rng);

}  // namespace reverie
