#include "worldmodel/memory/world_loss.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "worldmodel/batch/batch_steps.h"
#include "worldmodel/memory/recurrence.h"

namespace reverie {
namespace {

namespace F = torch::nn::functional;

constexpr std::array<const char*, 4> kPartNames = {"latent", "reward", "end", "counts"};
using StepLosses = std::array<torch::Tensor, 4>;

/// What M said of rows, and what it had seen there.
struct Said {
  Said() = default;
  Said(const MdnOutput& output, const MdnInput& in)
      : change(output.change),
        reward(output.reward),
        end(output.end),
        counts(output.counts),
        latent_before(in.latent),
        counts_before(in.counts) {}

  torch::Tensor change, reward, end, counts, latent_before, counts_before;

  std::array<torch::Tensor*, 6> tensors() {
    return {&change, &reward, &end, &counts, &latent_before, &counts_before};
  }
};

/// Of the rows of each of several steps of `trajectories`, those of one step of all these
/// trajectories: first those acted in.
Said join_rows(const std::vector<Said>& steps, int64_t trajectories) {
  return join_tensors(steps, [&](const std::vector<torch::Tensor>& list) {
    std::vector<torch::Tensor> acted, near;
    for (const torch::Tensor& x : list) {
      acted.push_back(x.narrow(0, 0, trajectories));
      near.push_back(x.narrow(0, trajectories, x.size(0) - trajectories));
    }
    acted.insert(acted.end(), near.begin(), near.end());
    return torch::cat(acted);
  });
}

/// Mean over all primary actions; those never seen are right.
torch::Tensor count_loss(MdnRnnImpl& network, const torch::Tensor& logits,
                         const torch::Tensor& counts, const RowTargets& targets) {
  const auto seen = network.seen_actions();
  if (seen.size(0) == 0) return torch::zeros({}, logits.options());
  const auto classes = CountChange::encode(counts, targets.counts).index_select(-1, seen);
  const auto each = F::cross_entropy(logits.flatten(0, -2), classes.flatten(),
                                     F::CrossEntropyFuncOptions().reduction(torch::kNone));
  return masked_mean(each.view_as(classes), targets.weight.unsqueeze(-1)) *
         (static_cast<double>(seen.size(0)) / network.spec.env.no_op());
}

/// Of what was said of `rows` of `steps`.
StepLosses step_losses(MdnRnnImpl& network, const Said& said, const Rows& rows,
                       const BatchSteps& steps) {
  const RowTargets targets = targets_of(rows, steps);
  const auto of_acted = [&](const torch::Tensor& x) { return x.narrow(0, 0, rows.trajectories()); };
  const auto change =
      network.mixture(said.change)
          .negative_log_likelihood(network.change->forward(targets.latent - said.latent_before)) /
      network.spec.latent;
  const auto reward = (of_acted(said.reward) - steps.reward / network.reward_scale).square();
  const auto end = F::binary_cross_entropy_with_logits(
      of_acted(said.end), steps.end.to(torch::kFloat),
      F::BinaryCrossEntropyWithLogitsFuncOptions().reduction(torch::kNone));
  return {masked_mean(change, targets.weight), masked_mean(reward, steps.valid),
          masked_mean(end, steps.valid),
          count_loss(network, said.counts, said.counts_before, targets)};
}

void add_weighted(LossTerms& terms, const std::string& prefix, const StepLosses& losses,
                  const WorldLossConfig& config, double scale) {
  const std::array<double, 4> weights = {config.latent, config.reward, config.end, config.counts};
  for (size_t i = 0; i < losses.size(); ++i)
    terms.add(prefix + kPartNames[i], losses[i] * (weights[i] * scale));
}

/// M along the real states: its recurrent states before every step, [T, B * S, hidden] each, and
/// losses of what the heads say of each step.
struct Teacher {
  RecurrentStates before;
  StepLosses losses;
};

class TeacherRun {
 public:
  TeacherRun(MdnRnnImpl& network, const BatchSteps& steps, int64_t episodes)
      : network_(network), steps_(steps), episodes_(episodes), length_(steps.size() / episodes) {}

  Teacher run() {
    const Rows rows(steps_.actions.entity, steps_.before.neighbours);
    const MdnInput in = network_.look(rows, steps_.before, steps_.mask, steps_.actions);
    const auto embedded = network_.embed(in);
    const auto h = recurrent(rows, network_.input_gates(embedded));
    const Said said(network_.heads(h, embedded, in.counts, network_.head_weights()), in);
    return {before_, step_losses(network_, said, rows, steps_)};
  }

