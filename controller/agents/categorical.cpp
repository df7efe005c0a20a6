#include "controller/agents/categorical.h"

#include "controller/policy/action_head.h"

namespace reverie {

torch::Tensor log_probability(const torch::Tensor& logits, const torch::Tensor& actions) {
  return logits.log_softmax(-1).gather(-1, actions.unsqueeze(-1)).squeeze(-1);
}

torch::Tensor mean_entropy(const torch::Tensor& logits) {
  const auto log_p = logits.log_softmax(-1);
  return -(log_p.exp() * log_p).sum(-1).mean();
}

torch::Tensor draw_actions(const torch::Tensor& logits, Rng& rng) {
  const torch::NoGradGuard guard;
  const auto rows = logits.log_softmax(-1).reshape({-1, logits.size(-1)});
  return pick(rows, /*greedy=*/false, rng).view(logits.sizes().slice(0, logits.dim() - 1));
}

}  // namespace reverie
