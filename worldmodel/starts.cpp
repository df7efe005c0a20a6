#include "worldmodel/starts.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "worldmodel/graph_batch.h"

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

LatentEpisodes::LatentEpisodes(const EpisodeSource& data, Latents latents)
    : data_(data), latents_(std::move(latents)) {
  std::vector<const ActionMask*> masks;
  for (int i = 0; i < data.state_count(); ++i) masks.push_back(&data.mask(i));
  mask_ = batch_masks(masks, data.spec());
}

SequenceBatch LatentEpisodes::batch(const std::vector<int>& episodes) const {
  const auto count = static_cast<int64_t>(episodes.size());
  int64_t longest = 0;
  for (const int episode : episodes)
    longest = std::max<int64_t>(longest, data_.episodes()[episode].steps.size());
  auto states = torch::empty({count, longest + 1}, torch::kInt64);
  SequenceBatch batch;
  batch.actions.primary = torch::full({count, longest}, data_.spec().no_op(), torch::kInt64);
  batch.actions.entity = torch::zeros({count, longest}, torch::kInt64);
  batch.actions.index = torch::zeros({count, longest}, torch::kInt64);
  batch.reward = torch::zeros({count, longest});
  batch.end = torch::zeros({count, longest}, torch::kBool);
  batch.valid = torch::zeros({count, longest}, torch::kBool);
  for (int64_t row = 0; row < count; ++row) {
    const Episode& episode = data_.episodes()[episodes[row]];
    const int64_t at = row * longest;
    int64_t* state = states.data_ptr<int64_t>() + row * (longest + 1);
    std::fill(state, state + longest + 1, episode.final_state);
    for (size_t t = 0; t < episode.steps.size(); ++t) {
      const Transition& step = episode.steps[t];
      state[t] = step.state;
      batch.actions.primary.data_ptr<int64_t>()[at + t] = step.action.primary;
      batch.actions.entity.data_ptr<int64_t>()[at + t] = step.action.entity;
      batch.actions.index.data_ptr<int64_t>()[at + t] = step.action.index;
      batch.reward.data_ptr<float>()[at + t] = step.reward;
      batch.end.data_ptr<bool>()[at + t] = step.terminated;
      batch.valid.data_ptr<bool>()[at + t] = true;
    }
  }
  int64_t entities = 1;
  for (int64_t i = 0; i < states.numel(); ++i)
    entities = std::max<int64_t>(entities, data_.mask(states.data_ptr<int64_t>()[i]).entities);
  const auto of_states = [&](const torch::Tensor& t, int64_t entity_dimension) {
    const auto some = entity_dimension > 0 ? t.narrow(entity_dimension, 0, entities) : t;
    return some.index_select(0, states.flatten()).unflatten(0, {count, longest + 1});
  };
  batch.latents = {of_states(latents_.z, 0), of_states(latents_.entities, 1),
                   of_states(latents_.neighbours, 1)};
  batch.mask = {of_states(mask_.totals, 0), of_states(mask_.by_entity, 2)};
  return batch;
}

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
      StartStates all{state,   mask,  torch::full_like(names, t), names,
                      actions, batch.reward.select(1, t)};
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
