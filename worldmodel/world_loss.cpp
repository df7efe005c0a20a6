#include "worldmodel/world_loss.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace reverie {
namespace {

namespace F = torch::nn::functional;

/// What a step should have predicted, for any leading dimensions.
struct StepTargets {
  torch::Tensor z, counts;        // of the next state
  torch::Tensor reward, end;
  torch::Tensor valid, continues;  // bool
};

constexpr std::array<const char*, 4> kNames = {"latent", "reward", "end", "counts"};
using StepLosses = std::array<torch::Tensor, 4>;

torch::Tensor count_loss(MdnRnnImpl& network, const torch::Tensor& logits,
                         const torch::Tensor& counts, const StepTargets& targets) {
  const int64_t rules = network.spec.env.no_op();
  if (rules == 0) return torch::zeros({}, logits.options());
  const auto classes = CountCode::encode(counts, targets.counts).narrow(-1, 0, rules);
  const auto each = F::cross_entropy(
      logits.narrow(-2, 0, rules).reshape({-1, logits.size(-1)}), classes.reshape({-1}),
      F::CrossEntropyFuncOptions().reduction(torch::kNone));
  return masked_mean(each.view_as(classes), targets.continues.unsqueeze(-1));
}

StepLosses step_losses(MdnRnnImpl& network, const MdnOutput& output, const torch::Tensor& z,
                       const torch::Tensor& counts, const StepTargets& targets) {
  const auto change = network.change->forward(targets.z - z);
  const auto surprise = output.change.negative_log_likelihood(change) / z.size(-1);
  const auto miss = output.reward - targets.reward / network.reward_scale;
  const auto end = F::binary_cross_entropy_with_logits(
      output.end, targets.end.to(torch::kFloat),
      F::BinaryCrossEntropyWithLogitsFuncOptions().reduction(torch::kNone));
  return {masked_mean(surprise, targets.continues), masked_mean(miss.square(), targets.valid),
          masked_mean(end, targets.valid), count_loss(network, output.counts, counts, targets)};
}

void add_weighted(LossTerms& terms, const std::string& prefix, const StepLosses& losses,
                  const WorldLossConfig& config, double scale) {
  const std::array<double, 4> weights = {config.latent, config.reward, config.end, config.counts};
  for (size_t i = 0; i < losses.size(); ++i)
    terms.add(prefix + kNames[i], losses[i] * (weights[i] * scale));
}

/// Recurrent states before every step, [B, T, hidden] each, and what the heads say of each step.
struct Teacher {
  torch::Tensor h, c;
  MdnOutput output;
};

Teacher run_teacher(MdnRnnImpl& network, const SequenceBatch& batch) {
  const int64_t steps = batch.steps();
  const auto embedded =
      network.embed(batch.latents.z.narrow(1, 0, steps), batch.mask.counts.narrow(1, 0, steps), batch.actions);
  const auto gates = network.input_gates(embedded);
  std::vector<torch::Tensor> h_before, c_before, h_after;
  auto h = torch::zeros({batch.episodes(), network.config.hidden}, embedded.options());
  auto c = h;
  for (int64_t t = 0; t < steps; ++t) {
    h_before.push_back(h);
    c_before.push_back(c);
    std::tie(h, c) = network.cell(gates.select(1, t), h, c);
    h_after.push_back(h);
  }
  return {torch::stack(h_before, 1).detach(), torch::stack(c_before, 1).detach(),
          network.heads(torch::stack(h_after, 1), embedded, batch.mask.counts.narrow(1, 0, steps))};
}

/// Takes entry (b, t) of [B, T, ...] for each row.
torch::Tensor pick(const torch::Tensor& x, const torch::Tensor& b, const torch::Tensor& t) {
  return x.index({b, t});
}

class Unroll {
 public:
  Unroll(MdnRnnImpl& network, const SequenceBatch& batch, const Teacher& teacher,
         const torch::Tensor& starts)
      : network_(network),
        batch_(batch),
        continues_(batch.continues()),
        b_(starts.select(1, 0)),
        t_(starts.select(1, 1)),
        z_(pick(batch.latents.z, b_, t_)),
        counts_(pick(batch.mask.counts, b_, t_)),
        h_(pick(teacher.h, b_, t_)),
        c_(pick(teacher.c, b_, t_)) {}

  /// Losses of step j after the start, then goes on from what was predicted.
  StepLosses step(int64_t j) {
    const auto t = (t_ + j).clamp_max(batch_.steps() - 1);
    const auto inside = (t_ + j).lt(batch_.steps());
    const LatentActions actions = {pick(batch_.actions.primary, b_, t),
                                   pick(batch_.actions.secondary, b_, t)};
    const auto embedded = network_.embed(z_, counts_, actions);
    std::tie(h_, c_) = network_.cell(network_.input_gates(embedded), h_, c_);
    const MdnOutput output = network_.heads(h_, embedded, counts_);
    const StepTargets targets = {pick(batch_.latents.z, b_, t + 1),
                                 pick(batch_.mask.counts, b_, t + 1),
                                 pick(batch_.reward, b_, t),
                                 pick(batch_.end, b_, t),
                                 pick(batch_.valid, b_, t).logical_and(inside),
                                 pick(continues_, b_, t).logical_and(inside)};
    const StepLosses losses = step_losses(network_, output, z_, counts_, targets);
    z_ = (z_ + network_.change->inverse(output.change.mean())).clamp(-1, 1);
    counts_ = CountCode::decode(counts_, output.counts.argmax(-1),
                                network_.spec.env.max_secondary);
    counts_.select(1, network_.spec.env.no_op()).fill_(1);
    return losses;
  }

 private:
  MdnRnnImpl& network_;
  const SequenceBatch& batch_;
  torch::Tensor continues_;
  torch::Tensor b_, t_;
  torch::Tensor z_, counts_, h_, c_;
};

/// Up to `count` (episode, step) pairs after which an episode goes on, [n, 2].
torch::Tensor draw_starts(const SequenceBatch& batch, int count, torch::Generator& noise) {
  const auto all = batch.continues().nonzero();
  const auto order = torch::randperm(all.size(0), noise);
  return all.index_select(0, order.narrow(0, 0, std::min<int64_t>(count, all.size(0)))
                                 .to(all.device()));
}

}  // namespace

LossTerms world_losses(MdnRnnImpl& network, const SequenceBatch& batch,
                       const WorldLossConfig& config, int unroll_steps, torch::Generator noise) {
  const int64_t steps = batch.steps();
  const Teacher teacher = run_teacher(network, batch);
  const StepTargets targets = {batch.latents.z.narrow(1, 1, steps), batch.mask.counts.narrow(1, 1, steps),
                               batch.reward,                batch.end,
                               batch.valid,                 batch.continues()};
  LossTerms terms;
  add_weighted(terms, "", step_losses(network, teacher.output, batch.latents.z.narrow(1, 0, steps),
                                      batch.mask.counts.narrow(1, 0, steps), targets),
               config, 1);
  const auto starts = draw_starts(batch, config.unroll_starts, noise);
  StepLosses sum;
  sum.fill(torch::zeros({}, batch.latents.z.options()));
  if (unroll_steps > 1 && starts.size(0) > 0) {
    Unroll unroll(network, batch, teacher, starts);
    unroll.step(0);  // equals the teacher's
    for (int64_t j = 1; j < unroll_steps; ++j) {
      const StepLosses losses = unroll.step(j);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] + losses[i] / (unroll_steps - 1);
    }
  }
  add_weighted(terms, "unroll_", sum, config, config.unroll);
  return terms;
}

}  // namespace reverie