 private:
  /// h after the step of each row.
  torch::Tensor recurrent(const Rows& rows, const torch::Tensor& gates) {
    const auto time = rows.trajectory().remainder(length_);
    const auto order = torch::argsort(time, /*stable=*/true, 0);
    const auto counts = time.bincount({}, length_).cpu();
    const int64_t* of_time = counts.data_ptr<int64_t>();
    const int64_t entities = steps_.before.entities.size(1);
    const auto episode = torch::div(rows.trajectory(), length_, "floor");
    const auto place = (episode * entities + rows.entity()).index_select(0, order);
    const auto start =
        torch::zeros({episodes_ * entities, network_.config.hidden}, gates.options());
    RecurrentStates states{start, start};
    return recur(gates.index_select(0, order), network_.gates_hidden->weight,
                 {place, {of_time, of_time + length_}}, states, &before_)
        .index_select(0, order.argsort());
  }

  MdnRnnImpl& network_;
  const BatchSteps& steps_;
  int64_t episodes_, length_;
  RecurrentStates before_;
};

/// M along its own predictions from real states on, under the real actions.
class Unroll {
 public:
  /// `starts`: (episode, step) pairs [n, 2].
  Unroll(MdnRnnImpl& network, const BatchSteps& steps, int64_t episodes, const Teacher& teacher,
         const torch::Tensor& starts)
      : network_(network),
        weights_(network.head_weights()),
        steps_(steps),
        length_(steps.size() / episodes),
        b_(starts.select(1, 0)),
        t_(starts.select(1, 1)) {
    const auto first = b_ * length_ + t_;
    latents_ = select_rows(steps.before, first);
    mask_ = select_rows(steps.mask, first);
    const auto from = [&](const torch::Tensor& states) {
      return states.unflatten(1, {episodes, steps.before.entities.size(1)})
          .index({t_, b_})
          .flatten(0, 1);
    };
    states_ = {from(teacher.before.hidden), from(teacher.before.cell)};
  }

  /// Losses of `count` steps, means over all of them that episodes have; without the first, which
  /// equals the teacher's.
  StepLosses run(int64_t count) {
    step(steps_after(0));
    std::vector<Said> said;
    std::vector<BatchSteps> real;
    for (int64_t j = 1; j < count; ++j) {
      real.push_back(steps_after(j));
      said.push_back(step(real.back()));
    }
    const BatchSteps all = concatenate(real);
    const Rows rows(all.actions.entity,
                    latents_.neighbours.repeat({count - 1, 1, 1}));  // always the same
    return step_losses(network_, join_rows(said, t_.size(0)), rows, all);
  }

 private:
  /// The real steps j after the starts.
  BatchSteps steps_after(int64_t j) const {
    const auto inside = (t_ + j).lt(length_);
    BatchSteps real = select_rows(steps_, b_ * length_ + (t_ + j).clamp_max(length_ - 1));
    real.valid = real.valid.logical_and(inside);
    real.continues = real.continues.logical_and(inside);
    return real;
  }

  /// Takes the actions of these steps, and goes on from what was predicted.
  Said step(BatchSteps real) {
    const Rows rows(real.actions.entity, latents_.neighbours);
    const MdnInput in = network_.look(rows, latents_, mask_, real.actions);
    const auto embedded = network_.embed(in);
    const auto h = recur(network_.input_gates(embedded), network_.gates_hidden->weight,
                         {rows.place(), {rows.size()}}, states_);
    const MdnOutput output = network_.heads(h, embedded, in.counts, weights_);
    const auto change = network_.change->inverse(network_.mixture(output.change).mean());
    latents_ = network_.with_latents(latents_, rows, in.latent + change);
    mask_ = network_.with_counts(
        mask_, rows, in,
        CountChange::decode(in.counts.index_select(-1, weights_.actions), output.counts.argmax(-1),
                            network_.spec.env.max_choices));
    return {output, in};
  }

  MdnRnnImpl& network_;
  HeadWeights weights_;
  const BatchSteps& steps_;
  int64_t length_;
  torch::Tensor b_, t_;
  Latents latents_;
  RecurrentStates states_;
  LatentMask mask_;
};

/// Up to `count` (episode, step) pairs after which an episode goes on, [n, 2].
torch::Tensor draw_starts(const SequenceBatch& batch, int count, torch::Generator& noise) {
  const auto all = batch.continues().nonzero();
  const auto order = torch::randperm(all.size(0), noise);
  return all.index_select(
      0, order.narrow(0, 0, std::min<int64_t>(count, all.size(0))).to(all.device()));
}

}  // namespace

LossTerms world_losses(MdnRnnImpl& network, const SequenceBatch& batch,
                       const WorldLossConfig& config, int unroll_steps, torch::Generator noise) {
  const BatchSteps steps = steps_of(batch);
  const Teacher teacher = TeacherRun(network, steps, batch.episodes()).run();
  LossTerms terms;
  add_weighted(terms, "", teacher.losses, config, 1);
  const auto starts = draw_starts(batch, config.unroll_starts, noise);
  StepLosses unrolled;
  unrolled.fill(torch::zeros({}, batch.latents.z.options()));
  if (unroll_steps > 1 && starts.size(0) > 0)
    unrolled = Unroll(network, steps, batch.episodes(), teacher, starts).run(unroll_steps);
  add_weighted(terms, "unroll_", unrolled, config, config.unroll);
  return terms;
}

}  // namespace reverie
