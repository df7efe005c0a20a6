#include "controller/policy/plan_policy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "controller/policy/action_head.h"
#include "controller/policy/segments.h"
#include "core/base/error.h"
#include "worldmodel/batch/choice_features.h"
#include "worldmodel/network/modules.h"

namespace reverie {
namespace {

/// Sequences under way, n of them.
struct Front {
  LatentState state;
  LatentMask mask;
  torch::Tensor first;   ///< [n] int64, number of the first action
  torch::Tensor sum;     ///< [n], rewards so far
  torch::Tensor likely;  ///< [n], logarithm of the probability under the guide

  int64_t size() const { return sum.size(0); }
  std::array<torch::Tensor*, 10> tensors() {
    return {&state.latents.z,
            &state.latents.entities,
            &state.latents.neighbours,
            &state.hidden,
            &state.cell,
            &mask.totals,
            &mask.by_entity,
            &first,
            &sum,
            &likely};
  }
};

/// Ways to go on from sequences, one below the other.
struct Continuations {
  ListedActions list;    ///< `state` is the sequence
  torch::Tensor likely;  ///< [N], as in Front; undefined without a guide

  int64_t size() const { return list.state.size(0); }
};

/// Dreams sequences from one state, `left` steps before the horizon.
class Planning {
 public:
  Planning(WorldModel& world, const PlanConfig& config, Policy* guide, int64_t left, Rng& rng)
      : world_(world),
        config_(config),
        guide_(guide),
        left_(left),
        rng_(rng),
        noise_(make_generator(rng.bits())) {}

  /// Of each of the state's actions [actions].
  struct Outlook {
    torch::Tensor best;   ///< the highest return; kNever where none was dreamt
    torch::Tensor prior;  ///< the guide's logarithm of its probability; undefined without one
  };
  Outlook look(LatentState state, LatentMask mask, int64_t actions) {
    outlook_.best = torch::full({actions}, kNever, state.latents.z.options());
    const auto no_op = torch::full({1}, actions - 1, mask.totals.options());  // the last
    const auto zero = torch::zeros_like(outlook_.best.narrow(0, 0, 1));
    Front front{std::move(state), std::move(mask), no_op, zero, zero};
    const bool to_horizon = guide_ == nullptr || config_.depth == 0;
    const int64_t depth = to_horizon ? left_ : std::min(left_, config_.depth);
    for (int64_t step = 0; step < depth && front.size() > 0; ++step) {
      if (guide_ == nullptr) stop(front);
      front = gone_on(front, step);
    }
    if (front.size() > 0) record(front.first, front.sum + seen_by_guide(front, depth).value);
    return outlook_;
  }

 private:
  void record(const torch::Tensor& first, const torch::Tensor& sum) {
    if (sum.size(0) == 0) return;
    auto& best = outlook_.best;
    const auto table = torch::full({sum.size(0), best.size(0)}, kNever, best.options());
    best = torch::maximum(best, table.scatter(1, first.unsqueeze(1), sum.unsqueeze(1)).amax(0));
  }

  void stop(const Front& front) {
    LatentState state = front.state;
    const auto zero = torch::zeros({front.size()}, front.first.options());
    const LatentActions no_op{torch::full_like(zero, world_.spec().env.no_op()), zero, zero};
    const auto next = world_.step(state, front.mask, no_op, config_.temperature, noise_);
    record(front.first, front.sum + next.reward);
  }

  /// After `step` steps.
  ActionPriors seen_by_guide(const Front& front, int64_t step) {
    const auto share =
        static_cast<double>(left_ - step) / static_cast<double>(world_.spec().env.horizon);
    return guide_->priors(
        observation_of(front.state, front.mask, torch::full_like(front.sum, share)));
  }

  torch::Tensor is_no_op(const LatentActions& actions) const {
    return actions.primary.eq(world_.spec().env.no_op());
  }

  /// Without a guide NO-OP is not among them: all have been ended by it.
  Continuations continuations(const Front& front, int64_t step) {
    if (guide_ == nullptr) {
      const ListedActions list = valid_actions(front.mask);
      const auto others = is_no_op(list.actions).logical_not().nonzero().squeeze(1);
      return {{list.state.index_select(0, others), select_rows(list.actions, others)}, {}};
    }
    const ActionPriors priors = seen_by_guide(front, step);
    if (step == 0) outlook_.prior = priors.log_probability;
    return {{priors.state, priors.actions},
            front.likely.index_select(0, priors.state) + priors.log_probability};
  }

