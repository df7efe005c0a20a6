#pragma once

#include "controller/policy.h"
#include "worldmodel/location.h"
#include "worldmodel/torch.h"

namespace reverie {

struct ActionHeadConfig {
  int64_t rule_embedding = 16;
  int64_t location_width = 32;
  double no_op_logit = -4;

  template <class V> void fields(V& v) {
    v.field("rule_embedding", rule_embedding, "Width of the embedding of a primary action");
    v.field("location_width", location_width, "Width in which locations are scored");
    v.field("no_op_logit", no_op_logit, "Logit of NO-OP before training; low: episodes run on");
  }
};

/// Log-probability, entropy and value of a batch of chosen actions, with gradients.
struct Evaluation {
  torch::Tensor log_probability;  ///< [B]
  torch::Tensor entropy;          ///< [B], of the joint distribution of both choices, exact
  torch::Tensor value;            ///< [B], undefined without a critic
};

/// Chosen actions with their joint log-probability.
struct Choice {
  LatentActions actions;
  torch::Tensor log_probability;  ///< [B]
};

/// A distribution over (primary, secondary): p(primary) is a softmax over the primary actions whose
/// count is above 0; p(secondary | primary) a softmax over 0 .. count - 1 of
///   10 tanh(q(features, embedding of primary) . k(describe_location(secondary, count)) / sqrt(w)),
/// bounded as by Bello et al. 2017, appendix A.3, so that sums of exponentials do not overflow.
/// Features are [B, width], counts [B, primary actions] int64 with at least one above 0 a row.
class ActionHeadImpl : public torch::nn::Module {
 public:
  ActionHeadImpl(int64_t features, const EnvSpec& spec, const ActionHeadConfig& config);

  Evaluation evaluate(const torch::Tensor& features, const torch::Tensor& counts,
                      const LatentActions& actions);
  /// Greedy takes the most probable primary action and then its most probable secondary one.
  Choice choose(const torch::Tensor& features, const torch::Tensor& counts, bool greedy, Rng& rng);

 private:
  struct Rows;
  torch::Tensor primary_log_probability(const torch::Tensor& features, const torch::Tensor& counts);
  Rows score_rows(const torch::Tensor& features, const torch::Tensor& counts,
                  const torch::Tensor& batch, const torch::Tensor& primary);
  torch::Tensor location_keys(const torch::Tensor& index, const torch::Tensor& count);

  int max_secondary_;
  torch::nn::Linear primary_{nullptr}, query_features_{nullptr}, query_rule_{nullptr},
      query_out_{nullptr};
  torch::nn::Embedding rules_{nullptr};
  torch::nn::Sequential keys_{nullptr};
};
TORCH_MODULE(ActionHead);

/// [n] uniform numbers in [0, 1) as float64 on the CPU.
torch::Tensor uniform_numbers(int64_t n, Rng& rng);
/// Index of the first entry whose running sum passes u times the total, per row of `weights`
/// [B, A] (float64, not negative, one positive a row); never an entry of weight 0.
torch::Tensor draw_index(const torch::Tensor& weights, const torch::Tensor& u);

}  // namespace reverie
