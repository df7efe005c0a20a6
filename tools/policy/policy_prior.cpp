#include "tools/policy/policy_prior.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "env/environment_problem.h"
#include "env/translated.h"
#include "worldmodel/latent/live.h"

namespace reverie {
namespace {

std::vector<Observation> observe(std::span<const Arrival> arrivals, WorkerPool* pool) {
  std::vector<Observation> observed(arrivals.size());
  const auto look = [&](size_t i, int) {
    observed[i] = environment_problem(*arrivals[i].state).observation();
  };
  if (pool != nullptr)
    pool->run(arrivals.size(), look);
  else
    for (size_t i = 0; i < arrivals.size(); ++i) look(i, 0);
  return observed;
}

LatentActions actions_that_led(std::span<const Arrival> arrivals) {
  std::vector<Action> actions;
  for (const Arrival& arrival : arrivals) actions.push_back(action_of(arrival.move));
  return latent_actions(actions);
}

/// The likeliest first, at most so many; probabilities sum to 1 before any are left out.
void rank(std::vector<AdvisedMove>& moves, int64_t most) {
  const auto likelier = [](const AdvisedMove& a, const AdvisedMove& b) {
    return a.log_prior > b.log_prior;
  };
  if (moves.empty()) return;
  std::stable_sort(moves.begin(), moves.end(), likelier);
  const double highest = moves.front().log_prior;
  double total = 0;
  for (const AdvisedMove& next : moves) total += std::exp(next.log_prior - highest);
  for (AdvisedMove& next : moves) next.log_prior -= highest + std::log(total);
  if (std::ssize(moves) > most) moves.resize(static_cast<size_t>(most));
}

const SeenState& seen_before(const Arrival& arrival) {
  return *static_cast<const SeenState*>(arrival.from.get());
}

}  // namespace

PolicyPrior::PolicyPrior(TrainedPolicy trained, const EnvSpec& environment, int64_t most_actions)
    : trained_(std::move(trained)),
      latents_(*trained_.encoder),
      spec_(environment),
      most_actions_(most_actions) {
  require_same_names(trained_.world->spec().env, spec_);
}

std::vector<Advice> PolicyPrior::look(std::span<const Arrival> arrivals, WorkerPool* pool) const {
  torch::NoGradGuard guard;
  const SeenState seen = see(arrivals, observe(arrivals, pool));
  return split(seen,
               trained_.policy->priors(observation_of(seen.latent, seen.mask, to_go(arrivals))));
}

SeenState PolicyPrior::see(std::span<const Arrival> arrivals,
                           std::span<const Observation> observed) const {
  const EncodedStates seen = latents_.see(observed);
  return {carry(arrivals, seen.latents), seen.mask};
}

/// Takes M's recurrent states over the actions.
LatentState PolicyPrior::carry(std::span<const Arrival> arrivals, const Latents& latents) const {
  if (arrivals.front().from == nullptr) return trained_.world->begin(latents);
  std::vector<LatentState> states;
  std::vector<LatentMask> masks;
  for (const Arrival& arrival : arrivals) {
    states.push_back(seen_before(arrival).latent);
    masks.push_back(seen_before(arrival).mask);
  }
  LatentState state = concatenate(states);
  trained_.world->advance(state, concatenate(masks),
                          to_device(actions_that_led(arrivals), trained_.world->device()));
  state.latents = latents;
  return state;
}

torch::Tensor PolicyPrior::to_go(std::span<const Arrival> arrivals) const {
  std::vector<float> shares;
  for (const Arrival& arrival : arrivals)
    shares.push_back(time_to_go(arrival.depth, spec_.horizon));
  return torch::tensor(shares).to(trained_.world->device());
}

std::vector<Advice> PolicyPrior::split(const SeenState& seen, const ActionPriors& priors) const {
  const auto state = priors.state.to(torch::kCPU);
  const std::vector<Action> actions = actions_of(priors.actions);
  const auto log_probability = priors.log_probability.to(torch::kCPU, torch::kFloat64);
  const auto of_state = state.accessor<int64_t, 1>();
  const auto log_prior = log_probability.accessor<double, 1>();
  std::vector<Advice> all(static_cast<size_t>(seen.mask.totals.size(0)));
  for (int64_t i = 0; i < state.size(0); ++i)
    if (actions[static_cast<size_t>(i)].primary != spec_.no_op())
      all[static_cast<size_t>(of_state[i])].moves.push_back(
          {move_of(actions[static_cast<size_t>(i)]), log_prior[i]});
  for (size_t row = 0; row < all.size(); ++row) {
    const auto index =
        torch::tensor({static_cast<int64_t>(row)}, torch::kInt64).to(seen.mask.totals.device());
    all[row].memory = std::make_shared<const SeenState>(
        SeenState{select_rows(seen.latent, index), select_rows(seen.mask, index)});
    rank(all[row].moves, most_actions_);
  }
  return all;
}

}  // namespace reverie
