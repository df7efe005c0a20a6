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
  torch::Tensor first;  ///< [n] int64, number of the first action
  torch::Tensor sum;    ///< [n], rewards so far

  int64_t size() const { return sum.size(0); }
  std::array<torch::Tensor*, 9> tensors() {
    return {&state.latents.z,
            &state.latents.entities,
            &state.latents.neighbours,
            &state.hidden,
            &state.cell,
            &mask.totals,
            &mask.by_entity,
            &first,
            &sum};
  }
};

/// Dreams sequences from one state.
class Planning {
 public:
  Planning(WorldModel& world, const PlanConfig& config, Rng& rng)
      : world_(world), config_(config), rng_(rng), noise_(make_generator(rng.bits())) {}

  /// The highest return after each of the state's actions, [actions]; kNever where none was dreamt.
  torch::Tensor best_returns(LatentState state, LatentMask mask, int64_t actions, int64_t steps) {
    best_ = torch::full({actions}, kNever, state.latents.z.options());
    const auto no_op = torch::full({1}, actions - 1, mask.totals.options());  // the last
    Front front{std::move(state), std::move(mask), no_op, torch::zeros_like(best_.narrow(0, 0, 1))};
    for (int64_t step = 0; step < steps && front.size() > 0; ++step) {
      stop(front);
      front = gone_on(front, step == 0, step + 1 == steps);
    }
    return best_;
  }

 private:
  void record(const torch::Tensor& first, const torch::Tensor& sum) {
    if (sum.size(0) == 0) return;
    const auto table = torch::full({sum.size(0), best_.size(0)}, kNever, best_.options());
    best_ = torch::maximum(best_, table.scatter(1, first.unsqueeze(1), sum.unsqueeze(1)).amax(0));
  }

  void stop(const Front& front) {
    LatentState state = front.state;
    const auto zero = torch::zeros({front.size()}, front.first.options());
    const LatentActions no_op{torch::full_like(zero, world_.spec().env.no_op()), zero, zero};
    const auto next = world_.step(state, front.mask, no_op, config_.temperature, noise_);
    record(front.first, front.sum + next.reward);
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

  Front gone_on(const Front& front, bool begins, bool ends) {
    ListedActions list = valid_actions(front.mask);
    const auto others = list.actions.primary.ne(world_.spec().env.no_op()).nonzero().squeeze(1);
    list = {list.state.index_select(0, others), select_rows(list.actions, others)};
    const int64_t all = list.state.size(0);
    const auto row =
        all > config_.sequences ? drawn(list, front.size()) : range_like(all, list.state);
    Front next = select_rows(front, list.state.index_select(0, row));
    if (next.size() == 0) return next;
    if (begins) next.first = row;
    const WorldPrediction said = world_.step(next.state, next.mask, select_rows(list.actions, row),
                                             config_.temperature, noise_);
    next.sum = next.sum + said.reward;
    next.state.latents = said.latents;
    next.mask = said.mask;
    const auto over = said.end | ends;
    const auto ended = over.nonzero().squeeze(1);
    record(next.first.index_select(0, ended), next.sum.index_select(0, ended));
    return select_rows(std::move(next), over.logical_not().nonzero().squeeze(1));
  }

  WorldModel& world_;
  const PlanConfig& config_;
  Rng& rng_;
  torch::Generator noise_;
  torch::Tensor best_;
};

/// Of first actions by their best returns [A], [1, A].
torch::Tensor log_probability_of(const torch::Tensor& best, double spread) {
  const auto deviation = best.masked_select(best.ne(kNever)).std(false) * spread;
  return torch::log_softmax((best - best.max()) / deviation.clamp_min(1e-8), 0).unsqueeze(0);
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
    const double left = seen.to_go[b].item<double>() * world_->spec().env.horizon;
    Rng always(0);
    const auto best = Planning(*world_, config_, greedy ? always : rng)
                          .best_returns(select_rows(states, row), mask, all.primary.size(0),
                                        std::max<int64_t>(1, std::llround(left)));
    const auto odds = log_probability_of(best, config_.spread);
    const auto chosen = pick(odds, greedy, rng);
    actions.push_back(select_rows(all, chosen));
    log_probability.push_back(odds[0].index_select(0, chosen));
    value.push_back(best.max());
  }
  return {concatenate(std::move(actions)), torch::cat(log_probability), torch::stack(value)};
}

}  // namespace reverie
