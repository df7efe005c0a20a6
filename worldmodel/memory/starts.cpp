#include "worldmodel/memory/starts.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"

namespace reverie {
namespace {

/// Whether to begin at step t of an episode, [episodes, T] bool.
torch::Tensor chosen_states(const EpisodeSource& data, const std::vector<int>& episodes,
                            const StartChoice& choice) {
  REVERIE_CHECK(!episodes.empty());
  std::vector<int64_t> lengths;
  for (const int episode : episodes) lengths.push_back(std::ssize(data.episodes()[episode].steps));
  const auto length = torch::tensor(lengths).unsqueeze(1);
  const auto time = torch::arange(length.max().item<int64_t>());
  const auto there = choice.first_only ? time.eq(0).logical_and(length > 0) : time < length;
  const auto all = there.nonzero();
  if (all.size(0) <= choice.most) return there;
  const auto kept = all.index_select(
      0, (torch::arange(choice.most) * all.size(0) / choice.most).to(torch::kInt64));
  auto chosen = torch::zeros_like(there);
  chosen.index_put_({kept.select(1, 0), kept.select(1, 1)}, true);
  return chosen;
}

}  // namespace

StartStates collect_starts(const LatentEpisodes& data, const std::vector<int>& episodes,
                           WorldModel& world, const StartChoice& choice) {
  torch::NoGradGuard guard;
  const auto chosen = chosen_states(data.data(), episodes, choice).to(world.device());
  std::vector<StartStates> parts;
  for (size_t first = 0; first < episodes.size(); first += kEpisodesAtOnce) {
    const size_t last = std::min(episodes.size(), first + kEpisodesAtOnce);
    const std::vector<int> some(episodes.begin() + first, episodes.begin() + last);
    const SequenceBatch batch = to_device(data.batch(some), world.device());
    const auto names = torch::tensor(some, torch::kInt64).to(world.device());
    LatentState state = world.begin(at_time(batch.latents, 0));
    for (int64_t t = 0; t < batch.steps(); ++t) {
      state.latents = at_time(batch.latents, t);
      const LatentMask mask = at_time(batch.mask, t);
      const LatentActions actions = at_time(batch.actions, t);
      StartStates all{state, mask,    torch::full_like(names, t),
                      names, actions, batch.reward.select(1, t)};
      if (!choice.to_go_on) all.state.cell = all.state.latents.neighbours = torch::Tensor();
      const auto here = chosen.select(1, t).slice(0, first, last);
      parts.push_back(select_rows(all, here.nonzero().squeeze(1)));
      world.advance(state, mask, actions);
    }
  }
  REVERIE_CHECK(!parts.empty());
  StartStates starts = concatenate(std::move(parts));
  const int64_t longest = starts.steps.max().item<int64_t>() + 1;
  const auto order = (starts.episode * longest + starts.steps).argsort();
  return select_rows(std::move(starts), order);
}

}  // namespace reverie