  /// Rows of the list [n]: random actions of so many sequences, spread evenly over the states.
  torch::Tensor drawn(const ListedActions& list, int64_t states) {
    const auto count = list.state.bincount({}, states);
    const auto begin = count.cumsum(0) - count;
    const auto open = count.nonzero().squeeze(1);
    const auto state =
        open.index_select(0, range_like(config_.sequences, open).remainder(open.size(0)));
    const auto u = uniform_numbers(config_.sequences, rng_).to(state.device());
    const auto number = (u * count.index_select(0, state)).floor().to(torch::kInt64);
    return begin.index_select(0, state) + number;
  }

  /// Rows of the continuations that are dreamt.
  torch::Tensor chosen(const Continuations& all, int64_t states) {
    if (all.size() <= config_.sequences) return range_like(all.size(), all.list.state);
    if (guide_ == nullptr) return drawn(all.list, states);
    return std::get<1>(all.likely.topk(config_.sequences));
  }

  Front gone_on(const Front& front, int64_t step) {
    const Continuations all = continuations(front, step);
    const auto row = chosen(all, front.size());
    Front next = select_rows(front, all.list.state.index_select(0, row));
    if (next.size() == 0) return next;
    if (step == 0) next.first = row;
    if (guide_ != nullptr) next.likely = all.likely.index_select(0, row);
    const LatentActions actions = select_rows(all.list.actions, row);
    const WorldPrediction said =
        world_.step(next.state, next.mask, actions, config_.temperature, noise_);
    next.sum = next.sum + said.reward;
    next.state.latents = said.latents;
    next.mask = said.mask;
    const auto over = said.end | is_no_op(actions) | (step + 1 == left_);
    const auto ended = over.nonzero().squeeze(1);
    record(next.first.index_select(0, ended), next.sum.index_select(0, ended));
    return select_rows(std::move(next), over.logical_not().nonzero().squeeze(1));
  }

  WorldModel& world_;
  const PlanConfig& config_;
  Policy* const guide_;
  const int64_t left_;
  Rng& rng_;
  torch::Generator noise_;
  Outlook outlook_;
};

/// Of first actions [1, A].
torch::Tensor log_probability_of(const torch::Tensor& best, const torch::Tensor& prior,
                                 double spread) {
  const auto deviation = best.masked_select(best.ne(kNever)).std(false) * spread;
  auto odds = (best - best.max()) / deviation.clamp_min(1e-8);
  if (prior.defined()) odds = odds + prior;
  return torch::log_softmax(odds, 0).unsqueeze(0);
}

}  // namespace

PolicyDecision PlanPolicy::act(const LatentObservation& observation, bool greedy, Rng& rng) {
  torch::NoGradGuard no_grad;
  REVERIE_CHECK(observation.cell.defined(), "planning needs what M remembers");
  const auto& seen = observation;
  const LatentState states{{seen.z, seen.entities, seen.neighbours}, seen.entity_h, seen.cell};
  std::vector<LatentActions> actions;
  std::vector<torch::Tensor> log_probability, value;
  for (int64_t b = 0; b < seen.z.size(0); ++b) {
    const auto row = torch::full({1}, b, seen.mask.totals.options());
    const LatentMask mask = select_rows(seen.mask, row);
    const LatentActions all = valid_actions(mask).actions;
    const double to_go = seen.to_go[b].item<double>() * world_->spec().env.horizon;
    const int64_t left = std::max<int64_t>(1, std::llround(to_go));
    Rng always(0);
    Planning planning(*world_, config_, guide_, left, greedy ? always : rng);
    const auto [best, prior] = planning.look(select_rows(states, row), mask, all.primary.size(0));
    const auto odds = log_probability_of(best, prior, config_.spread);
    const auto chosen = pick(odds, greedy, rng);
    actions.push_back(select_rows(all, chosen));
    log_probability.push_back(odds[0].index_select(0, chosen));
    value.push_back(best.max());
  }
  return {concatenate(std::move(actions)), torch::cat(log_probability), torch::stack(value)};
}

}  // namespace reverie
