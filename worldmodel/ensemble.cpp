#include "worldmodel/ensemble.h"

#include "core/base/error.h"
#include "worldmodel/fit.h"

namespace reverie {
namespace {

/// Of one step of all members, which takes their states further.
torch::Tensor step_together(const Members& members, std::vector<LatentState>& states,
                            const Latents& latents, const LatentMask& mask,
                            const LatentActions& actions, const torch::Tensor& goes_on) {
  std::vector<StepExpectation> said;
  for (size_t i = 0; i < members.size(); ++i) {
    states[i].latents = latents;
    said.push_back(members[i]->expect(states[i], mask, actions));
  }
  return disagreement(said, goes_on);
}

}  // namespace

torch::Tensor disagreement(const std::vector<StepExpectation>& said, const torch::Tensor& goes_on) {
  auto most = torch::zeros_like(said.front().reward);
  for (size_t i = 0; i < said.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const auto change = (said[i].change - said[j].change).square().mean(-1).sqrt();
      const auto reward = (said[i].reward - said[j].reward).abs();
      most = torch::maximum(most, change * goes_on + reward);
    }
  }
  return most;
}

torch::Tensor real_disagreement(const LatentEpisodes& data, const std::vector<int>& episodes,
                                const Members& members) {
  torch::NoGradGuard guard;
  std::vector<torch::Tensor> found;
  for (const auto& some : split_into(episodes, kEpisodesAtOnce)) {
    const SequenceBatch batch = to_device(data.batch(some), members.front()->device());
    const auto goes_on = batch.continues();
    std::vector<LatentState> states;
    for (const auto& member : members) states.push_back(member->begin(at_time(batch.latents, 0)));
    for (int64_t t = 0; t < batch.steps(); ++t) {
      const auto apart =
          step_together(members, states, at_time(batch.latents, t), at_time(batch.mask, t),
                        at_time(batch.actions, t), goes_on.select(1, t));
      found.push_back(apart.masked_select(batch.valid.select(1, t)));
    }
  }
  return torch::cat(found);
}

DisagreementGuard::DisagreementGuard(Members members, std::vector<LatentState> starts, double limit)
    : members_(std::move(members)), starts_(std::move(starts)), limit_(limit) {
  REVERIE_CHECK(members_.size() > 1 && members_.size() == starts_.size());
  for (LatentState& state : starts_) state.latents = {};
}

void DisagreementGuard::reset(const torch::Tensor& starts) {
  now_.clear();
  for (const LatentState& state : starts_) now_.push_back(select_rows(state, starts));
}

torch::Tensor DisagreementGuard::exceeds(const Latents& latents, const LatentMask& mask,
                                         const LatentActions& actions,
                                         const torch::Tensor& goes_on) {
  return step_together(members_, now_, latents, mask, actions, goes_on) > limit_;
}

}  // namespace reverie
